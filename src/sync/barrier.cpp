#include <weft/barrier.hpp>

#include "base/exiting.hpp"
#include "base/panic.hpp"
#include "sync/waiting_room.hpp"

namespace weft::detail {
namespace {

struct barrier_state {
    waiting_room room;
    std::ptrdiff_t expected = 0;  // in the phases to come. All three under the room's lock
    std::ptrdiff_t missing = 0;   // in this one; 0 also while its completion function runs
    std::uint64_t phase = 0;
};

}  // namespace

barrier_core::barrier_core(std::ptrdiff_t expected) noexcept {
    require(expected >= 0, "barrier: a negative number of parties");
    auto& s = state_.emplace<barrier_state>();
    s.expected = s.missing = expected;
}

barrier_core::~barrier_core() {
    auto& s = state_.as<barrier_state>();
    require_at_end(s.room.waiters.empty(), "barrier: destroyed while somebody waits");
    s.~barrier_state();
}

void barrier_core::enter() { check_interrupt(); }

barrier_core::arrival barrier_core::arrive(std::ptrdiff_t n, leaves how) noexcept {
    require(n > 0, "barrier: arrives at least once");
    auto& s = state_.as<barrier_state>();
    s.room.lock.lock();
    require(n <= s.missing, "barrier: more arrivals than expected");
    s.missing -= n;
    if (how == leaves::for_good) --s.expected;
    const arrival a{.phase = s.phase, .is_last = s.missing == 0};
    s.room.lock.unlock();
    return a;
}

void barrier_core::end_phase() noexcept {
    auto& s = state_.as<barrier_state>();
    s.room.lock.lock();
    s.missing = s.expected;
    ++s.phase;
    s.room.unlock_and_wake_all();
}

bool barrier_core::wait(std::uint64_t phase, time_point until, const std::stop_token* token) const {
    check_interrupt();
    auto& s = state_.as<barrier_state>();
    s.room.lock.lock();
    if (s.phase == phase) return s.room.wait_locked({.reason = park_reason::barrier, .object = this, .deadline = until}, token);
    s.room.lock.unlock();
    return true;
}

}  // namespace weft::detail
