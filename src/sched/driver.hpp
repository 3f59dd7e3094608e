// driver.hpp - what the scheduler asks of an I/O engine: wait for readiness and wake whoever waits for it.
//
// Layer 4 declares it, layer 6 implements it (epoll), layer 7 introduces them.
#pragma once

#include <weft/detail/clock.hpp>

namespace weft::detail {

class driver {
public:
    virtual ~driver() = default;

    /// Sleeps until something is ready, `until` has passed or wake() is called; claims and unparks the waiters of what is
    /// ready. `until` in the past: looks and returns. One caller at a time, on a carrier that is inside the scheduler.
    /// \returns how many waiters were woken.
    virtual unsigned poll(time_point until) noexcept = 0;

    /// Ends a poll() under way, or else the next one. From any thread.
    virtual void wake() noexcept = 0;
};

}  // namespace weft::detail
