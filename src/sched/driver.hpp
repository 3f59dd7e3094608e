// driver.hpp - what the scheduler asks of an I/O engine: wait for readiness and wake the waiters.
//
// The scheduler declares it, src/io implements it (io/engine.hpp), and src/runtime connects the
// two. tests/io/engine_test.cpp and engine_events_test.cpp judge implementations.
#pragma once

#include <weft/detail/clock.hpp>

namespace weft::detail {

class driver {
public:
    virtual ~driver() = default;

    /// Sleeps until something is ready, `until` has passed or wake() is called; claims and unparks
    /// the waiters of what is ready. With `until` in the past, it looks and returns. It may return
    /// early for no reason, such as a signal. One caller at a time, on the carrier that leads
    /// (lead.hpp): the next call may come on another thread, and on the stack of any
    /// fiber, so large buffers are members.
    /// \returns how many waiters were woken.
    virtual unsigned poll(time_point until) noexcept = 0;

    /// Any thread: ends a poll() under way, or else the next one.
    virtual void wake() noexcept = 0;
};

}  // namespace weft::detail
