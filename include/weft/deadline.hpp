// deadline.hpp - bounds the time of a piece of straight-line code, however deep its waits lie.
#pragma once

#include <chrono>
#include <functional>
#include <system_error>
#include <utility>

#include <weft/stop.hpp>

namespace weft {

/// A deadline of the caller's own has passed. code() is std::errc::timed_out.
class timeout_error : public std::system_error {
public:
    timeout_error() : std::system_error(std::make_error_code(std::errc::timed_out)) {}
    explicit timeout_error(const char* what) : std::system_error(std::make_error_code(std::errc::timed_out), what) {}
};

using steady_time_point = std::chrono::steady_clock::time_point;

/// Runs f; its waits are interrupted once `until` has passed. Nests: the earliest deadline wins. In a weft::coroutine or generator it
/// counts while that runs, whoever calls it.
///
/// \returns  what f returns, also if it finishes late without waiting.
/// \throws   timeout_error if f was interrupted because of this deadline; what f throws otherwise.
/// \parks    only as f does.
template <class Clock, class Duration, class F>
decltype(auto) with_deadline(const std::chrono::time_point<Clock, Duration>& until, F&& f) {
    detail::deadline_frame frame(detail::deadline_at(until));
    try {
        return std::invoke(std::forward<F>(f));
    } catch (const cancelled&) {
        // The frame that owns the expired deadline converts; a stop, or an outer deadline, goes on unwinding.
        const bool outer_expired = frame.outer && detail::clock::now() >= frame.outer->effective;
        if (detail::stop_is_pending() || outer_expired || detail::clock::now() < frame.own) throw;
    }
    throw timeout_error("weft: deadline exceeded");
}

/// with_deadline() from now on.
template <class Rep, class Period, class F>
decltype(auto) with_timeout(const std::chrono::duration<Rep, Period>& limit, F&& f) {
    return with_deadline(detail::deadline_in(limit), std::forward<F>(f));
}

}  // namespace weft
