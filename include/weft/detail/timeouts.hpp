// timeouts.hpp - turns the durations and time points users pass into deadlines of the one clock.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <ratio>
#include <type_traits>

#include <weft/detail/clock.hpp>

namespace weft::detail {

/// How many nanoseconds a Period lasts, if that is a whole number of them which the clock can represent; else 0.
template <class Period>
constexpr std::intmax_t whole_nanoseconds() noexcept {
    if constexpr (std::nano::den % Period::den == 0) {
        constexpr auto each = std::nano::den / Period::den;
        if constexpr (Period::num <= std::chrono::nanoseconds::max().count() / each) return Period::num * each;
    }
    return 0;
}

/// The deadline `d` from now. Rounds up; what the clock cannot represent means never.
template <class Rep, class Period>
time_point deadline_in(const std::chrono::duration<Rep, Period>& d) noexcept {
    constexpr auto each = whole_nanoseconds<Period>();
    if constexpr (each != 0 && std::is_integral_v<Rep> && sizeof(Rep) <= sizeof(std::intmax_t)) {
        if (d <= d.zero()) return clock::now();
        constexpr auto most = static_cast<std::uintmax_t>(std::chrono::nanoseconds::max().count() / each);
        const auto n = static_cast<std::uintmax_t>(d.count());
        return n > most ? never : deadline_after(std::chrono::nanoseconds(static_cast<std::intmax_t>(n) * each));
    } else {
        using wide = std::chrono::duration<long double>;  // represents every duration, if not exactly
        if (wide(d) >= wide(std::chrono::nanoseconds::max())) return never;
        if (wide(d) <= wide::zero()) return clock::now();
        return deadline_after(std::chrono::ceil<std::chrono::nanoseconds>(d));
    }
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
