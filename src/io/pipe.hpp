// pipe.hpp - what pipes and child processes share: new pipes, and an owner for each descriptor.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include <weft/detail/io_handle.hpp>

namespace weft::detail {

/// Makes a pipe: the read end and the write end, non-blocking and close-on-exec.
/// \throws std::system_error
std::array<int, 2> new_pipe();

/// Calls write(2) without SIGPIPE; returns a system_result().
long write_without_signal(int fd, std::span<const std::byte> from) noexcept;

/// Makes an owner for the descriptor. \throws std::bad_alloc; the descriptor is then closed.
io_handle own_descriptor(int fd);

}  // namespace weft::detail
