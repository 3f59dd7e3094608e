// channel_core.hpp - what all channels are: a lock, a buffer, the senders and the receivers that wait.
//
// An operation has a part under the lock, begin(), which decides everything, and a part without, finish(), which moves the
// value and wakes the partner. A value goes from a sender's hand to a waiting receiver's place, or back, in one move.
// The element type's code (moves, destructors) runs in finish() only; a trivial element's copy may run in begin().
//
// When a move throws, the operation that ran it throws. Lost is at most the one value: it is what the move left of it, and
// a stored one is dropped. The partner goes on waiting in its old place, reserved room is given back, the other stored
// values stay, the channel stays usable.
//
// Invariants
//   H1  Both lists hold channel_waiters only. Each is the oldest first.
//   H2  A receiver that can be claimed waits only while nothing is stored.
//   H3  A sender that can be claimed waits only while there is no room and the channel is not closed.
//   H4  Who claims a waiter sets `how`, and node where `how` asks for one, before unpark().
//   H5  Receivers learn that a channel is closed when it is drained: no value is stored and none is on its way. A send
//       that began before close() thus arrives or throws.
//   H6  Of a wait that was stopped or timed out no value was taken and none was given: it was not claimed by a partner (W2).
//   H7  A channel that is kept (a ticker's, a subscriber's) loses its handles under the lock: when its keeper has the last one
//       it is closed and the keeper woken, who leaves the lock behind before it drops that.
//   H8  Nobody waits in a channel that ends, but where exit() destroys it (it stays then, for who waits) or fibers were abandoned.
#pragma once

#include <optional>

#include <weft/detail/channel_core.hpp>

#include "base/atomic.hpp"
#include "base/hot_lock.hpp"
#include "sched/wait.hpp"
#include "sync/channel_buffer.hpp"

namespace weft::detail {

enum class direction : std::uint8_t { send, receive };

/// One side's registration. `slot` is the sender's value or the receiver's place.
struct channel_waiter : waiter {
    enum class ending : std::uint8_t {
        closed,  // nothing was moved
        moved,   // the partner has moved the value
        again,   // the partner's move threw: wait on
        take,    // receiver: take the value out of `node`
        fill,    // sender: room is reserved; fill `node`, or a new one if it is null
    };

    channel_waiter(wait& w, wait_outcome index, void* element) noexcept : waiter(w.cell(), w.ticket(), index, element) {}

    ending how = ending::closed;  // H4; the closer need not set it
    channel_node* node = nullptr;
};

/// What begin() has decided and finish() must do.
struct transfer {
    enum class step : std::uint8_t { nothing, give, fetch, wake, fill, take, discard };
    step what = step::nothing;
    channel_waiter* partner = nullptr;
    channel_node* node = nullptr;
};

class channel_core {
public:
    channel_core(const element_operations& element, std::size_t capacity) : buffer_(element, capacity) {}

    /// done, closed or timeout.
    /// \parks   while it cannot be done.
    /// \throws  cancelled; what the element's move throws.
    channel_op send(void* from, time_point until);
    channel_op receive(void* place, time_point until);
    /// done, closed, or full or empty.
    channel_op try_operate(direction, void* element);

    void close() noexcept;
    bool is_closed() noexcept;
    std::size_t size() noexcept;
    std::size_t capacity() const noexcept { return buffer_.capacity(); }

    // The steps of an operation, for select, which has several channels locked at once.
    hot_lock& lock() noexcept { return lock_; }
    channel_op begin(direction, void* element, transfer&) noexcept;  // locked; done, closed, or full or empty
    void link(direction d, channel_waiter& w, bool in_front) noexcept {  // locked
        in_front ? list(d).push_front(w) : list(d).push_back(w);
    }
    void unlink(direction, channel_waiter&) noexcept;
    void finish(void* element, const transfer&);
    /// What remains to be done after `me` was notified. \returns  done, closed, or nothing: the wait must go on.
    std::optional<channel_op> settle(void* element, const channel_waiter& me);

    void add_handle() noexcept;
    void drop_handle() noexcept;
    void add_sender() noexcept;
    void drop_sender() noexcept;

    // H7
    void keep() noexcept { kept_ = true; }
    bool await_abandoned(time_point until);

private:
    ~channel_core() = default;  // by end()

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
