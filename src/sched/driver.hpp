// driver.hpp - what the scheduler asks of an I/O engine: wait for readiness and wake the waiters.
//
// The scheduler declares it, src/io implements it (epoll), and src/runtime connects the two.
#pragma once

#include <weft/detail/clock.hpp>

namespace weft::detail {

class driver {
public:
    virtual ~driver() = default;

    /// Sleeps until something is ready, `until` has passed or wake() is called; claims and unparks
    /// the waiters of what is ready. With `until` in the past, it looks and returns. One caller at
    /// a time, on the carrier that leads (scheduler::try_lead()).
    /// \returns how many waiters were woken.
    virtual unsigned poll(time_point until) noexcept = 0;

    /// Any thread: ends a poll() under way, or else the next one.
    virtual void wake() noexcept = 0;
};

}  // namespace weft::detail
