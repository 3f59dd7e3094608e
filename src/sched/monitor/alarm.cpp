#include "sched/monitor/alarm.hpp"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <system_error>

#include "base/direct.hpp"

namespace weft::detail {
namespace {

// At least 1 ns, since zero would mean never.
timespec to_timespec(time_point t) noexcept {
    const auto ns = std::max<std::int64_t>(t.time_since_epoch().count(), 1);
    return {.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
}

}  // namespace

alarm::alarm() : timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)) {
    if (timer_.get() < 0) throw std::system_error(errno, std::generic_category(), "weft: no timer for the monitor");
    if (!set_timer(never))
        throw std::system_error(errno, std::generic_category(), "weft: no timer for the monitor (timerfd_settime)");
}

void alarm::set(time_point when) noexcept {
    if (rung_.load(relaxed)) return;
    static_cast<void>(set_timer(when));
    // Pairs with the exchange in ring(): if its setting has come before this one, it is repeated.
    if (rung_.load(seq_cst)) [[unlikely]] static_cast<void>(set_timer(time_point()));
}

void alarm::ring() noexcept {
    // pairs with the fence and the exchange in wait()
    if (!rung_.exchange(true, seq_cst)) static_cast<void>(set_timer(time_point()));
}

// The kernel locks the timer. So either the setting of ring() comes after the sleeper's own last
// one, and ends the read, or rung_ was set before it.
void alarm::wait() noexcept {
    // pairs with the exchange in ring()
    fence(seq_cst);
    std::uint64_t times;
    if (!rung_.load(relaxed))
        while (direct::read(timer_.get(), &times, sizeof times) == -EINTR) {}
    // pairs with ring()
    rung_.exchange(false, acquire);
}

bool alarm::set_timer(time_point when) noexcept {
    itimerspec at{};
    if (when != never) at.it_value = to_timespec(when);
    return ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &at, nullptr) == 0;
}

}  // namespace weft::detail
