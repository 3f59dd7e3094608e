// socket_io.hpp - moving bytes through a connected socket; all kinds of streams share it.
#pragma once

#include <cstddef>
#include <span>

#include "io/operation.hpp"

namespace weft::detail {

/// At least one byte; count 0 at end of stream.
io_result receive_some(io_source* s, std::span<std::byte> into) noexcept;
/// As receive_some(), but the bytes stay where they are.
io_result peek_some(io_source* s, std::span<std::byte> into) noexcept;
/// Until receive_some() would not wait.
std::error_code wait_readable(io_source* s) noexcept;
/// All of it, or an error and how much there was; connection_aborted at end of stream.
io_result receive_all(io_source* s, std::span<std::byte> into) noexcept;

io_result send_some(io_source* s, std::span<const std::byte> from) noexcept;
io_result send_all(io_source* s, std::span<const std::byte> from) noexcept;
/// Several pieces, in order, as one.
io_result send_pieces(io_source* s, std::span<const std::span<const std::byte>> pieces) noexcept;

}  // namespace weft::detail
