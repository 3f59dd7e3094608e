// socket_io.hpp - moves bytes through a connected socket; all kinds of streams share it.
#pragma once

#include <cstddef>
#include <span>

#include <weft/detail/export.hpp>
#include <weft/io/stream.hpp>

#include "io/late_buffer.hpp"
#include "io/operation.hpp"

namespace weft::detail {

/// Receives at least one byte; count 0 at end of stream.
io_result receive_some(io_source* s, std::span<std::byte> into) noexcept;
/// As receive_some(), into a buffer that is taken for each attempt.
io_result receive_late(io_source* s, late_buffer& buffer) noexcept;
/// Receives what is there; the error is operation_would_block if that is nothing.
io_result try_receive_some(io_source* s, std::span<std::byte> into) noexcept;
/// Receives as receive_some() does, but leaves the bytes in the socket.
io_result peek_some(io_source* s, std::span<std::byte> into) noexcept;
/// Waits until receive_some() would not wait.
std::error_code wait_readable(io_source* s) noexcept;
/// Fills `into`. On failure returns the error and how much was read; at end of stream the error is
/// connection_aborted.
io_result receive_all(io_source* s, std::span<std::byte> into) noexcept;

io_result send_some(io_source* s, std::span<const std::byte> from) noexcept;
/// Sends what fits; the error is operation_would_block if that is nothing.
WEFT_EXPORT io_result try_send_some(io_source* s, std::span<const std::byte> from) noexcept;
io_result send_all(io_source* s, std::span<const std::byte> from) noexcept;
/// Sends several pieces in order, as one.
io_result send_pieces(io_source* s, std::span<const std::span<const std::byte>> pieces) noexcept;

/// Ends one direction of a connected socket, or both.
std::error_code shut_down(io_source* s, io::side which) noexcept;

}  // namespace weft::detail
