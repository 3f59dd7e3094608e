// http_client_body_test.cpp - long bodies of an HTTP client, over TLS over streams that are no sockets.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include <weft/http/client.hpp>
#include <weft/net/simulated_network.hpp>
#include <weft/net/tls.hpp>

#include "tls/support/both_ends.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

constexpr std::size_t much = 1'000'000;  // more than a simulated connection holds

/// Runs ask() with a client of a server that does serve() on each connection.
void over_tls(const std::function<void(tls::stream&)>& serve, const std::function<void(http::client&)>& ask) {
    runtime rt({.workers = 2});
    rt.run([&] {
        const tls::context own(server_options()), trusted(client_options());
        net::simulated_network network;
        auto listener = network.listen({.host = "localhost", .port = 443});
        auto serving = spawn([&] {
            for (;;) {
                auto s = tls::stream::accept(io::byte_stream(listener.accept()), own);
                serve(s);
            }
        });
        http::client client({.silence_timeout = 30s, .tls = &trusted, .connect = [&](const net::endpoint& to) -> io::byte_stream {
                                 return network.connect("c", to);
                             }});
        ask(client);
        serving.request_stop();
    });
}

void take_head(tls::stream& from) {
    std::string head;
    for (char c; !head.ends_with("\r\n\r\n"); head += c) from.read_some(std::as_writable_bytes(std::span(&c, 1)));
}

TEST(tls_http_client_body, a_refusal_is_read_while_the_body_waits) {
    over_tls(
        [](tls::stream& s) {
            this_fiber::sleep_for(50ms);  // the client's reader and sender both wait then
            s.write_all("HTTP/1.1 102 Processing\r\n\r\n");
            this_fiber::sleep_for(50ms);
            s.write_all("HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nno!");
            this_fiber::sleep_for(1h);
        },
        [](http::client& client) {
            const auto a = client.post("https://localhost/", std::string(much, 'x'));
            EXPECT_EQ(a.status, 413);
            EXPECT_EQ(a.body, "no!");
        });
}

TEST(tls_http_client_body, an_echo_is_read_while_the_body_is_sent) {
    over_tls(
        [](tls::stream& s) {
            take_head(s);
            s.write_all("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(much) + "\r\n\r\n");
            std::vector<std::byte> some(3000);
            for (std::size_t n = 0, got = 0; got < much; got += n) {
                n = s.read_some(some);
                s.write_all(std::span<const std::byte>(some).first(n));
            }
            this_fiber::sleep_for(1h);
        },
        [](http::client& client) {
            std::string body(much, ' ');
            for (std::size_t i = 0; i < much; ++i) body[i] = static_cast<char>('a' + i % 23);
            EXPECT_TRUE(client.post("https://localhost/", body).body == body);
            EXPECT_EQ(client.connections().idle, 1u);
        });
}

/// What TLS has accepted, and the stream below has no room for, leaves as well.
TEST(tls_http_client_body, what_was_flushed_has_left) {
    // The last piece is sent as a whole record and the beginning of another; between them the stream below,
    // which holds 65,536 bytes, is full.
    for (std::size_t before = 46'000; before <= 50'000; before += 200) {
        const std::size_t last = 18'000, size = before + last;
        std::atomic<std::size_t> got = 0;
        over_tls(
            [&](tls::stream& s) {
                this_fiber::sleep_for(5ms);  // the stream is full then
                take_head(s);
                std::vector<std::byte> some(20000);
                for (;;) got += s.read_some(some);
            },
            [&](http::client& client) {
                auto t = client.open({.method = "POST", .url = "https://localhost/", .body = http::body_size(much)});
                for (const auto piece : {before, last}) {
                    t.write(std::string(piece, 'x'));
                    t.flush();
                }
                const auto until = weft::now() + 10s;
                while (got < size && weft::now() < until) this_fiber::sleep_for(1ms);
                EXPECT_EQ(got, size);
            });
    }
}

}  // namespace
}  // namespace weft::test
