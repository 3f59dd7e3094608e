// placement.hpp - on which CPU a sleeping carrier wakes up.
//
// A guest kernel takes a halted virtual CPU for one that its host has taken away. So it may queue a
// woken thread behind the thread that woke it, although another CPU is idle; there the thread waits
// for the next tick. Measured on two virtual CPUs for a new fiber whose parent computes on: p99 5.0
// ms, and 0.15 to 0.19 ms with this (ctest -R timing). Therefore a carrier goes to sleep with the
// CPUs of the other workers taken out of its affinity mask, and puts them back when it wakes.
//
// An administrator may set the threads' masks at any time (`taskset -acp`, a supervisor, a control
// group's cpuset), even to exactly the mask that a sleeper has set itself. A thread that weft never
// restricts, called the reference, tells the two apart; it is the monitor. It begins before all
// carriers, so a tool that sets all threads of the process, in the order in which the system lists
// them, sets the reference before any carrier.
//
// Invariants
//   PLACEMENT-1  A carrier takes back only a mask that it has set itself; any other mask it finds
//                was set from outside, and stays.
//   PLACEMENT-2  If the reference's mask has changed since the carrier looked last, the masks of
//                all threads have been set: the carrier adopts the reference's mask, whatever it
//                has set itself.
//   PLACEMENT-3  The carrier looks at the reference after each change of its own mask. So a mask
//                that was set from outside just before, and that this change has undone, is set
//                again; a mask that is set afterwards stays.
//
// Not promised: that a mask given from outside to a single sleeping carrier stays, if it is exactly
// the one that the carrier has given itself. Rejected: asking the kernel for all CPUs to see
// whether a thread was restricted, because that lifts the restriction for a moment.
#pragma once

#include <sched.h>
#include <sys/types.h>

namespace weft::detail {

/// The placement of one carrier; used by its own thread only.
class placement {
public:
    /// Keeps the thread off `others` until stay_anywhere(). Does nothing if that leaves no CPU, the
    /// kernel refuses, or `reference` is 0 (there is none).
    void stay_off(const cpu_set_t& others, pid_t reference) noexcept;
    /// Undoes stay_off().
    void stay_anywhere() noexcept;

    /// \returns the CPU the thread runs on; -1 if unknown.
    static int here() noexcept { return ::sched_getcpu(); }

private:
    /// Reads the masks of the reference and of this thread. False: it cannot read them, as when
    /// there is no such thread.
    bool learn(pid_t reference) noexcept;
    /// Adopts the reference's mask if that has changed (PLACEMENT-2). True: it has set this
    /// thread's.
    bool follow_reference() noexcept;

    pid_t reference_ = 0;
    cpu_set_t agreed_{};  // the reference's mask when last looked at
    cpu_set_t normal_{};  // this thread's mask while it is awake
    cpu_set_t rest_{};  // this thread's mask while it keeps off the others
    bool off_ = false;
};

}  // namespace weft::detail
