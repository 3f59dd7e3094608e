// blocked_in.hpp - in which system call a thread of this process sleeps, from what the kernel's proc files say of it.
#pragma once

#include <sys/types.h>

#include <span>
#include <string_view>

namespace weft::detail {

/// For people: "clock_nanosleep, hrtimer_nanosleep" (the call and the place in the kernel), "system call 400", or what of it can
/// be read; empty if nothing can. Lies in `room`.
std::string_view blocked_in(pid_t thread, std::span<char> room) noexcept;

/// From the text of /proc/self/task/ID/syscall: the number; negative if it is in none, or the kernel does not say.
long system_call_in(std::string_view text) noexcept;

}  // namespace weft::detail
