// niceness.hpp - how much of a CPU the kernel gives a thread beside others that want it, too: its nice value.
//
// Threads of hogs weigh less if the user says so (runtime_options::hog_nice). Every thread may be made nicer; to take that back needs a
// privilege (CAP_SYS_NICE, or RLIMIT_NICE). What a nice thread starts, threads and processes, is as nice as it is.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <algorithm>

namespace weft::detail {

inline constexpr int nicest = 19;

inline int nice_here() noexcept { return ::getpriority(PRIO_PROCESS, 0); }

/// Of a thread of this process; 0: the calling one. \returns whether the kernel has done it.
inline bool set_nice_of(pid_t thread, int value) noexcept {
    return ::setpriority(PRIO_PROCESS, static_cast<id_t>(thread), std::min(value, nicest)) == 0;
}

}  // namespace weft::detail
