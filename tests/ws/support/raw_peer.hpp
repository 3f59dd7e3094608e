// raw_peer.hpp - the other end of a WebSocket, which sends whatever bytes it is told, and the WebSocket in one test.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <weft/fiber.hpp>
#include <weft/http/upgrade.hpp>
#include <weft/io/byte_stream.hpp>
#include <weft/net/unix.hpp>
#include <weft/ws.hpp>

namespace weft::test {

inline http::request handshake(http::headers more = {}) {
    http::request_parts q{.target = "/chat",
                          .headers = {{"Host", "a"},
                                      {"Upgrade", "websocket"},
                                      {"Connection", "keep-alive, Upgrade"},
                                      {"Sec-WebSocket-Version", "13"},
                                      {"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}}};
    for (const auto [name, value] : more) q.headers.add(name, value);
    return http::request(std::move(q));
}

/// A frame as bytes, right or wrong.
struct frame_text {
    unsigned first = 0x81;         // FIN, RSV and opcode
    std::string payload = {};
    bool masked = true;
    std::optional<std::uint64_t> length = {};  // a lie
    int length_bytes = -1;         // 0, 2 or 8; -1: as few as are needed

    std::string bytes() const {
        std::string made(1, static_cast<char>(first));
        const auto n = length.value_or(payload.size());
        const int more = length_bytes >= 0 ? length_bytes : n < 126 ? 0 : n <= 0xffff ? 2 : 8;
        made.push_back(static_cast<char>((masked ? 0x80u : 0u) | (more == 0   ? static_cast<unsigned>(n)
                                                                  : more == 2 ? 126u
                                                                              : 127u)));
        for (int i = more; i-- > 0;) made.push_back(static_cast<char>(n >> (8 * i)));
        constexpr std::string_view key = "K\x01\xf0z";
        if (masked) made.append(key);
        for (std::size_t i = 0; i < payload.size(); ++i)
            made.push_back(masked ? static_cast<char>(payload[i] ^ key[i % 4]) : payload[i]);
        return made;
    }
};

/// The two bytes of a code, and a reason.
inline std::string close_text(unsigned code, std::string_view reason = {}) {
    return std::string{static_cast<char>(code >> 8), static_cast<char>(code)}.append(reason);
}

struct got_frame {
    unsigned first = 0;  // 0: the connection has ended
    std::string payload = {};
    bool masked = false;
    friend bool operator==(const got_frame&, const got_frame&) = default;
};
inline std::ostream& operator<<(std::ostream& out, const got_frame& f) {
    return out << std::hex << f.first << std::dec << " '" << ::testing::PrintToString(f.payload) << "'";
}

class raw_peer {
public:
    explicit raw_peer(io::byte_stream s) : stream(std::move(s)) {}

    void send(const frame_text& f) { stream.write_all(f.bytes()); }
    void send(std::string_view bytes) { stream.write_all(bytes); }

    got_frame receive() {
        std::string head = read(2);
        if (head.size() < 2) return {};
        const auto byte = [](char c) { return static_cast<unsigned char>(c); };
        std::uint64_t n = byte(head[1]) & 0x7fu;
        if (n >= 126) {
            const auto more = read(n == 126 ? 2 : 8);
            n = 0;
            for (char c : more) n = n << 8 | byte(c);
        }
        const bool masked = byte(head[1]) & 0x80u;
        const auto key = masked ? read(4) : std::string(4, '\0');
        auto payload = read(n);
        for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<char>(payload[i] ^ key[i % 4]);
        return {byte(head[0]), payload, masked};
    }

    std::string read(std::uint64_t n) {
        std::string text(n, '\0');
        std::error_code error;
        text.resize(io::read_exact(stream, std::as_writable_bytes(std::span(text)), error));
        return text;
    }

    io::byte_stream stream;
};

/// A server's WebSocket in a fiber, and its client.
class served_socket {
public:
    served_socket(ws::conversation talk, ws::accept_options o = {}, http::headers more = {}, std::string received = {})
        : served_socket(unix_socket::pair(), std::move(talk), std::move(o), std::move(more), std::move(received)) {}

    template <class Pair>
    served_socket(Pair ends, ws::conversation talk, ws::accept_options o = {}, http::headers more = {}, std::string received = {})
        : client(std::move(ends.first)) {
        answer = ws::accept(std::move(talk), std::move(o))(handshake(std::move(more)));
        EXPECT_EQ(answer.status, 101);
        upgraded = std::make_unique<http::upgraded>(std::move(ends.second), std::move(received));
        serving = spawn([this] {
            answer.upgrade(*upgraded);
            upgraded->stream().close();
        });
    }

    raw_peer client;
    http::response answer;
    std::unique_ptr<http::upgraded> upgraded;
    fiber<> serving;
};

inline void echo(const http::request&, ws::connection& c) {
    while (const auto m = c.receive()) c.send(*m);
}

}  // namespace weft::test
