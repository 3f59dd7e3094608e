// unix_messages.hpp - bytes with descriptors through a Unix socket; connecting; the process at the other end.
#pragma once

#include <cstddef>
#include <span>
#include <system_error>

#include <weft/net/unix.hpp>

#include "io/operation.hpp"

namespace weft::detail {

/// Sends at least one byte with the descriptors.
io_result send_with_descriptors(io_source* s, std::span<const std::byte> bytes, std::span<const int> descriptors);

struct received_message {
    unix_socket::received got;
    bool cut = false;  ///< the packet was longer than the buffer
};
/// Receives what is there with up to `most` descriptors. None is left to nobody, whatever happens.
received_message receive_with_descriptors(io_source* s, std::span<std::byte> into, std::size_t most, std::error_code& error);

/// \parks  while the queue of the listener is full.
io_handle connect_to(const unix_socket::address& to, int type, std::error_code& error);

/// A pair of connected sockets of this type. Throws std::system_error.
std::pair<io_handle, io_handle> socket_pair(int type);

unix_socket::credentials peer_of(io_source* s, std::error_code& error) noexcept;

}  // namespace weft::detail
