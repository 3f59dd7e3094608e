// alarm.hpp - what one thread sleeps on until a time that others may bring forward without waking it now.
//
// To wake a thread costs the waker 12 us, and the woken one takes the waker's CPU if it has a short slice; to set a timer costs
// one system call. A futex cannot do it: who waits on it has said until when.
#pragma once

#include <weft/detail/clock.hpp>

#include "base/atomic.hpp"
#include "base/fork.hpp"

namespace weft::detail {

/// One sleeper; any thread may set it.
class alarm {
public:
    /// \throws std::system_error  there is no descriptor for it, or the system refuses to set it
    alarm();
    alarm(const alarm&) = delete;
    alarm& operator=(const alarm&) = delete;

    /// It rings then, and not when it was set to before. No matter if it is to ring now.
    void set(time_point when) noexcept;
    /// It rings now.
    void ring() noexcept;
    /// The sleeper: until it rings. What was done before ring() is seen then.
    void wait() noexcept;

private:
    [[nodiscard]] bool set_timer(time_point when) noexcept;

    atomic<bool> rung_{false};
    const unshared_descriptor timer_;
};

}  // namespace weft::detail
