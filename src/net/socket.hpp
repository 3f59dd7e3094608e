// socket.hpp - makes sockets, sets their options, and wraps them in the handles that streams own.
#pragma once

#include <weft/detail/io_handle.hpp>

#include "io/operation.hpp"
#include "net/socket_address.hpp"

namespace weft::detail {

/// A new non-blocking TCP socket, or an error.
struct new_socket {
    io_handle handle;
    std::error_code error;
};
/// handed_on: another process may get it, as listeners are passed to a successor.
enum class use : bool { here, handed_on };
new_socket make_tcp_socket(int family, use) noexcept;
/// A new non-blocking Unix socket of this type, or an error.
new_socket make_unix_socket(int type, use) noexcept;
/// A new non-blocking socket for UDP, or an error.
new_socket make_udp_socket(int family) noexcept;

/// A handle for a new descriptor; on failure the descriptor is closed. `forks_then` is that of
/// make_source().
new_socket adopt(int fd, unsigned forks_then) noexcept;

std::error_code set_option(int fd, int level, int option, int value) noexcept;

}  // namespace weft::detail
