// alarm.hpp - what the monitor sleeps on: a time that others may bring forward without waking it.
//
// Waking a thread costs the waker 12 us, and the woken thread takes the waker's CPU if it has a
// short slice; setting a timer costs one system call. A futex cannot do it, since a waiter's
// timeout is fixed when it begins to wait.
#pragma once

#include <weft/detail/clock.hpp>

#include "base/atomic.hpp"
#include "base/fork.hpp"

namespace weft::detail {

/// One thread sleeps on it; any thread may set it.
class alarm {
public:
    /// \throws std::system_error  there is no descriptor for it, or the system refuses to set it
    alarm();
    alarm(const alarm&) = delete;
    alarm& operator=(const alarm&) = delete;

    /// Makes it ring at `when` instead of the time set before. Does nothing after ring(), until
    /// wait() has returned.
    void set(time_point when) noexcept;
    /// Makes it ring now.
    void ring() noexcept;
    /// Called by the sleeper: sleeps until it rings. Sees what was done before ring().
    void wait() noexcept;

private:
    [[nodiscard]] bool set_timer(time_point when) noexcept;

    atomic<bool> rung_{false};
    const unshared_descriptor timer_;
};

}  // namespace weft::detail
