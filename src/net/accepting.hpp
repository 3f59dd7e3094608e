// accepting.hpp - accepts connections of any kind in spite of a lack of resources; all listeners share it.
#pragma once

#include <sys/socket.h>

#include <string>
#include <system_error>

#include <weft/detail/io_handle.hpp>
#include <weft/net/endpoint.hpp>

namespace weft::detail {

/// Takes the next connection from the listening socket of `from`. If the process or the system is out
/// of descriptors or memory, it waits a little, tries again, and now and then writes a line to stderr
/// that names `at`. It skips connections that failed before they were accepted.
///
/// \parks    until a peer connects.
/// \returns  the connection; empty on failure.
io_handle accept_next(io_source* from, const net::endpoint& at, std::error_code& error);

/// Does what accept_next() would do, if a connection waits already.
/// \returns  the connection; empty, without an error, if none waits.
io_handle accept_waiting(io_source* from, std::error_code& error);

/// Whether a socket is a Unix socket.
inline bool is_unix_socket(int fd) noexcept {
    int domain = 0;
    socklen_t size = sizeof domain;
    return ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX;
}

/// Makes a listening socket that was opened elsewhere non-blocking and close-on-exec.
/// \returns  an error if it is not of this protocol and type (SO_PROTOCOL, SO_TYPE), or does not listen.
std::error_code prepare_listening(int fd, int protocol, int type) noexcept;

}  // namespace weft::detail
