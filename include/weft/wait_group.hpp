// wait_group.hpp - counts things that are under way, and lets others wait until there are none.
//
// Rules
//   1  The count is never negative: a done() too many stops the program.
//   2  A wait that begins while the count is positive ends when the count next becomes zero, even
//      if it grows again at once.
//   3  The done() that makes the count zero does not touch the wait_group afterwards: a waiter may
//      destroy it.
#pragma once

#include <cstddef>

#include <weft/detail/countdown.hpp>
#include <weft/detail/timed_wait.hpp>

namespace weft {

/// Counts up with add() and down with done(). wait(), wait_for() and wait_until() wait until the
/// count is zero (detail::timed_wait).
///
///     weft::wait_group jobs(2);
///     for (int i = 0; i < 2; ++i) weft::spawn_detached([&] { work(); jobs.done(); });
///     jobs.wait();
class wait_group : public detail::timed_wait<wait_group> {
public:
    explicit constexpr wait_group(std::ptrdiff_t count = 0) noexcept : count_(detail::countdown::what::wait_group, count) {}
    wait_group(const wait_group&) = delete;
    wait_group& operator=(const wait_group&) = delete;

    /// Adds n things under way; a negative n counts as -n times done(). Call it before starting
    /// what calls done().
    void add(std::ptrdiff_t n = 1) noexcept { count_.add(n); }
    /// Takes one off the count. At zero all waits end.
    void done() noexcept { add(-1); }

private:
    friend class detail::timed_wait<wait_group>;
    bool wait_until_over(detail::time_point until, const std::stop_token* token) const { return count_.wait(until, token); }

    detail::countdown count_;
};

}  // namespace weft
