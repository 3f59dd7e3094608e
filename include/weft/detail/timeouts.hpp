// timeouts.hpp - turns the durations and time points users pass into deadlines of the one clock.
#pragma once

#include <chrono>
#include <concepts>

#include <weft/detail/clock.hpp>

namespace weft::detail {

/// The deadline `d` from now. Rounds up; what the clock cannot represent means never.
template <class Rep, class Period>
time_point deadline_in(const std::chrono::duration<Rep, Period>& d) noexcept {
    using wide = std::chrono::duration<long double>;  // represents every duration, if not exactly
    if (wide(d) >= wide(std::chrono::nanoseconds::max())) return never;
    if (wide(d) <= wide::zero()) return clock::now();
    return deadline_after(std::chrono::ceil<std::chrono::nanoseconds>(d));
}

/// The deadline `t`. A time point of another clock is read off now: later jumps of that clock do not count.
template <class Clock, class Duration>
time_point deadline_at(const std::chrono::time_point<Clock, Duration>& t) noexcept {
    if constexpr (std::same_as<std::chrono::time_point<Clock, Duration>, time_point>)
        return t;
    else
        return deadline_in(t - Clock::now());
}

}  // namespace weft::detail
