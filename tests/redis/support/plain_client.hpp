// plain_client.hpp - one blocking connection to a real server, with a reader of RESP2 of its own that judges what weft relies on.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace weft::test {

struct plain_reply {
    char type = 0;  // + - : $ *
    std::string text;
    std::vector<plain_reply> elements;

    /// Of an array that is a map spelled flat; null if there is no such name.
    const plain_reply* at(std::string_view name) const {
        for (std::size_t i = 0; i + 1 < elements.size(); i += 2)
            if (elements[i].text == name) return &elements[i + 1];
        return nullptr;
    }
};

class plain_client {
public:
    explicit plain_client(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        at.sin_port = htons(port);
        const timeval patience{.tv_sec = 30, .tv_usec = 0};
        ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        if (::connect(fd_, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) {
            ::close(fd_);
            throw std::runtime_error("plain_client cannot connect");
        }
    }
    ~plain_client() { ::close(fd_); }
    plain_client(const plain_client&) = delete;
    plain_client& operator=(const plain_client&) = delete;

    void send(const std::vector<std::string>& words) {
        std::string bytes = "*" + std::to_string(words.size()) + "\r\n";
        for (const auto& w : words) bytes += "$" + std::to_string(w.size()) + "\r\n" + w + "\r\n";
        if (::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size()))
            throw std::runtime_error("plain_client: the server has closed");
    }

    /// \throws std::runtime_error at the end of the connection, and after 30 seconds without a byte.
    plain_reply reply() {
        const std::string head = line();
        plain_reply r{.type = head.at(0), .text = head.substr(1), .elements = {}};
        if (r.type != '$' && r.type != '*') return r;
        long n = std::stol(r.text);
        r.text.clear();
        if (r.type == '$' && n >= 0) r.text = exactly(static_cast<std::size_t>(n) + 2).substr(0, static_cast<std::size_t>(n));
        for (; r.type == '*' && n > 0; --n) r.elements.push_back(reply());
        return r;
    }

    plain_reply ask(const std::vector<std::string>& words) {
        send(words);
        return reply();
    }

private:
    void more() {
        char bytes[65536];
        const auto n = ::recv(fd_, bytes, sizeof bytes, 0);
        if (n <= 0) throw std::runtime_error(n == 0 ? "plain_client: the server has closed" : "plain_client: no answer");
        unread_.erase(0, at_);
        at_ = 0;
        unread_.append(bytes, static_cast<std::size_t>(n));
    }
    std::string line() {
        std::size_t end;
        while ((end = unread_.find("\r\n", at_)) == std::string::npos) more();
        const auto text = unread_.substr(at_, end - at_);
        at_ = end + 2;
        return text;
    }
    std::string exactly(std::size_t n) {
        while (unread_.size() - at_ < n) more();
        at_ += n;
        return unread_.substr(at_ - n, n);
    }

    int fd_;
    std::string unread_;
    std::size_t at_ = 0;
};

}  // namespace weft::test
