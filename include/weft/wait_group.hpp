// wait_group.hpp - a count of things under way; waits until it is zero.
//
// Rules
//   1  The count is never negative: a done() too many stops the program.
//   2  A wait that begins while the count is positive ends when the count next becomes zero, even if it grows again at once.
//   3  The done() that makes the count zero does not touch the wait_group afterwards: a waiter may destroy it.
#pragma once

#include <cstddef>

#include <weft/detail/countdown.hpp>
#include <weft/detail/timed_wait.hpp>

namespace weft {

/// wait(), wait_for(), wait_until(): until the count is zero (detail::timed_wait).
class wait_group : public detail::timed_wait<wait_group> {
public:
    explicit constexpr wait_group(std::ptrdiff_t count = 0) noexcept : count_(detail::countdown::what::wait_group, count) {}
    wait_group(const wait_group&) = delete;
    wait_group& operator=(const wait_group&) = delete;

    /// Adds n things under way; a negative n is n times done(). Call it before starting what calls done().
    void add(std::ptrdiff_t n = 1) noexcept { count_.add(n); }
    /// One thing less. At zero all waits end.
    void done() noexcept { add(-1); }

private:
    friend class detail::timed_wait<wait_group>;
    bool wait_until_over(detail::time_point until, const std::stop_token* token) const { return count_.wait(until, token); }

    detail::countdown count_;
};

}  // namespace weft
