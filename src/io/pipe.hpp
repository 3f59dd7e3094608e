// pipe.hpp - what pipes and child processes share: fresh pipes, and an owner for each descriptor.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include <weft/detail/io_handle.hpp>

namespace weft::detail {

/// The reader and the writer, in non-blocking mode, closed by exec(). \throws std::system_error
std::array<int, 2> new_pipe();

/// write(2), as a result of system_result(), without SIGPIPE.
long write_without_signal(int fd, std::span<const std::byte> from) noexcept;

/// \throws std::bad_alloc, and then has closed it.
io_handle own_descriptor(int fd);

}  // namespace weft::detail
