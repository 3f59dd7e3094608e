// latch.hpp - a count that goes down once; waits until it is zero, and never again.
//
// Rules
//   1  The count never goes below zero: a count_down() too many stops the program.
//   2  The count_down() that makes the count zero does not touch the latch afterwards: a waiter may
//      destroy it.
#pragma once

#include <chrono>
#include <cstddef>
#include <limits>
#include <stop_token>

#include <weft/detail/countdown.hpp>
#include <weft/detail/timed_wait.hpp>

namespace weft {

/// Has the members of std::latch. wait(), wait_for() and wait_until() wait until the count is zero
/// (detail::timed_wait).
///
///     weft::latch loaded(2);
///     for (int i = 0; i < 2; ++i) s.spawn([&] { load(); loaded.count_down(); });  // s: a scope
///     loaded.wait();
class latch : public detail::timed_wait<latch> {
public:
    static constexpr std::ptrdiff_t max() noexcept { return std::numeric_limits<std::ptrdiff_t>::max(); }

    explicit constexpr latch(std::ptrdiff_t expected) noexcept : count_(detail::countdown::what::latch, expected) {}
    latch(const latch&) = delete;
    latch& operator=(const latch&) = delete;

    /// Takes n off the count. At zero all waits end. A negative n stops the program.
    void count_down(std::ptrdiff_t n = 1) noexcept { count_.take(n); }
    /// \returns  true if the count is zero.
    [[nodiscard]] bool try_wait() const noexcept { return count_.is_zero(); }

    /// Calls count_down(n), then wait(). If this fiber is to stop already, it does not count down;
    /// if it is interrupted later, it has counted down.
    ///
    /// \parks   until the count is zero.
    /// \throws  weft::cancelled
    void arrive_and_wait(std::ptrdiff_t n = 1) { count_.take_and_wait(n, detail::never, nullptr); }
    /// Arrives as arrive_and_wait() does, and waits up to a limit of time or until `token` is
    /// stopped. It has counted down also if it did not wait to the end.
    ///
    /// \returns  true if the count is zero.
    /// \parks    until the count is zero.
    /// \throws   weft::cancelled
    template <class Rep, class Period>
    bool arrive_and_wait_for(const std::chrono::duration<Rep, Period>& d, std::ptrdiff_t n = 1) {
        return count_.take_and_wait(n, detail::deadline_in(d), nullptr);
    }
    template <class Clock, class Duration>
    bool arrive_and_wait_until(const std::chrono::time_point<Clock, Duration>& t, std::ptrdiff_t n = 1) {
        return count_.take_and_wait(n, detail::deadline_at(t), nullptr);
    }
    bool arrive_and_wait(std::stop_token token, std::ptrdiff_t n = 1) { return count_.take_and_wait(n, detail::never, &token); }
    template <class Rep, class Period>
    bool arrive_and_wait_for(std::stop_token token, const std::chrono::duration<Rep, Period>& d, std::ptrdiff_t n = 1) {
        return count_.take_and_wait(n, detail::deadline_in(d), &token);
    }
    template <class Clock, class Duration>
    bool arrive_and_wait_until(std::stop_token token, const std::chrono::time_point<Clock, Duration>& t, std::ptrdiff_t n = 1) {
        return count_.take_and_wait(n, detail::deadline_at(t), &token);
    }

private:
    friend class detail::timed_wait<latch>;
    bool wait_until_over(detail::time_point until, const std::stop_token* token) const { return count_.wait(until, token); }

    detail::countdown count_;
};

}  // namespace weft
