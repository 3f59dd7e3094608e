#include "http/newcomer.hpp"

#include <sys/socket.h>

#include <array>
#include <string_view>

#include "http/connection.hpp"

namespace weft::detail {

void newcomer::serve() { http_connection(*service_, std::move(peer_)).run(); }

/// Sends as much as is possible without waiting. Closing with unread bytes would reset the
/// connection, and the client might lose the answer.
void newcomer::turn_away() noexcept {
    constexpr std::string_view answer =
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 24\r\n"
        "Retry-After: 1\r\nConnection: close\r\n\r\n503 Service Unavailable\n";
    const int fd = peer_.native_handle();
    if (::send(fd, answer.data(), answer.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) return;
    ::shutdown(fd, SHUT_WR);
    std::array<char, 4096> discarded;
    while (::recv(fd, discarded.data(), discarded.size(), MSG_DONTWAIT) == static_cast<ssize_t>(discarded.size())) {}
}

}  // namespace weft::detail
