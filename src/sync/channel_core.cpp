#include "sync/channel_core.hpp"

#include <weft/stop.hpp>

#include <algorithm>

#include "fiber/switch_point.hpp"
#include "fiber/wake_all.hpp"
#include "sched/wait/park_listed.hpp"

namespace weft::detail {

constexpr wait_kind channel_send_wait{.name = "channel send"};
constexpr wait_kind channel_receive_wait{.name = "channel receive"};

using ending = channel_waiter::ending;

inline channel_waiter* channel_core::claim(direction d) noexcept {
    return static_cast<channel_waiter*>(list(d).claim_front());  // CHANNEL_CORE-1
}

/// The cell of the calling fiber, if the fiber has neither a stop nor a deadline. Null otherwise,
/// and for a plain thread.
inline wait_cell* undisturbed_caller() noexcept {
    auto* const f = this_fiber_block();
    // if there is a stop or a deadline, check_interrupt() decides
    return f && f->cold().stops.load(relaxed) == 0 && !f->cold().slot.deadlines ? &f->cold() : nullptr;
}

inline void channel_core::hand_over(channel_waiter& partner, void* place, void* from) {
    partner.how = ending::again;  // remains so if the move throws
    struct wake_at_end {
        channel_waiter& partner;
        ~wake_at_end() { unpark_inline(partner.cell()); }
    } const wakes{partner};
    buffer_.deliver(place, from);
    partner.how = ending::moved;
}

// An operation from start to end. The common path of a ring saves no register and calls only
// `deliver`, and a hand-over is inlined completely, because calls and saved registers took most of
// the time of a short operation (docs/design/channels.md).

channel_op channel_core::send(void* from, time_point until) {
    auto* const caller = undisturbed_caller();
    if (!caller || !lock_.try_lock()) [[unlikely]]
        return send_otherwise(from, until);
    if (receivers_.empty() && !closed_ && buffer_.ring_has_room()) {
        buffer_.copy_in(from);
        lock_.unlock();
        return channel_op::done;
    }
    return send_locked(*caller, from, until);
}

channel_op channel_core::receive(void* place, time_point until) {
    auto* const caller = undisturbed_caller();
    if (!caller || !lock_.try_lock()) [[unlikely]]
        return receive_otherwise(place, until);
    if (senders_.empty() && buffer_.ring_has_value()) {
        buffer_.copy_out(place);
        lock_.unlock();
        return channel_op::done;
    }
    return receive_locked(*caller, place, until);
}

channel_op channel_core::send_otherwise(void* from, time_point until) {
    auto& caller = caller_cell();
    check_interrupt(caller);
    lock_.lock();
    // As in send(): a deadline that is far off costs only the check.
    if (receivers_.empty() && !closed_ && buffer_.ring_has_room()) {
        buffer_.copy_in(from);
        lock_.unlock();
        return channel_op::done;
    }
    return send_locked(caller, from, until);
}

channel_op channel_core::receive_otherwise(void* place, time_point until) {
    auto& caller = caller_cell();
    check_interrupt(caller);
    lock_.lock();
    if (senders_.empty() && buffer_.ring_has_value()) {  // as in receive()
        buffer_.copy_out(place);
        lock_.unlock();
        return channel_op::done;
    }
    return receive_locked(caller, place, until);
}

channel_op channel_core::send_locked(wait_cell& caller, void* from, time_point until) {
    if (!closed_) [[likely]]
        if (auto* const receiver = claim(direction::receive)) {
            lock_.unlock();
            hand_over(*receiver, receiver->slot, from);
            return channel_op::done;
        }
    return operate_locked(caller, direction::send, from, until);
}

channel_op channel_core::receive_locked(wait_cell& caller, void* place, time_point until) {
    if (buffer_.size() == 0 && senders_.empty() && !closed_) return wait_locked(caller, direction::receive, place, until);
    return operate_locked(caller, direction::receive, place, until);
}

channel_op channel_core::operate_locked(wait_cell& caller, direction d, void* element, time_point until) {
    transfer t;
    const auto result = begin(d, element, t);
    if (result == channel_op::done || result == channel_op::closed) return end_begun(result, element, t);
    if (d == direction::send && when_full_ != overflow::park) [[unlikely]]
        return send_into_full(caller, element, until);
    return wait_locked(caller, d, element, until);
}

// CHANNEL_CORE-9
channel_op channel_core::send_into_full(wait_cell& caller, void* from, time_point until) {
    if (when_full_ != overflow::back_off) {
        lock_.unlock();
        return channel_op::full;
    }
    const auto patience = deadline_after(back_off_time);
    const auto result = wait_locked(caller, direction::send, from, std::min(until, patience));
    return result == channel_op::timeout && patience < until ? channel_op::full : result;
}

// Ends an operation that need not wait.
inline channel_op channel_core::end_begun(channel_op result, void* element, const transfer& t) {
    lock_.unlock();
    finish(element, t);
    return result;
}

// The operation cannot be done now.
channel_op channel_core::wait_locked(wait_cell& caller, direction d, void* element, time_point until) {
    const auto& kind = d == direction::send ? channel_send_wait : channel_receive_wait;
    for (bool was_first = false;; was_first = true) {
        wait w(caller, {.kind = kind, .object = this, .deadline = until});
        channel_waiter me(w, 0, element);
        link(d, me, was_first);
        const auto why = park_listed(w, me, lock_, list(d));
        if (why != wait_end::notified) [[unlikely]] {
            if (why == wait_end::stopped) throw cancelled{};
            return channel_op::timeout;
        }
        if (me.how == ending::moved) [[likely]]
            return channel_op::done;
        if (const auto ended = settle(element, me)) return *ended;
        // The partner's move has thrown: wait in the old place again, unless it can be done now.
        lock_.lock();
        transfer t;
        if (const auto result = begin(d, element, t); is_over(result)) return end_begun(result, element, t);
    }
}

channel_op channel_core::try_operate(direction d, void* element) {
    switch_point();
    lock_.lock();
    transfer t;
    const auto result = begin(d, element, t);
    lock_.unlock();
    finish(element, t);
    return result;
}

channel_op channel_core::try_send_many(void* from, std::size_t& count) {
    while (count != 0) {
        // perhaps to a receiver that waits
        if (const auto result = try_operate(direction::send, from); result != channel_op::done) return result;
        if (--count == 0) break;
        lock_.lock();
        if (receivers_.empty() && !closed_)
            for (; count != 0 && buffer_.ring_has_room(); --count) buffer_.copy_in(from);
        lock_.unlock();
    }
    return channel_op::done;
}

channel_op channel_core::begin(direction d, void* element, transfer& t) noexcept {
    return d == direction::send ? begin_send(element, t) : begin_receive(element, t);
}

inline channel_op channel_core::begin_send(void* from, transfer& t) noexcept {
    if (closed_) return channel_op::closed;
    if (auto* const receiver = claim(direction::receive)) {
        t = {transfer::step::give, receiver, nullptr};
        return channel_op::done;
    }
    if (!buffer_.has_room()) return when_full_ == overflow::drop_oldest ? begin_displacing(from, t) : channel_op::full;
    if (buffer_.is_ring()) {
        buffer_.copy_in(from);
        return channel_op::done;
    }
    channel_node* const node = buffer_.take_spare();
    if (node && buffer_.element().trivial) {
        buffer_.move_in(*node, from);
        buffer_.link(*node);
    } else {
        buffer_.reserve();
        t = {transfer::step::fill, nullptr, node};
    }
    return channel_op::done;
}

channel_op channel_core::begin_displacing(void* from, transfer& t) noexcept {
    if (buffer_.is_ring()) {
        buffer_.drop_front();
        buffer_.copy_in(from);
    } else {
        buffer_.reserve();  // CHANNEL_BUFFER-1: beyond the capacity
        t = {transfer::step::fill, nullptr, buffer_.take_spare()};
    }
    return channel_op::done;
}

inline channel_op channel_core::begin_receive(void* place, transfer& t) noexcept {
    if (buffer_.size() == 0) {
        // With a capacity, a sender that waits here waits behind reservations of other senders
        // (CHANNEL_CORE-3), so its value is not fetched.
        auto* const sender = buffer_.capacity() == 0 ? claim(direction::send) : nullptr;
        if (!sender) return closed_ && buffer_.is_drained() ? channel_op::closed : channel_op::empty;
        t = {transfer::step::fetch, sender, nullptr};
        return channel_op::done;
    }
    auto* const next_sender = claim(direction::send);
    if (buffer_.is_ring()) {
        buffer_.copy_out(place);
        if (next_sender) {
            buffer_.copy_in(next_sender->slot);
            next_sender->how = ending::moved;
            t = {transfer::step::wake, next_sender, nullptr};
        }
        return channel_op::done;
    }
    t = {transfer::step::take, next_sender, buffer_.pop()};
    if (next_sender) {
        buffer_.reserve();
    } else if (buffer_.element().trivial) {
        buffer_.deliver(place, buffer_.value(*t.node));
        t = {transfer::step::discard, nullptr, buffer_.keep_spare(t.node)};
    }
    return channel_op::done;
}

/// CHANNEL_CORE-3: called after room was made.
void channel_core::admit_sender(wait_list& claimed) noexcept {
    if (!buffer_.has_room()) return;
    auto* const sender = claim(direction::send);
    if (!sender) return;
    buffer_.reserve();
    sender->how = ending::fill;
    sender->node = buffer_.take_spare();
    claimed.push_back(*sender);
}

/// CHANNEL_CORE-5: called after the last reservation of a closed channel has gone.
void channel_core::end_receivers_if_drained(wait_list& claimed) noexcept {
    if (closed_ && buffer_.is_drained()) claim_all(receivers_, claimed);
}

void channel_core::unlink(direction d, channel_waiter& me) noexcept {
    lock_.lock();
    list(d).remove(me);
    lock_.unlock();
}

void channel_core::finish(void* element, const transfer& t) {
    switch (t.what) {
        case transfer::step::nothing: return;
        case transfer::step::give: return hand_over(*t.partner, t.partner->slot, element);
        case transfer::step::fetch: return hand_over(*t.partner, element, t.partner->slot);
        case transfer::step::wake: return t.partner->unpark();
        case transfer::step::fill: return fill(element, t.node);
        case transfer::step::take: return take(element, *t.node, t.partner);
        case transfer::step::discard: return buffer_.free(t.node);
    }
}

std::optional<channel_op> channel_core::settle(void* element, const channel_waiter& me) {
    switch (me.how) {
        case ending::closed: return channel_op::closed;
        case ending::moved: break;
        case ending::again: return std::nullopt;
        case ending::take: take(element, *me.node, nullptr); break;
        case ending::fill: fill(element, me.node); break;
    }
    return channel_op::done;
}

/// Puts the value into the node, or into a new one if that is null. If that throws, the room is
/// given back.
channel_node& channel_core::filled(void* from, channel_node* node) {
    try {
        if (!node) node = buffer_.allocate();
        buffer_.move_in(*node, from);
    } catch (...) {
        give_room_back(node);
        throw;
    }
    return *node;
}

/// Stores a value whose room is reserved, or gives it to a receiver that waits.
void channel_core::publish(channel_node& node) noexcept {
    wait_list claimed;
    channel_node* surplus = nullptr;
    lock_.lock();
    buffer_.unreserve();
    if (auto* const receiver = claim(direction::receive)) {
        if (buffer_.element().trivial) {  // CHANNEL_CORE-10
            buffer_.deliver(receiver->slot, buffer_.value(node));
            receiver->how = ending::moved;
            surplus = buffer_.keep_spare(&node);
        } else {
            receiver->how = ending::take;
            receiver->node = &node;
        }
        claimed.push_back(*receiver);
        admit_sender(claimed);
    } else {
        buffer_.link(node);
    }
    channel_node* const oldest = buffer_.is_overfull() ? buffer_.pop() : nullptr;  // CHANNEL_BUFFER-1
    end_receivers_if_drained(claimed);
    lock_.unlock();
    unpark_all(claimed);
    buffer_.free(surplus);
    if (oldest) vacate(*oldest, nullptr);
}

void channel_core::give_room_back(channel_node* node) noexcept {
    wait_list claimed;
    lock_.lock();
    buffer_.unreserve();
    channel_node* const surplus = buffer_.keep_spare(node);
    admit_sender(claimed);
    end_receivers_if_drained(claimed);
    lock_.unlock();
    unpark_all(claimed);
    buffer_.free(surplus);
}

void channel_core::take(void* place, channel_node& node, channel_waiter* next_sender) {
    struct vacate_at_end {
        channel_core& core;
        channel_node& node;
        channel_waiter* next_sender;
        ~vacate_at_end() { core.vacate(node, next_sender); }
    } const vacates{*this, node, next_sender};
    buffer_.deliver(place, buffer_.value(node));
}

/// The value of `node` has been taken. The value of the next sender, for which room is reserved,
/// takes its place.
void channel_core::vacate(channel_node& node, channel_waiter* next_sender) noexcept {
    buffer_.element().destroy(buffer_.value(node));
    if (!next_sender) {
        lock_.lock();
        channel_node* const surplus = buffer_.keep_spare(&node);
        lock_.unlock();
        buffer_.free(surplus);
        return;
    }
    try {
        buffer_.move_in(node, next_sender->slot);
        next_sender->how = ending::moved;
        publish(node);
    // the sender tries again itself, with its reservation
    } catch (...) {
        next_sender->how = ending::fill;
        next_sender->node = &node;
    }
    next_sender->unpark();
}

}  // namespace weft::detail
