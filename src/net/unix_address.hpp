// unix_address.hpp - the system's form of the address of a Unix socket, and back.
#pragma once

#include <weft/net/unix.hpp>

#include "net/socket_address.hpp"

namespace weft::detail {

/// Throws std::invalid_argument if no socket can have this address.
socket_address to_system(const unix_socket::address&);

/// `unix:/path`, `unix:@name`; empty for a socket without an address.
net::endpoint unix_endpoint(const socket_address&);

}  // namespace weft::detail
