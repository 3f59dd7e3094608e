// sampled_stack.hpp - reads the return addresses of another thread while it computes, without a signal.
//
// The kernel takes the sample: a perf event of that one thread, whose interrupt comes after a tenth
// of a millisecond of its CPU time, and whose chain of callers the kernel reads by frame pointers.
// Nothing runs in the thread, no call of its is interrupted, and wrong frame pointers end the chain
// and fault nowhere. The thread must compute: a sample in the kernel is none.
//
// The kernel may refuse (kernel.perf_event_paranoid above 2, as on Debian and Ubuntu without
// CAP_PERFMON; the filters of system calls of most containers). Then there is no stack, and the way
// that always works is a signal (running_stack.hpp), which the program must choose.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>

#include <weft/detail/clock.hpp>

namespace weft::detail {

/// The address where `thread`, a thread of this process, computes now, and the addresses of its
/// callers, the innermost first. Sleeps meanwhile.
/// \returns the number of addresses; 0 if the kernel refuses, the thread is the calling one, or it
/// has not computed for a tenth of a millisecond by `until`.
std::size_t sample_running_stack(pid_t thread, std::span<void*> into, time_point until) noexcept;

}  // namespace weft::detail
