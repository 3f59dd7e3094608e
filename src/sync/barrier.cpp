#include <weft/barrier.hpp>

#include "base/exiting.hpp"
#include "base/panic.hpp"
#include "fiber/switch_point.hpp"
#include "sync/waiting_room.hpp"

namespace weft::detail {

constexpr wait_kind barrier_wait{.name = "barrier"};

void barrier_core::begins_below_zero() noexcept { panic("barrier: a negative number of parties"); }

barrier_core::~barrier_core() { require_at_end(room().waiters.empty(), "barrier: destroyed while somebody waits"); }

waiting_room& barrier_core::room() const noexcept { return room_.as<waiting_room>(); }

void barrier_core::enter() { check_interrupt(); }

barrier_core::arrival barrier_core::arrive(std::ptrdiff_t n, leaves how) noexcept {
    switch_point();
    require(n > 0, "barrier: arrives at least once");
    auto& r = room();
    r.lock.lock();
    require(n <= missing_, "barrier: more arrivals than expected");
    missing_ -= n;
    if (how == leaves::for_good) --expected_;
    const arrival a{.phase = phase_, .is_last = missing_ == 0};
    r.lock.unlock();
    return a;
}

void barrier_core::end_phase() noexcept {
    auto& r = room();
    r.lock.lock();
    missing_ = expected_;
    ++phase_;
    r.unlock_and_wake_all();
}

bool barrier_core::wait(std::uint64_t phase, time_point until, const std::stop_token* token) const {
    check_interrupt();
    auto& r = room();
    r.lock.lock();
    if (phase_ == phase) return r.wait_locked({.kind = barrier_wait, .object = this, .deadline = until}, token);
    r.lock.unlock();
    return true;
}

}  // namespace weft::detail
