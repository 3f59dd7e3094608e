// latch.hpp - a count that goes down once; waits until it is zero, and never again.
//
// Rules
//   1  The count never goes below zero: a count_down() too many stops the program.
//   2  The count_down() that makes the count zero does not touch the latch afterwards: a waiter may destroy it.
#pragma once

#include <cstddef>
#include <limits>

#include <weft/detail/opaque.hpp>
#include <weft/detail/timed_wait.hpp>

namespace weft {

/// Members as std::latch. wait(), wait_for(), wait_until(): until the count is zero (detail::timed_wait).
class latch : public detail::timed_wait<latch> {
public:
    static constexpr std::ptrdiff_t max() noexcept { return std::numeric_limits<std::ptrdiff_t>::max(); }

    explicit latch(std::ptrdiff_t expected) noexcept;
    ~latch();
    latch(const latch&) = delete;
    latch& operator=(const latch&) = delete;

    /// Takes n off the count. At zero all waits end. A negative n stops the program.
    void count_down(std::ptrdiff_t n = 1) noexcept;
    /// \returns  true if the count is zero.
    [[nodiscard]] bool try_wait() const noexcept;

    /// count_down(n), then wait(). If this fiber has to stop already it does not arrive; interrupted later it has arrived.
    ///
    /// \parks   until the count is zero.
    /// \throws  weft::cancelled
    void arrive_and_wait(std::ptrdiff_t n = 1);

private:
    friend class detail::timed_wait<latch>;
    bool wait_until_over(detail::time_point until, const std::stop_token*) const;

    mutable detail::opaque<4 * sizeof(void*)> state_;
};

}  // namespace weft
