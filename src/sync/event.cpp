#include <weft/event.hpp>

#include "base/exiting.hpp"
#include "base/panic.hpp"
#include "sync/waiting_room.hpp"

namespace weft {
namespace {

constexpr detail::state_lock::state_type unset = 0, set_already = 1;  // of the room's lock

struct event_state {
    detail::waiting_room room;
    event::kind kind = event::manual;

    /// Under the lock. \returns whether the event was set; the state that a wait leaves behind is `after`.
    bool pass(detail::state_lock::state_type& after) const noexcept {
        const bool was_set = room.lock.state() == set_already;
        after = was_set && kind == event::manual ? set_already : unset;
        return was_set;
    }
};

}  // namespace

event::event(kind k) noexcept { state_.emplace<event_state>().kind = k; }

event::~event() {
    auto& s = state_.as<event_state>();
    detail::require_at_end(s.room.waiters.empty(), "event: destroyed while somebody waits");
    s.~event_state();
}

void event::set() noexcept {
    auto& s = state_.as<event_state>();
    s.room.lock.lock();
    if (s.kind == manual) return s.room.wake_all_in(set_already);
    auto* const oldest = s.room.waiters.claim_front();
    s.room.lock.unlock_in(oldest ? unset : set_already);
    if (oldest) oldest->unpark();
}

void event::reset() noexcept {
    auto& s = state_.as<event_state>();
    s.room.lock.lock();
    s.room.lock.unlock_in(unset);
}

bool event::try_wait() const noexcept {
    auto& s = state_.as<event_state>();
    s.room.lock.lock();
    detail::state_lock::state_type after;
    const bool was_set = s.pass(after);
    s.room.lock.unlock_in(after);
    return was_set;
}

bool event::is_set() const noexcept {
    auto& s = state_.as<event_state>();
    s.room.lock.lock();
    const bool now = s.room.lock.state() == set_already;
    s.room.lock.unlock();
    return now;
}

bool event::wait_until_over(detail::time_point until, const std::stop_token* token) const {
    detail::check_interrupt();
    auto& s = state_.as<event_state>();
    if (s.kind == manual && s.room.lock.rests_in(set_already)) return true;
    s.room.lock.lock();
    detail::state_lock::state_type after;
    if (!s.pass(after)) return s.room.wait_locked({.reason = detail::park_reason::event, .object = this, .deadline = until}, token);
    s.room.lock.unlock_in(after);
    return true;
}

}  // namespace weft
