// wait_group.hpp - a count of things under way; waits until it is zero.
//
// Invariants
//   G1  The count is never negative: a done() too many stops the program.
//   G2  A wait that begins while the count is positive ends when the count next becomes zero, even if it grows again at once.
//   G3  The done() that makes the count zero does not touch the wait_group afterwards: a waiter may destroy it.
#pragma once

#include <chrono>
#include <cstddef>

#include <weft/detail/opaque.hpp>
#include <weft/detail/timeouts.hpp>

namespace weft {

class wait_group {
public:
    explicit wait_group(std::ptrdiff_t count = 0) noexcept;
    ~wait_group();
    wait_group(const wait_group&) = delete;
    wait_group& operator=(const wait_group&) = delete;

    /// Adds n things under way; a negative n is n times done(). Call it before starting what calls done().
    void add(std::ptrdiff_t n = 1) noexcept;
    /// One thing less. At zero all waits end.
    void done() noexcept { add(-1); }

    /// Waits until the count is zero.
    ///
    /// \parks   while it is positive.
    /// \throws  weft::cancelled if this fiber is asked to stop first.
    /// \orders  each done() happens before the return.
    void wait() { static_cast<void>(wait_until_zero(detail::never)); }

    /// \returns  true if the count became zero in time.
    template <class Rep, class Period>
    bool wait_for(const std::chrono::duration<Rep, Period>& d) {
        return wait_until_zero(detail::deadline_in(d));
    }
    template <class Clock, class Duration>
    bool wait_until(const std::chrono::time_point<Clock, Duration>& t) {
        return wait_until_zero(detail::deadline_at(t));
    }

private:
    bool wait_until_zero(detail::time_point until);

    detail::opaque<4 * sizeof(void*)> state_;
};

}  // namespace weft
