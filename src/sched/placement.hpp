// placement.hpp - on which CPU a sleeping carrier wakes up.
//
// A kernel that is a guest takes a halted virtual CPU for one its host has taken away, so it may queue a woken thread behind
// the thread that woke it, beside an idle CPU; there it waits for the next tick. Measured on two virtual CPUs, a new fiber
// whose parent computes on: p99 5.0 ms, and 0.15 to 0.19 ms with this (ctest -R timing). So a carrier goes to sleep with the
// CPUs of the other workers taken out of its affinity, and puts them back when it wakes.
#pragma once

#include <sched.h>

namespace weft::detail {

/// Of one carrier; used by its own thread only.
class placement {
public:
    /// Keeps the thread off `others` until stay_anywhere(). Does nothing if that leaves no CPU, or the kernel refuses.
    void stay_off(const cpu_set_t& others) noexcept;
    void stay_anywhere() noexcept;

    /// The CPU the thread runs on, -1 if unknown.
    static int here() noexcept { return ::sched_getcpu(); }

private:
    void learn(const cpu_set_t& now) noexcept;

    cpu_set_t seen_{};    // the affinity when last looked at, and
    cpu_set_t normal_{};  // what to set to have it back
    cpu_set_t rest_{};    // what it is while the thread keeps off the others
    bool off_ = false;
};

}  // namespace weft::detail
