// niceness.hpp - a thread's nice value: how much of a CPU the kernel gives it beside other threads.
//
// Threads of hogs weigh less if the user asks for it (runtime_options::hog_nice). Any thread may be
// made nicer; taking that back needs a privilege (CAP_SYS_NICE, or RLIMIT_NICE). Threads and
// processes that a nice thread starts are as nice as it is.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <algorithm>

namespace weft::detail {

inline constexpr int nicest = 19;

inline int nice_here() noexcept { return ::getpriority(PRIO_PROCESS, 0); }

/// Sets the nice value of a thread of this process; 0: the calling one. \returns whether the kernel
/// has done it.
inline bool set_nice_of(pid_t thread, int value) noexcept {
    return ::setpriority(PRIO_PROCESS, static_cast<id_t>(thread), std::min(value, nicest)) == 0;
}

}  // namespace weft::detail
