// ticker.hpp - time as a channel: a receiver that gets the time once, or again and again.
#pragma once

#include <chrono>
#include <concepts>
#include <utility>

#include <weft/channel.hpp>
#include <weft/deadline.hpp>
#include <weft/detail/export.hpp>
#include <weft/detail/new_fiber.hpp>
#include <weft/detail/timeouts.hpp>

namespace weft {

class runtime;

namespace detail {

/// The body of a ticker's fiber. It ends with the receivers' last handle.
struct WEFT_EXPORT ticker {
    channel_ref to;
    time_point first;
    std::chrono::nanoseconds period;  // zero: once

    void operator()() const;
};

WEFT_EXPORT channel_ref make_ticker_channel();
/// \returns its argument. \throws std::invalid_argument unless positive
WEFT_EXPORT std::chrono::nanoseconds checked_period(std::chrono::nanoseconds);
WEFT_EXPORT void start_ticker(scheduler&, ticker);

}  // namespace detail

/// Makes a receiver that gets the time once, `d` from now. It gets no more after that, and is
/// closed when the runtime stops. For a single wait on_timeout() is cheaper: after() is a fiber,
/// which ends with the receiver's last handle.
///
///     const auto bell = weft::after(10s);
///     weft::select(weft::on_receive(bell, [](auto) { ring(); }), weft::on_receive(calls, answer));
///
/// \parks   at max_fibers, as spawn() does; with at_limit::run_inline as with at_limit::park.
/// \throws  what spawn() throws. On a plain thread the program stops with a message: name a runtime
///          there.
template <class Rep, class Period>
[[nodiscard]] receiver<steady_time_point> after(const std::chrono::duration<Rep, Period>& d) {
    auto channel = detail::make_ticker_channel();
    receiver<steady_time_point> rx(channel);
    detail::start_ticker(detail::runtime_here("weft::after"), {std::move(channel), detail::deadline_in(d), {}});
    return rx;
}
/// Makes the receiver of after(d) in `rt`, from any thread.
template <std::same_as<runtime> Runtime, class Rep, class Period>
[[nodiscard]] receiver<steady_time_point> after(Runtime& rt, const std::chrono::duration<Rep, Period>& d) {
    auto channel = detail::make_ticker_channel();
    receiver<steady_time_point> rx(channel);
    detail::start_ticker(detail::scheduler_of(rt), {std::move(channel), detail::deadline_in(d), {}});
    return rx;
}

/// Makes a receiver that gets the time every `d`, the first time `d` from now. A tick is dropped if
/// the one before it has not been taken yet; a late ticker does not make up for the ticks it
/// missed. The ticker ends with the receiver's last handle. The receiver is closed when the runtime
/// stops.
///
///     const auto ticks = weft::every(1s);
///     while (ticks.receive()) flush();
///
/// \parks   at max_fibers, as spawn() does; with at_limit::run_inline as with at_limit::park.
/// \throws  std::invalid_argument unless `d` is positive; what after() throws.
template <class Rep, class Period>
[[nodiscard]] receiver<steady_time_point> every(const std::chrono::duration<Rep, Period>& d) {
    const auto period = detail::checked_period(detail::saturated(d));
    auto channel = detail::make_ticker_channel();
    receiver<steady_time_point> rx(channel);
    detail::start_ticker(detail::runtime_here("weft::every"), {std::move(channel), detail::deadline_after(period), period});
    return rx;
}
/// Makes the receiver of every(d) in `rt`, from any thread.
template <std::same_as<runtime> Runtime, class Rep, class Period>
[[nodiscard]] receiver<steady_time_point> every(Runtime& rt, const std::chrono::duration<Rep, Period>& d) {
    const auto period = detail::checked_period(detail::saturated(d));
    auto channel = detail::make_ticker_channel();
    receiver<steady_time_point> rx(channel);
    detail::start_ticker(detail::scheduler_of(rt), {std::move(channel), detail::deadline_after(period), period});
    return rx;
}

}  // namespace weft
