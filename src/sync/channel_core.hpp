// channel_core.hpp - the core of every channel: a lock, a buffer, waiting senders and receivers.
//
// An operation has two parts. begin() runs under the lock and decides everything. finish() runs
// without the lock, moves the value and wakes the partner. Between a sender and a receiver that
// waits (or the other way round) a value goes in one move. Code of the element type (moves,
// destructors) runs in finish() only; a trivial element may be copied in begin(). The common send
// and receive are begin() and finish() in one function: send_locked(), receive_locked(), hand_over().
//
// When a move throws, the operation that ran the move throws. At most this one value is lost: a
// value in the caller's hands stays as the move left it, and a stored value is dropped. The partner
// keeps waiting in its old place, reserved room is given back, the other stored values stay, and
// the channel stays usable.
//
// A send that finds no room asks when_full_, and no other operation does. With drop_oldest it
// reserves room beyond the capacity. Each send drops the oldest value if there is one too many when
// its own is stored; so a value is dropped only for a newer one that has arrived.
//
// Invariants
//   CHANNEL_CORE-1  Both lists hold only channel_waiters, the oldest first.
//   CHANNEL_CORE-2  While a receiver that can be claimed is in the list, no value is stored.
//   CHANNEL_CORE-3  While a sender that can be claimed is in the list, there is no room and the
//                   channel is not closed.
//   CHANNEL_CORE-4  A claimer sets `how`, and `node` where `how` asks for one, before unpark().
//   CHANNEL_CORE-5  Receivers learn that a channel is closed only when it is drained: no value is
//                   stored and none is on its way. So a send that began before close() either
//                   arrives or throws.
//   CHANNEL_CORE-6  A wait that was stopped or timed out has neither taken nor given a value: no
//                   partner has claimed it (WAIT_WORD-2).
//   CHANNEL_CORE-7  A channel that is kept (that of a ticker or subscriber) loses its handles under
//                   the lock. When only the keeper's handle is left, the channel is closed and the
//                   keeper woken. The keeper passes the lock once more before it drops its handle.
//   CHANNEL_CORE-8  A channel is destroyed only when no operation waits in it. There are two
//                   exceptions: exit() then leaves it undestroyed, and abandoned fibers may wait in
//                   it.
//   CHANNEL_CORE-9  A sender waits only in a channel with park or back_off.
//   CHANNEL_CORE-10  A trivial value is moved to its receiver under the lock, or by its sender while no
//                   value is stored. So if one caller sends at a time and never waits, values are
//                   delivered one after another, in the order of the sends.
#pragma once

#include <optional>

#include <weft/detail/channel_core.hpp>

#include "base/atomic.hpp"
#include "base/hot_lock.hpp"
#include "sched/wait/wait.hpp"
#include "sync/channel_buffer.hpp"

namespace weft::detail {

enum class direction : std::uint8_t { send, receive };

/// The registration of one side. `slot` is the sender's value or the receiver's place.
struct channel_waiter : waiter {
    enum class ending : std::uint8_t {
        closed,  // no value was moved
        moved,  // the partner has moved the value
        again,  // the partner's move threw: keep waiting
        take,  // for a receiver: take the value out of `node`
        fill,  // for a sender: room is reserved; fill `node`, or a new node if it is null
    };

    channel_waiter(wait& w, wait_outcome index, void* element) noexcept : waiter(w.cell(), w.ticket(), index, element) {}

    ending how = ending::closed;  // CHANNEL_CORE-4; closing leaves it as it is
    channel_node* node = nullptr;
};

/// What begin() has decided, and finish() has to do.
struct transfer {
    enum class step : std::uint8_t { nothing, give, fetch, wake, fill, take, discard };
    step what = step::nothing;
    channel_waiter* partner = nullptr;
    channel_node* node = nullptr;
};

class channel_core {
public:
    channel_core(const element_operations& element, std::size_t capacity, overflow when_full)
        : when_full_(when_full), buffer_(element, capacity) {}

    /// \returns  done, closed or timeout; a send also full, if when_full_ does not let it wait.
    /// \parks    while the operation cannot be done.
    /// \throws   cancelled; what the element's move throws.
    channel_op send(void* from, time_point until);
    channel_op receive(void* place, time_point until);
    /// \returns  done, closed, or full or empty.
    channel_op try_operate(direction, void* element);
    channel_op try_send_many(void* from, std::size_t& count);

    void close() noexcept;
    bool is_closed() noexcept;
    /// Whether it is closed; not a switch point, for a caller that holds a lock.
    bool was_closed() noexcept;
    std::size_t size() noexcept;
    std::size_t capacity() const noexcept { return buffer_.capacity(); }
    const element_operations& element() const noexcept { return buffer_.element(); }
    /// Whether an operation that has that result need not wait.
    bool is_over(channel_op result) const noexcept {
        if (result == channel_op::full) return when_full_ == overflow::drop_newest || when_full_ == overflow::fail;
        return result != channel_op::empty;
    }
    bool drops_newest() const noexcept { return when_full_ == overflow::drop_newest; }

