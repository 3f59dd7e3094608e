#include <weft/latch.hpp>

#include "base/exiting.hpp"
#include "sync/countdown.hpp"

namespace weft {

using detail::countdown;
using detail::require;

latch::latch(std::ptrdiff_t expected) noexcept {
    require(expected >= 0, "latch: negative count");
    state_.emplace<countdown>().count = expected;
}

latch::~latch() {
    auto& s = state_.as<countdown>();
    detail::require_at_end(s.room.waiters.empty(), "latch: destroyed while somebody waits");
    s.~countdown();
}

void latch::count_down(std::ptrdiff_t n) noexcept {
    require(n >= 0, "latch: counts down only");
    state_.as<countdown>().add(-n, "latch: counted down below zero");
}

bool latch::try_wait() const noexcept { return state_.as<countdown>().is_zero(); }

void latch::arrive_and_wait(std::ptrdiff_t n) {
    detail::check_interrupt();
    require(n >= 0, "latch: counts down only");
    auto& s = state_.as<countdown>();
    s.room.lock.lock();
    s.count -= n;
    require(s.count >= 0, "latch: counted down below zero");
    if (s.count == 0) return s.room.unlock_and_wake_all();
    s.room.wait_locked({.reason = detail::park_reason::latch, .object = this});
}

bool latch::wait_until_over(detail::time_point until, const std::stop_token* token) const {
    return state_.as<countdown>().wait(detail::park_reason::latch, this, until, token);
}

}  // namespace weft
