// socket_address.hpp - the system's form of an endpoint whose host is a number.
#pragma once

#include <sys/socket.h>

#include <optional>

#include <weft/net/endpoint.hpp>

namespace weft::detail {

struct socket_address {
    sockaddr_storage storage{};
    socklen_t size = 0;

    sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(&storage); }
    const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
    int family() const noexcept { return storage.ss_family; }
};

/// Empty if the host is not a number. IPv6 numbers may have a zone: fe80::1%eth0.
std::optional<socket_address> parse_numeric(const net::endpoint&);

/// An IPv4 address mapped into IPv6 is converted to IPv4: it is the same host, and filters know it
/// in that form.
net::endpoint to_endpoint(const socket_address&);

/// The address of this end (getsockname) or of the other end (getpeername). Throws
/// std::system_error.
net::endpoint local_endpoint(int fd);
net::endpoint remote_endpoint(int fd);

}  // namespace weft::detail
