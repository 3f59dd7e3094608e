// listening_socket.hpp - a port that is opened without weft, as a supervisor of services opens it.
#pragma once

#include <cstdint>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace weft::test {

/// A listening socket on loopback, which the caller closes, and its port; -1 and 0 if there is none.
inline std::pair<int, std::uint16_t> listening_socket() {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in at {};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    if (::bind(fd, reinterpret_cast<struct sockaddr*>(&at), size) != 0 || ::listen(fd, 16) != 0) return {-1, 0};
    ::getsockname(fd, reinterpret_cast<struct sockaddr*>(&at), &size);
    return {fd, ::ntohs(at.sin_port)};
}

}  // namespace weft::test
