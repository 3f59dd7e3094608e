// slice.hpp - how long the kernel lets a thread run at once when others want its CPU: its slice, in EEVDF's terms.
//
// Workers and the monitor ask for a short one, so that they come soon after a hog; a hog's is long,
// so that it is disturbed seldom: with 16 hogs on two CPUs a ticker's p99 was 40 us instead of 2.4
// ms (docs/measurements/preemption.md). Kernels before 6.12 ignore it. Needs no privilege and can
// be taken back, unlike nice values.
//
// What a thread with such a slice starts, threads and processes, has the usual one: the kernel is told so (SCHED_FLAG_RESET_ON_FORK). It would
// take a negative nice value from them as well, so with one they inherit the slice, but for those of weft's that run foreign code.
#pragma once

#include <sys/types.h>

#include <weft/detail/clock.hpp>

namespace weft::detail {

inline constexpr duration worker_slice = std::chrono::microseconds(100);  // chosen: the kernel grants no shorter one
/// As long as the kernel takes it. Towards the end of its slice a hog's deadline may come before
/// that of a thread that wakes, which then waits for the tick: beside 4 hogs on two CPUs a ticker's
/// p99 was 0.4 ms, and 2.6 with 20 ms (docs/measurements/preemption.md).
inline constexpr duration hog_slice = std::chrono::milliseconds(100);

/// Of a thread of this process; 0: the calling one. Nothing happens to a thread with a policy of its own, nor if the kernel refuses,
/// which is said once.
void set_slice_of(pid_t thread, duration slice) noexcept;

/// The calling thread gets the kernel's own slice, should it have inherited another.
void set_usual_slice() noexcept;

}  // namespace weft::detail
