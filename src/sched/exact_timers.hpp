// exact_timers.hpp - lets the kernel wake this thread at the time it has asked for, and not up to 50 us later.
//
// The kernel puts the ends of sleeps together, so far as a thread's timer slack allows. With the
// least slack a timer is 36 instead of 86 us late (docs/measurements/waking.md). But what a thread
// starts, threads and processes, and programs these run, has its slack. Therefore a carrier has it
// while it sleeps for want of work, and no fiber runs on it.
#pragma once

#include <sys/prctl.h>

#include <weft/detail/clock.hpp>

namespace weft::detail {

/// As long as it lives. Nothing happens if the sleep has no end.
class exact_timers {
public:
    explicit exact_timers(time_point until) noexcept : wanted_(until != never) {
        if (wanted_) ::prctl(PR_SET_TIMERSLACK, 1UL);
    }
    ~exact_timers() {
        if (wanted_) ::prctl(PR_SET_TIMERSLACK, 0UL);  // what this thread began with
    }
    exact_timers(const exact_timers&) = delete;
    exact_timers& operator=(const exact_timers&) = delete;

private:
    const bool wanted_;
};

}  // namespace weft::detail
