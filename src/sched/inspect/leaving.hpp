// leaving.hpp - whether foreign code that the calling fiber is in may go on on another thread.
#pragma once

#include <cstdint>

namespace weft::detail {

/// The signals that the calling thread blocks, as the kernel has them: a bit for each.
std::uint64_t signals_blocked_here() noexcept;

/// Called in a fiber, before a wait that foreign code has not asked for by name (io/hooked). False in a
/// signal handler, and between two changes of the signal mask: what the kernel keeps of either belongs to
/// the thread. False as well while the process forks: the caller may have a lock that is held across it.
/// \cost  a system call.
bool may_leave_thread() noexcept;

}  // namespace weft::detail
