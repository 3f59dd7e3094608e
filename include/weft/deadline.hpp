// deadline.hpp - bounds the time of a piece of straight-line code, at whatever depth it waits.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <weft/detail/export.hpp>
#include <weft/stop.hpp>

namespace weft {

namespace detail {

/// The code of a limit that the program itself has set. Compares equal to std::errc::timed_out, but
/// says "timed out" instead of the system's "Connection timed out".
WEFT_EXPORT std::error_code timeout_code() noexcept;

}  // namespace detail

/// A deadline that the caller has set has passed. code() == std::errc::timed_out; what() names the
/// limit and what was interrupted:
/// "weft: deadline of 50 ms exceeded (connect to 127.0.0.1:80): timed out".
///
///     try { weft::with_timeout(50ms, query); }
///     catch (const weft::timeout_error& e) { std::cerr << e.what() << '\n'; }
class WEFT_EXPORT timeout_error : public std::system_error {
public:
    timeout_error() : std::system_error(detail::timeout_code()) {}
    explicit timeout_error(const char* what) : std::system_error(detail::timeout_code(), what) {}
    explicit timeout_error(const std::string& what) : std::system_error(detail::timeout_code(), what) {}
};

using steady_time_point = std::chrono::steady_clock::time_point;

namespace detail {

/// A `cancelled` that knows what it has interrupted, for a message: "read". Of a long name only the
/// beginning is kept: nothing is allocated, because it is thrown where memory may have run out.
class WEFT_EXPORT cancelled_operation : public cancelled {
public:
    explicit cancelled_operation(std::string_view name) noexcept
        : length_(static_cast<unsigned char>(name.copy(text_.data(), text_.size()))) {}

    [[nodiscard]] std::string_view name() const noexcept { return {text_.data(), length_}; }

private:
    std::array<char, 127> text_{};
    unsigned char length_;
};

/// Whether this frame owns the deadline that has interrupted it. If not, the unwinding goes on: a
/// stop or an outer deadline has caused it.
WEFT_EXPORT bool has_expired(const deadline_frame& frame) noexcept;

/// \param limit  what the caller gave; negative if that was a point in time.
WEFT_EXPORT [[noreturn]] void throw_timeout(std::chrono::nanoseconds limit, const cancelled_operation& interrupted);

template <class F>
decltype(auto) run_until(time_point until, std::chrono::nanoseconds limit, F&& f) {
    deadline_frame frame(until);
    std::optional<cancelled_operation> interrupted;
    try {
        return std::invoke(std::forward<F>(f));
    } catch (const cancelled_operation& operation) {
        if (!has_expired(frame)) throw;
        interrupted = operation;
    } catch (const cancelled&) {
        if (!has_expired(frame)) throw;
        interrupted.emplace("");
    }
    throw_timeout(limit, *interrupted);
}

}  // namespace detail

/// Runs f; once `until` has passed, the waits of f are interrupted. Calls nest: the earliest
/// deadline wins. A deadline set inside a weft::coroutine or generator counts while that one runs,
/// whichever fiber or thread calls it.
///
/// \returns  what f returns, also if it finishes late without waiting.
/// \throws   timeout_error if f was interrupted because of this deadline; what f throws otherwise.
/// \parks    only as f does.
template <class Clock, class Duration, class F>
decltype(auto) with_deadline(const std::chrono::time_point<Clock, Duration>& until, F&& f) {
    return detail::run_until(detail::deadline_at(until), std::chrono::nanoseconds(-1), std::forward<F>(f));
}

/// Runs f as with_deadline() does, with a deadline that lies `limit` from now:
///
///     page p = weft::with_timeout(200ms, [] { return get("/quotes"); });
template <class Rep, class Period, class F>
decltype(auto) with_timeout(const std::chrono::duration<Rep, Period>& limit, F&& f) {
    return detail::run_until(detail::deadline_in(limit), detail::saturated(limit), std::forward<F>(f));
}

}  // namespace weft
