// placement.hpp - on which CPU a sleeping carrier wakes up.
//
// A kernel that is a guest takes a halted virtual CPU for one its host has taken away, so it may queue a woken thread behind
// the thread that woke it, beside an idle CPU; there it waits for the next tick. Measured on two virtual CPUs, a new fiber
// whose parent computes on: p99 5.0 ms, and 0.15 to 0.19 ms with this (ctest -R timing). So a carrier goes to sleep with the
// CPUs of the other workers taken out of its affinity, and puts them back when it wakes.
//
// An administrator may set the threads' masks at any time (`taskset -acp`, a supervisor, a control group's cpuset), also to just what a
// sleeper has set itself. A thread that weft never restricts tells the two apart: the reference, which is the monitor. It begins before all
// carriers, so whoever sets all threads of the process, in the order in which the system lists them, sets it before any of them.
//
// Invariants
//   PLACE-1  A carrier takes back only a mask that it has set itself: what it finds instead is somebody's will, and stays.
//   PLACE-2  If the reference's mask has changed since the carrier looked last, the masks of all threads have been set: the carrier takes
//            that one for its own, whatever it has set itself.
//   PLACE-3  The carrier looks at the reference after each change of its own mask. So a mask that somebody has set just before, and that
//            this change has undone, is set again; one that is set afterwards stays.
//
// Not promised: a mask that somebody gives a single sleeping carrier, if it is exactly the one which that has given itself.
// Rejected: to ask the kernel for all CPUs to see whether a thread was restricted, which lifts the restriction for a moment.
#pragma once

#include <sched.h>
#include <sys/types.h>

namespace weft::detail {

/// Of one carrier; used by its own thread only.
class placement {
public:
    /// Keeps the thread off `others` until stay_anywhere(). Does nothing if that leaves no CPU, the kernel refuses, or there is no reference
    /// (0).
    void stay_off(const cpu_set_t& others, pid_t reference) noexcept;
    void stay_anywhere() noexcept;

    /// The CPU the thread runs on, -1 if unknown.
    static int here() noexcept { return ::sched_getcpu(); }

private:
    /// False: there is no such thread.
    bool learn(pid_t reference) noexcept;
    /// True: it has set this thread's mask (PLACE-2).
    bool follow_reference() noexcept;

    pid_t reference_ = 0;
    cpu_set_t agreed_{};  // the reference's mask when last looked at
    cpu_set_t normal_{};  // this thread's while it is awake
    cpu_set_t rest_{};  // and while it keeps off the others
    bool off_ = false;
};

}  // namespace weft::detail
