// channel_core.hpp - the core of every channel: a lock, a buffer, waiting senders and receivers.
//
// An operation has two parts. begin() runs under the lock and decides everything. finish() runs
// without the lock, moves the value and wakes the partner. Between a sender and a receiver that
// waits (or the other way round) a value goes in one move. Code of the element type (moves,
// destructors) runs in finish() only; a trivial element may be copied in begin().
//
// When a move throws, the operation that ran the move throws. At most this one value is lost: a
// value in the caller's hands stays as the move left it, and a stored value is dropped. The partner
// keeps waiting in its old place, reserved room is given back, the other stored values stay, and
// the channel stays usable.
//
// Invariants
//   CHANNEL_CORE-1  Both lists hold only channel_waiters, the oldest first.
//   CHANNEL_CORE-2  A receiver that can be claimed waits only while nothing is stored.
//   CHANNEL_CORE-3  A sender that can be claimed waits only while there is no room and the channel
//                   is not closed.
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
#pragma once

#include <optional>

#include <weft/detail/channel_core.hpp>

#include "base/atomic.hpp"
#include "base/hot_lock.hpp"
#include "sched/wait.hpp"
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
    channel_core(const element_operations& element, std::size_t capacity) : buffer_(element, capacity) {}

    /// \returns  done, closed or timeout.
    /// \parks    while the operation cannot be done.
    /// \throws   cancelled; what the element's move throws.
    channel_op send(void* from, time_point until);
    channel_op receive(void* place, time_point until);
    /// \returns  done, closed, or full or empty.
    channel_op try_operate(direction, void* element);

    void close() noexcept;
    bool is_closed() noexcept;
    std::size_t size() noexcept;
    std::size_t capacity() const noexcept { return buffer_.capacity(); }

    // The steps of an operation, for select, which holds the locks of several channels at once.
    hot_lock& lock() noexcept { return lock_; }
    // called under the lock; done, closed, or full or empty
    channel_op begin(direction, void* element, transfer&) noexcept;
    // called under the lock
    void link(direction d, channel_waiter& w, bool in_front) noexcept {
        in_front ? list(d).push_front(w) : list(d).push_back(w);
    }
    void unlink(direction, channel_waiter&) noexcept;
    void finish(void* element, const transfer&);
    /// Does what is left to do after `me` was notified. \returns  done, closed, or nothing if the
    /// wait must go on.
    std::optional<channel_op> settle(void* element, const channel_waiter& me);

    void add_handle() noexcept;
    void drop_handle() noexcept;
    void add_sender() noexcept;
    void drop_sender() noexcept;

    // CHANNEL_CORE-7
    void keep() noexcept { kept_ = true; }
    bool await_abandoned(time_point until);

private:
    ~channel_core() = default;  // called by end() and drop_kept_handle()

    [[gnu::noinline]] channel_op send_patiently(void* from, time_point until);
    [[gnu::noinline]] channel_op receive_patiently(void* place, time_point until);
    [[gnu::noinline]] channel_op send_locked(wait_cell& caller, void* from, time_point until);
    [[gnu::noinline]] channel_op receive_locked(wait_cell& caller, void* place, time_point until);
    channel_op operate_locked(wait_cell& caller, direction, void* element, time_point until);
    std::optional<channel_op> end_at_once(direction, void* element);
    channel_op wait_locked(wait_cell& caller, direction, void* element, time_point until);
    channel_op begin_send(void* from, transfer&) noexcept;
    channel_op begin_receive(void* place, transfer&) noexcept;

    void hand_over(channel_waiter& partner, void* place, void* from);
    void fill(void* from, channel_node*);
    void take(void* place, channel_node&, channel_waiter* next_sender);
    void vacate(channel_node&, channel_waiter* next_sender) noexcept;
    void publish(channel_node&) noexcept;
    void give_room_back(channel_node*) noexcept;

    channel_waiter* claim(direction) noexcept;
    void admit_sender(wait_list& claimed) noexcept;
    void end_receivers_if_drained(wait_list& claimed) noexcept;
    void drop_kept_handle() noexcept;
    void end() noexcept;
    wait_list& list(direction d) noexcept { return d == direction::send ? senders_ : receivers_; }

    hot_lock lock_;
    bool closed_ = false;
    channel_buffer buffer_;
    wait_list senders_;
    wait_list receivers_;
    wait_list keeper_;
    bool kept_ = false;  // set before there is a second handle
    atomic<std::size_t> handles_{1};
    atomic<std::size_t> sender_handles_{0};
};

}  // namespace weft::detail
