// thread_file.hpp - reads what /proc says of a thread of this process.
#pragma once

#include <sys/types.h>

#include <span>
#include <string_view>

namespace weft::detail {

/// The first bytes of /proc/self/task/`thread`/`name`. The process does not fork meanwhile, since its
/// child would keep the descriptor.
/// \returns the part of the file that was read, which lies in `into`; empty if it cannot be read, and
/// then `errno` says why it cannot be opened, or is 0.
std::string_view thread_file(pid_t thread, const char* name, std::span<char> into) noexcept;

}  // namespace weft::detail
