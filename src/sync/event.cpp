#include <weft/event.hpp>

#include "base/exiting.hpp"
#include "base/panic.hpp"
#include "fiber/switch_point.hpp"
#include "sync/waiting_room.hpp"

namespace weft {
namespace {

constexpr detail::wait_kind event_wait{.name = "event"};

constexpr detail::state_lock::state_type unset = 0, set_already = 1;  // states of the room's lock

/// The state that a successful wait leaves behind.
constexpr detail::state_lock::state_type after_a_wait(event::kind k) noexcept { return k == event::manual ? set_already : unset; }

}  // namespace

event::~event() { detail::require_at_end(room().waiters.empty(), "event: destroyed while somebody waits"); }

detail::waiting_room& event::room() const noexcept { return room_.as<detail::waiting_room>(); }

void event::set() noexcept {
    detail::switch_point();
    auto& r = room();
    r.lock.lock();
    if (kind_ == manual) return r.wake_all_in(set_already);
    auto* const oldest = r.waiters.claim_front();
    r.lock.unlock_in(oldest ? unset : set_already);
    if (oldest) oldest->unpark();
}

void event::reset() noexcept {
    detail::switch_point();
    auto& r = room();
    r.lock.lock();
    r.lock.unlock_in(unset);
}

bool event::try_wait() const noexcept {
    detail::switch_point();
    auto& r = room();
    r.lock.lock();
    const bool was_set = r.lock.state() == set_already;
    r.lock.unlock_in(was_set ? after_a_wait(kind_) : unset);
    return was_set;
}

bool event::is_set() const noexcept {
    detail::switch_point();
    auto& r = room();
    r.lock.lock();
    const bool now = r.lock.state() == set_already;
    r.lock.unlock();
    return now;
}

bool event::wait_until_over(detail::time_point until, const std::stop_token* token) const {
    detail::check_interrupt();
    auto& r = room();
    if (kind_ == manual && r.lock.rests_in(set_already)) return true;
    r.lock.lock();
    if (r.lock.state() == unset)
        return r.wait_locked({.kind = event_wait, .object = this, .deadline = until}, token);
    r.lock.unlock_in(after_a_wait(kind_));
    return true;
}

}  // namespace weft
