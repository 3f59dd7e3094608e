// ticker.hpp - time as a channel: a receiver that gets the time once, or again and again.
#pragma once

#include <chrono>
#include <concepts>
#include <utility>

#include <weft/channel.hpp>
#include <weft/deadline.hpp>
#include <weft/detail/new_fiber.hpp>
#include <weft/detail/timeouts.hpp>

namespace weft {

class runtime;

namespace detail {

/// The body of a ticker's fiber. Ends with the receivers' last handle.
struct ticker {
    channel_ref to;
    time_point first;
    std::chrono::nanoseconds period;  // zero: once

    void operator()() const;
};

channel_ref make_ticker_channel();
/// \throws std::invalid_argument unless positive
std::chrono::nanoseconds checked_period(std::chrono::nanoseconds);
void start_ticker(scheduler&, ticker);

/// What a period of another unit is in nanoseconds, rounded up, as far as they reach.
template <class Rep, class Period>
std::chrono::nanoseconds period_of(const std::chrono::duration<Rep, Period>& d) {
    using wide = std::chrono::duration<long double>;
    if (wide(d) >= wide(std::chrono::nanoseconds::max())) return std::chrono::nanoseconds::max();
    return checked_period(std::chrono::ceil<std::chrono::nanoseconds>(d));
}

}  // namespace detail

/// A receiver that gets the time once, `d` from now, and then nothing more until the runtime stops, which closes it. For one wait
/// on_timeout() is cheaper: this is a fiber, which ends with the receiver's last handle.
///
/// \parks   at max_fibers, as spawn(); with at_limit::run_inline as with park.
/// \throws  what spawn() throws. On a plain thread the program stops with a message: name a runtime.
template <class Rep, class Period>
[[nodiscard]] receiver<steady_time_point> after(const std::chrono::duration<Rep, Period>& d) {
    auto channel = detail::make_ticker_channel();
    receiver<steady_time_point> rx(channel);
    detail::start_ticker(detail::runtime_here("weft::after"), {std::move(channel), detail::deadline_in(d), {}});
    return rx;
}
/// In `rt`, from any thread.
template <std::same_as<runtime> Runtime, class Rep, class Period>
[[nodiscard]] receiver<steady_time_point> after(Runtime& rt, const std::chrono::duration<Rep, Period>& d) {
    auto channel = detail::make_ticker_channel();
    receiver<steady_time_point> rx(channel);
    detail::start_ticker(detail::scheduler_of(rt), {std::move(channel), detail::deadline_in(d), {}});
    return rx;
}

/// A receiver that gets the time every `d`, the first time `d` from now. A tick that nobody has taken when the next one comes
/// makes that one be dropped; ticks missed by a late ticker are not made up for. Stops with its last handle; closed when the
/// runtime stops.
///
/// \parks   as after().
/// \throws  std::invalid_argument unless `d` is positive; as after().
template <class Rep, class Period>
[[nodiscard]] receiver<steady_time_point> every(const std::chrono::duration<Rep, Period>& d) {
    const auto period = detail::period_of(d);
    auto channel = detail::make_ticker_channel();
    receiver<steady_time_point> rx(channel);
    detail::start_ticker(detail::runtime_here("weft::every"), {std::move(channel), detail::deadline_after(period), period});
    return rx;
}
/// In `rt`, from any thread.
template <std::same_as<runtime> Runtime, class Rep, class Period>
[[nodiscard]] receiver<steady_time_point> every(Runtime& rt, const std::chrono::duration<Rep, Period>& d) {
    const auto period = detail::period_of(d);
    auto channel = detail::make_ticker_channel();
    receiver<steady_time_point> rx(channel);
    detail::start_ticker(detail::scheduler_of(rt), {std::move(channel), detail::deadline_after(period), period});
    return rx;
}

}  // namespace weft