    // The steps of an operation, for select, which holds the locks of several channels at once.
    hot_lock& lock() noexcept WEFT_RETURN_CAPABILITY(lock_) { return lock_; }
    /// \returns  done, closed, or full or empty.
    channel_op begin(direction, void* element, transfer&) noexcept WEFT_REQUIRES(lock_);
    void link(direction d, channel_waiter& w, bool in_front) noexcept WEFT_REQUIRES(lock_) {
        in_front ? list(d).push_front(w) : list(d).push_back(w);
    }
    void unlink(direction, channel_waiter&) noexcept WEFT_EXCLUDES(lock_);
    void finish(void* element, const transfer&) WEFT_EXCLUDES(lock_);
    /// Does what is left to do after `me` was notified. \returns  done, closed, or nothing if the
    /// wait must go on.
    std::optional<channel_op> settle(void* element, const channel_waiter& me) WEFT_EXCLUDES(lock_);

    void add_handle() noexcept;
    void drop_handle() noexcept;
    void add_sender() noexcept;
    void drop_sender() noexcept;

    // CHANNEL_CORE-7
    void keep() noexcept { kept_ = true; }
    bool await_abandoned(time_point until);

private:
    ~channel_core() = default;  // called by end() and drop_kept_handle()

    // For a plain thread, for a fiber with a stop or a deadline, and for a lock that is not free.
    [[gnu::noinline]] channel_op send_otherwise(void* from, time_point until);
    [[gnu::noinline]] channel_op receive_otherwise(void* place, time_point until);
    [[gnu::noinline]] channel_op send_locked(wait_cell& caller, void* from, time_point until) WEFT_RELEASE(lock_);
    [[gnu::noinline]] channel_op receive_locked(wait_cell& caller, void* place, time_point until) WEFT_RELEASE(lock_);
    channel_op operate_locked(wait_cell& caller, direction, void* element, time_point until) WEFT_RELEASE(lock_);
    channel_op end_begun(channel_op result, void* element, const transfer&) WEFT_RELEASE(lock_);
    channel_op wait_locked(wait_cell& caller, direction, void* element, time_point until) WEFT_RELEASE(lock_);
    [[gnu::noinline]] channel_op send_into_full(wait_cell& caller, void* from, time_point until) WEFT_RELEASE(lock_);
    channel_op begin_send(void* from, transfer&) noexcept WEFT_REQUIRES(lock_);
    [[gnu::noinline]] channel_op begin_displacing(void* from, transfer&) noexcept WEFT_REQUIRES(lock_);
    channel_op begin_receive(void* place, transfer&) noexcept WEFT_REQUIRES(lock_);

    void hand_over(channel_waiter& partner, void* place, void* from);
    channel_node& filled(void* from, channel_node*) WEFT_EXCLUDES(lock_);
    void fill(void* from, channel_node* node) WEFT_EXCLUDES(lock_) { publish(filled(from, node)); }
    void take(void* place, channel_node&, channel_waiter* next_sender) WEFT_EXCLUDES(lock_);
    void vacate(channel_node&, channel_waiter* next_sender) noexcept WEFT_EXCLUDES(lock_);
    void publish(channel_node&) noexcept WEFT_EXCLUDES(lock_);
    void give_room_back(channel_node*) noexcept WEFT_EXCLUDES(lock_);

    channel_waiter* claim(direction) noexcept WEFT_REQUIRES(lock_);
    void admit_sender(wait_list& claimed) noexcept WEFT_REQUIRES(lock_);
    void end_receivers_if_drained(wait_list& claimed) noexcept WEFT_REQUIRES(lock_);
    void drop_kept_handle() noexcept WEFT_EXCLUDES(lock_);
    void end() noexcept;
    wait_list& list(direction d) noexcept WEFT_REQUIRES(lock_) { return d == direction::send ? senders_ : receivers_; }

    hot_lock lock_;
    bool closed_ WEFT_GUARDED_BY(lock_) = false;
    const overflow when_full_;
    channel_buffer buffer_;  // guarded as its header says
    wait_list senders_ WEFT_GUARDED_BY(lock_);
    wait_list receivers_ WEFT_GUARDED_BY(lock_);
    wait_list keeper_ WEFT_GUARDED_BY(lock_);
    bool kept_ = false;  // set before there is a second handle
    atomic<std::size_t> handles_{1};
    atomic<std::size_t> sender_handles_{0};
};

/// Sends a trivial value `count` times, most of them under one lock; `count` becomes what is left to
/// send. \returns  as channel_try_send().
WEFT_EXPORT channel_op channel_try_send_many(channel_core&, void* from, std::size_t& count);

}  // namespace weft::detail
