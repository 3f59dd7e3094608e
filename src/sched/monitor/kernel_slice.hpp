// kernel_slice.hpp - a thread's slice: how long the kernel lets it run when others want its CPU.
//
// The term is EEVDF's. Workers and the monitor ask for a short slice, so that they run soon after a
// hog; a hog gets a long one, so that it is disturbed seldom: with 16 hogs on two CPUs a
// ticker's p99 was 40 us instead of 2.4 ms (docs/measurements/preemption.md). Kernels before 6.12
// ignore it. Setting it needs no privilege and can be undone, unlike nice values.
//
// Threads and processes that are started by a thread with such a slice have the usual one: the
// kernel is told so (SCHED_FLAG_RESET_ON_FORK). That flag would take a negative nice value from
// them as well, so where the nice value is negative they inherit the slice, except for those
// threads of weft that run foreign code (set_usual_slice()).
#pragma once

#include <sys/types.h>

#include <weft/detail/clock.hpp>

namespace weft::detail {

// chosen: the kernel grants no shorter one
inline constexpr duration worker_slice = std::chrono::microseconds(100);
/// The longest slice that the kernel accepts. Towards the end of its slice a hog's deadline may
/// come before that of a thread that wakes, which then waits for the tick: beside 4 hogs on two
/// CPUs a ticker's p99 was 0.4 ms, and 2.6 ms with a slice of 20 ms
/// (docs/measurements/preemption.md).
inline constexpr duration hog_slice = std::chrono::milliseconds(100);

/// Sets the slice of a thread of this process; 0: the calling one. Does nothing to a thread with a
/// scheduling policy of its own, nor if the kernel refuses; the refusal is printed once.
void set_slice_of(pid_t thread, duration slice) noexcept;

/// Gives the calling thread the kernel's usual slice, in case it has inherited another.
void set_usual_slice() noexcept;

}  // namespace weft::detail
