// pipe.hpp - what pipes and child processes share: fresh pipes, and an owner for each descriptor.
#pragma once

#include <array>

#include <weft/detail/io_handle.hpp>

namespace weft::detail {

/// The reader and the writer, in non-blocking mode, closed by exec(). \throws std::system_error
std::array<int, 2> new_pipe();

/// \throws std::bad_alloc, and then has closed it.
io_handle own_descriptor(int fd);

}  // namespace weft::detail
