// raw_client.cpp - blocking sockets with a time limit.
#include "http/support/raw_client.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <utility>

namespace weft::test {

std::string raw_response::header(std::string_view name) const {
    const auto at = head.find("\r\n" + std::string(name) + ": ");
    if (at == head.npos) return {};
    const auto begin = at + name.size() + 4;
    return head.substr(begin, head.find("\r\n", begin) - begin);
}

raw_client::raw_client(std::uint16_t port, options o) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval limit{.tv_sec = 5, .tv_usec = 0};
    const int on = 1;
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (o.receive_buffer != 0) ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &o.receive_buffer, sizeof o.receive_buffer);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
        ::close(fd_);
        throw std::runtime_error("raw_client: cannot connect");
    }
}

raw_client::raw_client(raw_client&& other) noexcept : fd_(std::exchange(other.fd_, -1)), received_(std::move(other.received_)) {}

raw_client::~raw_client() {
    if (fd_ >= 0) ::close(fd_);
}

bool raw_client::send(std::string_view bytes) {
    while (!bytes.empty()) {
        const auto n = TEMP_FAILURE_RETRY(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL));  // a stopped process goes on
        if (n <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
}

bool raw_client::fill(std::size_t most) {
    std::array<char, 65536> bytes;
    const auto n = TEMP_FAILURE_RETRY(::recv(fd_, bytes.data(), std::min(most, bytes.size()), 0));
    if (n > 0) received_.append(bytes.data(), static_cast<std::size_t>(n));
    return n > 0;
}

raw_response raw_client::receive(bool body_follows) {
    std::size_t end;
    while ((end = received_.find("\r\n\r\n")) == received_.npos)
        if (!fill()) return {};
    raw_response r;
    r.head = received_.substr(0, end);
    r.status = r.head.starts_with("HTTP/1.1 ") ? std::atoi(r.head.c_str() + 9) : 0;
    received_.erase(0, end + 4);
    if (body_follows && r.header("Transfer-Encoding") == "chunked") return receive_chunks(r.body) ? r : raw_response{};
    const auto length = body_follows ? std::strtoull(r.header("Content-Length").c_str(), nullptr, 10) : 0;
    while (received_.size() < length)
        if (!fill()) return {};
    r.body = received_.substr(0, length);
    received_.erase(0, length);
    return r;
}

bool raw_client::receive_chunks(std::string& body) {
    for (;;) {
        std::size_t line;
        while ((line = received_.find("\r\n")) == received_.npos)
            if (!fill()) return false;
        const auto size = std::strtoull(received_.c_str(), nullptr, 16);
        while (received_.size() < line + 2 + size + 2)
            if (!fill()) return false;
        body.append(received_, line + 2, size);
        received_.erase(0, line + 2 + size + 2);
        if (size == 0) return true;
    }
}

std::string raw_client::receive_to_end() {
    while (fill()) {}
    return std::exchange(received_, {});
}

bool raw_client::read_slowly(std::size_t size, std::size_t piece, std::chrono::microseconds pause) {
    while (received_.size() < size && fill(piece)) std::this_thread::sleep_for(pause);
    return received_.size() >= size;
}

bool raw_client::receives_something() { return !received_.empty() || fill(1); }

bool raw_client::ends_by_reset() {
    errno = 0;
    while (fill()) received_.clear();
    return errno == ECONNRESET;
}

raw_response raw_client::ask(std::string_view bytes) {
    send(bytes);
    return receive();
}

bool raw_client::ended() {
    char byte;
    return received_.empty() && ::recv(fd_, &byte, 1, 0) == 0;
}

bool raw_client::silent_for(int milliseconds) {
    pollfd p{.fd = fd_, .events = POLLIN, .revents = 0};
    return received_.empty() && ::poll(&p, 1, milliseconds) == 0;
}

void raw_client::half_close() { ::shutdown(fd_, SHUT_WR); }

void raw_client::reset() {
    const linger hard{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    ::close(std::exchange(fd_, -1));
}

std::string get(std::string_view target) { return "GET " + std::string(target) + " HTTP/1.1\r\nHost: test\r\n\r\n"; }

}  // namespace weft::test
