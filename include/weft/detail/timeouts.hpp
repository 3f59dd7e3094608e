// timeouts.hpp - turns the durations and time points of users into deadlines of the one clock.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <ratio>
#include <type_traits>

#include <weft/detail/clock.hpp>

namespace weft::detail {

/// How many nanoseconds a Period lasts, if that is a whole number that the clock can represent;
/// else 0.
template <class Period>
constexpr std::intmax_t whole_nanoseconds() noexcept {
    if constexpr (std::nano::den % Period::den == 0) {
        constexpr auto each = std::nano::den / Period::den;
        if constexpr (Period::num <= std::chrono::nanoseconds::max().count() / each) return Period::num * each;
    }
    return 0;
}

// represents every duration, though not always exactly
using any_duration = std::chrono::duration<long double>;

/// From here on a rounded product of floats might exceed a count of nanoseconds: 37 minutes before
/// the largest.
inline constexpr any_duration nearly_the_largest(std::chrono::nanoseconds::max().count() / 1e9L * (1 - 0x1p-22L));

/// `d` rounded up. Negative values and NaN give 0; a value too large for a count of nanoseconds
/// gives the largest count.
template <class Rep, class Period>
constexpr std::chrono::nanoseconds saturated(const std::chrono::duration<Rep, Period>& d) noexcept {
    using std::chrono::nanoseconds;
    constexpr auto each = whole_nanoseconds<Period>();
    if constexpr (each != 0 && std::is_integral_v<Rep> && sizeof(Rep) <= sizeof(std::intmax_t)) {
        if (d <= d.zero()) return nanoseconds::zero();
        constexpr auto most = static_cast<std::uintmax_t>(nanoseconds::max().count() / each);
        const auto n = static_cast<std::uintmax_t>(d.count());
        return n > most ? nanoseconds::max() : nanoseconds(static_cast<std::intmax_t>(n) * each);
    } else {
        const any_duration wide(d);
        if (!(wide > wide.zero())) return nanoseconds::zero();
        if (wide >= nearly_the_largest) return nanoseconds::max();
        if constexpr (std::is_floating_point_v<Rep> && std::ratio_less_equal_v<Period, std::ratio<86400 * 366>>)
            return std::chrono::ceil<nanoseconds>(d);
        else
            // For whole numbers, and for the ratio of a long period, the product might not fit.
            return std::chrono::ceil<nanoseconds>(wide);
    }
}

/// The deadline `d` from now, rounded up; if the clock cannot represent it, never.
template <class Rep, class Period>
time_point deadline_in(const std::chrono::duration<Rep, Period>& d) noexcept {
    return deadline_after(saturated(d));
}

/// The deadline `t`; the largest value of its type means never. A time of another clock is
/// converted now, so later jumps of that clock do not count.
template <class Clock, class Duration>
time_point deadline_at(const std::chrono::time_point<Clock, Duration>& t) noexcept {
    if constexpr (std::same_as<std::chrono::time_point<Clock, Duration>, time_point>)
        return t;
    else if constexpr (std::same_as<Clock, time_point::clock>)
        return time_point(saturated(t.time_since_epoch()));
    else if (t == t.max())
        return never;
    // Both may lie further from their epoch than a common type can represent.
    else
        return deadline_in(any_duration(t.time_since_epoch()) - any_duration(Clock::now().time_since_epoch()));
}

/// For functions whose last argument is a limit of either kind.
template <class Rep, class Period>
time_point deadline_of(const std::chrono::duration<Rep, Period>& d) noexcept {
    return deadline_in(d);
}
template <class Clock, class Duration>
time_point deadline_of(const std::chrono::time_point<Clock, Duration>& t) noexcept {
    return deadline_at(t);
}
template <class L>
concept time_limit = requires(const L& limit) { deadline_of(limit); };

}  // namespace weft::detail
