// fake_server.hpp - a Redis that does what a test's script says, byte by byte, on a thread of its own.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace weft::test {

/// One accepted connection, blocking, for the script.
class fake_peer {
public:
    explicit fake_peer(int fd) : fd_(fd) {}
    fake_peer(fake_peer&& other) noexcept : fd_(std::exchange(other.fd_, -1)), unread_(std::move(other.unread_)) {}
    ~fake_peer() { close(); }

    /// What one recv gives; empty at the end.
    std::string read_some() {
        char bytes[65536];
        const auto n = ::recv(fd_, bytes, sizeof bytes, 0);
        return n > 0 ? std::string(bytes, static_cast<std::size_t>(n)) : std::string();
    }

    /// The words of the next command; none at the end of the connection.
    std::vector<std::string> command() {
        std::vector<std::string> words;
        const auto head = line();
        if (head.empty()) return words;
        for (int n = std::stoi(head.substr(1)); n > 0; --n) {
            const auto size = static_cast<std::size_t>(std::stoul(line().substr(1)));
            words.push_back(exactly(size + 2).substr(0, size));
        }
        return words;
    }

    void send(std::string_view bytes) { (void)!::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }

    /// Sends piece by piece, each in a segment of its own.
    void send_in_pieces(std::string_view bytes, std::size_t piece) {
        for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
            send(bytes.substr(0, piece));
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
    }

    /// Waits until the other side has closed.
    void await_end() {
        while (!read_some().empty()) {}
    }

    void close() {
        if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    }
    void reset() {
        const linger at_once{1, 0};
        ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        close();
    }

private:
    bool more() {
        const auto bytes = read_some();
        unread_ += bytes;
        return !bytes.empty();
    }
    std::string line() {
        std::size_t end;
        while ((end = unread_.find("\r\n")) == std::string::npos)
            if (!more()) return {};
        auto text = unread_.substr(0, end);
        unread_.erase(0, end + 2);
        return text;
    }
    std::string exactly(std::size_t n) {
        while (unread_.size() < n)
            if (!more()) return std::string(n, '?');
        auto text = unread_.substr(0, n);
        unread_.erase(0, n);
        return text;
    }

    int fd_;
    std::string unread_;
};

class fake_server {
public:
    using script = std::function<void(fake_server&)>;

    explicit fake_server(script s) : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof at;
        if (::bind(listener_, reinterpret_cast<sockaddr*>(&at), size) != 0 || ::listen(listener_, 64) != 0 ||
            ::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &size) != 0)
            throw std::runtime_error("fake_server cannot listen");
        port_ = ntohs(at.sin_port);
        thread_ = std::thread([this, run = std::move(s)] { run(*this); });
    }
    ~fake_server() {
        thread_.join();
        ::close(listener_);
    }

    std::uint16_t port() const noexcept { return port_; }
    std::string url() const { return "redis://127.0.0.1:" + std::to_string(port_); }

    /// For the script.
    fake_peer accept() {
        pollfd ready{listener_, POLLIN, 0};
        if (::poll(&ready, 1, 20'000) != 1) throw std::runtime_error("fake_server: nobody connects");
        return fake_peer(::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC));
    }

private:
    int listener_;
    std::uint16_t port_ = 0;
    std::thread thread_;
};

}  // namespace weft::test
