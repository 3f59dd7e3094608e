// http_call.hpp - a plain HTTP/1.1 client for tests: one connection, one exchange at a time. For fibers and threads.
#pragma once

#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include <weft/net/tcp.hpp>

namespace weft::test {

struct answer {
    int status = 0;
    std::string head;
    std::string body;

    /// The value of the first header of that name as the server spells it; empty if there is none.
    std::string header(std::string_view name) const {
        const auto at = head.find("\r\n" + std::string(name) + ": ");
        if (at == std::string::npos) return {};
        const auto from = at + 4 + name.size();
        return head.substr(from, head.find("\r\n", from) - from);
    }
};

class http_connection {
public:
    explicit http_connection(std::uint16_t port)
        : stream_(tcp::stream::connect({.host = "127.0.0.1", .port = port})) {}

    answer call(std::string_view method, std::string_view target, std::string_view body = {}) {
        std::string request(method);
        request.append(" ").append(target).append(" HTTP/1.1\r\nHost: test\r\n");
        if (!body.empty()) request += "Content-Length: " + std::to_string(body.size()) + "\r\n";
        send(request.append("\r\n").append(body));
        return receive();
    }

    void send(std::string_view bytes) { stream_.write_all(bytes); }

    answer receive() {
        answer got;
        got.head = stream_.read_until("\r\n\r\n", 65536);
        if (got.head.size() < 12) throw std::runtime_error("the connection ended instead of an answer");
        std::from_chars(got.head.data() + 9, got.head.data() + 12, got.status);
        if (const auto length = got.header("Content-Length"); !length.empty()) {
            got.body.resize(std::stoul(length));
            stream_.read_exact(std::as_writable_bytes(std::span(got.body)));
        }
        return got;
    }

    /// Whether the server has ended the connection.
    bool at_end() {
        std::byte next;
        std::error_code broken;
        return stream_.read_some(std::span(&next, 1), broken) == 0;
    }

    tcp::stream& stream() noexcept { return stream_; }

private:
    tcp::stream stream_;
};

inline answer http_call(std::uint16_t port, std::string_view method, std::string_view target, std::string_view body = {}) {
    return http_connection(port).call(method, target, body);
}

}  // namespace weft::test
