// late_buffer.hpp - a receive that takes its buffer only when there may be something to receive.
//
// A connection that waits for a request needs no buffer yet, and ten thousand of them need none.
#pragma once

#include <cstddef>
#include <span>
#include <system_error>

#include <weft/detail/export.hpp>
#include <weft/io/byte_stream.hpp>

namespace weft::detail {

class late_buffer {
public:
    /// Called before each attempt.
    ///
    /// \returns  where to receive; empty if there is no memory, which ends the receive with
    ///           not_enough_memory.
    virtual std::span<std::byte> take() noexcept = 0;
    /// Called after an attempt that has received nothing.
    virtual void give_back() noexcept = 0;

protected:
    ~late_buffer() = default;
};

/// Receives as io::byte_stream::read_some() does.
///
/// \parks  while there is nothing to read; it holds no buffer then.
WEFT_EXPORT std::size_t read_late(io::byte_stream& from, late_buffer& into, std::error_code& error);
/// Reads as read_late() does, from a stream that is one socket, or a layer such as TLS over one: after each
/// event of source_below() there is an attempt. For any other stream, and while a layer has something to send
/// first, the error is not_a_socket, and it may have waited.
///
/// \parks  as read_late() does.
WEFT_EXPORT std::size_t read_late_socket(io::byte_stream& from, late_buffer& into, std::error_code& error);

}  // namespace weft::detail
