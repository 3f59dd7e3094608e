// blocked_in.hpp - in which system call a thread of this process sleeps, from proc files.
#pragma once

#include <sys/types.h>

#include <span>
#include <string_view>

namespace weft::detail {

/// \returns a text for people, which lies in `room`: "clock_nanosleep, hrtimer_nanosleep" (the call
/// and the place in the kernel), "system call 400", or as much of that as can be read; empty if
/// nothing can.
std::string_view blocked_in(pid_t thread, std::span<char> room) noexcept;

/// \returns the system call's number from the text of /proc/self/task/ID/syscall; negative if the
/// thread is in none, or the kernel does not say.
long system_call_in(std::string_view text) noexcept;

/// \returns the name of a system call in which programs sleep; null if it has none here.
const char* name_of_system_call(long number) noexcept;

}  // namespace weft::detail
