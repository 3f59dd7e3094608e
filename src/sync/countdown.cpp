#include <weft/detail/countdown.hpp>

#include "base/exiting.hpp"
#include "base/panic.hpp"
#include "fiber/switch_point.hpp"
#include "sync/waiting_room.hpp"

namespace weft::detail {

constexpr wait_kind latch_wait{.name = "latch"};
constexpr wait_kind wait_group_wait{.name = "wait group"};

void countdown::begins_below_zero(what w) noexcept {
    panic(w == what::latch ? "latch: negative count" : "wait_group: negative count (COUNTDOWN-1)");
}

void countdown::goes_below_zero() const noexcept {
    panic(what_ == what::latch ? "latch: counted down below zero" : "wait_group: more done() than add() (COUNTDOWN-1)");
}

countdown::~countdown() {
    require_at_end(room().waiters.empty(),
                   what_ == what::latch ? "latch: destroyed while somebody waits" : "wait_group: destroyed while somebody waits");
}

waiting_room& countdown::room() const noexcept { return room_.as<waiting_room>(); }

void countdown::add(std::ptrdiff_t n) noexcept {
    switch_point();
    auto& r = room();
    r.lock.lock();
    require(!__builtin_add_overflow(count_, n, &count_), "wait_group: counts up to the largest std::ptrdiff_t");
    if (count_ < 0) [[unlikely]]
        goes_below_zero();  // COUNTDOWN-1
    if (count_ == 0) return r.unlock_and_wake_all();  // COUNTDOWN-2, COUNTDOWN-3
    r.lock.unlock();
}

void countdown::take(std::ptrdiff_t n) noexcept {
    require(n >= 0, "latch: counts down only");
    add(-n);
}

bool countdown::take_and_wait(std::ptrdiff_t n, time_point until, const std::stop_token* token) {
    check_interrupt();
    require(n >= 0, "latch: counts down only");
    auto& r = room();
    r.lock.lock();
    count_ -= n;
    if (count_ < 0) [[unlikely]]
        goes_below_zero();
    if (count_ != 0) return r.wait_locked({.kind = latch_wait, .object = this, .deadline = until}, token);
    r.unlock_and_wake_all();
    return true;
}

bool countdown::is_zero() const noexcept {
    switch_point();
    auto& r = room();
    r.lock.lock();
    const bool zero = count_ == 0;
    r.lock.unlock();
    return zero;
}

bool countdown::wait(time_point until, const std::stop_token* token) const {
    check_interrupt();
    auto& r = room();
    r.lock.lock();
    const auto& kind = what_ == what::latch ? latch_wait : wait_group_wait;
    if (count_ != 0) return r.wait_locked({.kind = kind, .object = this, .deadline = until}, token);
    r.lock.unlock();
    return true;
}

}  // namespace weft::detail
