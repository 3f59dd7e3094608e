// send_file.hpp - moves a part of a file into a stream, without copying it where the system can.
#pragma once

#include <cstdint>
#include <system_error>

#include <weft/detail/export.hpp>
#include <weft/io/byte_stream.hpp>

#include "io/operation.hpp"

namespace weft::detail {

/// Sends `bytes` bytes of a regular file from `offset` on. The position of the descriptor does not
/// change. The error is io_error if the file cannot be read or ends before, else that of the
/// stream.
///
/// \returns  how many bytes were sent, also on failure.
/// \parks    while the peer accepts nothing. Reading from the disk blocks the thread.
WEFT_EXPORT std::uint64_t send_file(io::byte_stream& to, int file, std::uint64_t offset, std::uint64_t bytes,
                                    std::error_code& error);

/// Sends some of these bytes by sendfile(2), at least one unless the file ends at the offset. \parks as above.
io_result send_piece(io_source& to, int file, std::uint64_t offset, std::uint64_t most) noexcept;

/// The system cannot send this file by sendfile(2), or not into this stream.
bool is_no_sendfile(std::error_code) noexcept;

}  // namespace weft::detail
