// handshake_test.cpp - which requests a server accepts, and which answers a client.
#include <weft/ws.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <weft/deadline.hpp>
#include <weft/net/simulated_network.hpp>
#include <weft/stop.hpp>

#include "no_leaks.hpp"
#include "ws/sha1.hpp"
#include "ws/support/raw_peer.hpp"
#include "ws/url.hpp"

namespace {

using namespace weft;
using namespace std::chrono_literals;

http::request changed(std::string_view name, std::string_view value) {
    auto q = test::handshake();
    q.parts().headers.set(name, value);
    return q;
}

http::response ask(const http::request& q, ws::accept_options o = {}) { return ws::accept(test::echo, std::move(o))(q); }

TEST(ws_handshake, a_request_that_is_not_right_is_refused) {
    EXPECT_EQ(ask(test::handshake()).status, 101);
    for (const auto& q : {changed("Upgrade", "h2c"), changed("Connection", "keep-alive"), changed("Sec-WebSocket-Version", "8"),
                          changed("Sec-WebSocket-Version", "13, 8"), http::request()}) {
        const auto r = ask(q);
        EXPECT_EQ(r.status, 426);
        EXPECT_EQ(r.headers.find("Sec-WebSocket-Version"), "13");
        EXPECT_EQ(r.headers.find("Upgrade"), "websocket");
        EXPECT_FALSE(r.upgrade);
    }
    for (const char* key : {"", "abc", "dGhlIHNhbXBsZSBub25jZQ=", "dGhlIHNhbXBsZSBub25jZSE="})
        EXPECT_EQ(ask(changed("Sec-WebSocket-Key", key)).status, 400) << key;
    EXPECT_EQ(ask(test::handshake({{"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}})).status, 400);
    auto post = test::handshake();
    post.parts().method = "POST";
    EXPECT_EQ(ask(post).status, 405);
    EXPECT_EQ(ask(post).headers.find("Allow"), "GET");
    EXPECT_EQ(ask(changed("Upgrade", "h2c, WebSocket")).status, 101);
}

TEST(ws_handshake, origins_may_be_limited) {
    const ws::accept_options o{.origins = {"https://a.example", "http://localhost:3000"}};
    EXPECT_EQ(ask(test::handshake(), o).status, 101);
    EXPECT_EQ(ask(test::handshake({{"Origin", "https://a.example"}}), o).status, 101);
    for (const char* other : {"https://a.example.evil", "http://a.example", "null", "https://a.example/"})
        EXPECT_EQ(ask(test::handshake({{"Origin", other}}), o).status, 403) << other;
    EXPECT_EQ(ask(test::handshake({{"Origin", "https://other"}})).status, 101);
}

TEST(ws_handshake, the_server_prefers_among_subprotocols) {
    const ws::accept_options o{.protocols = {"v2", "v1"}};
    const auto chosen = [&](const char* offered) {
        const auto r = ask(test::handshake({{"Sec-WebSocket-Protocol", offered}}), o);
        return std::string(r.headers.find("Sec-WebSocket-Protocol").value_or("none"));
    };
    EXPECT_EQ(chosen("v1, v2"), "v2");
    EXPECT_EQ(chosen("v0,v1"), "v1");
    EXPECT_EQ(chosen("V1"), "none");
    EXPECT_EQ(chosen("v3"), "none");
}

TEST(ws_handshake, compression_is_agreed_on) {
    const auto answer = [](const char* offered, ws::compression c = {}, bool deflate = true) {
        const auto r = ask(test::handshake({{"Sec-WebSocket-Extensions", offered}}), {.deflate = deflate, .compression = c});
        return std::string(r.headers.find("Sec-WebSocket-Extensions").value_or("none"));
    };
    const std::string no_takeover = "permessage-deflate; server_no_context_takeover; client_no_context_takeover";
    EXPECT_EQ(answer("permessage-deflate"), no_takeover);
    EXPECT_EQ(answer("permessage-deflate", {}, false), "none");
    EXPECT_EQ(answer("x-webkit-deflate-frame, permessage-deflate; client_max_window_bits"), no_takeover);
    EXPECT_EQ(answer("permessage-deflate", {.takeover = true}), "permessage-deflate");
    EXPECT_EQ(answer("permessage-deflate; server_no_context_takeover", {.takeover = true}),
              "permessage-deflate; server_no_context_takeover");
    EXPECT_EQ(answer("permessage-deflate; server_max_window_bits=10"), no_takeover + "; server_max_window_bits=10");
    EXPECT_EQ(answer("permessage-deflate; server_max_window_bits=\"12\"", {.window = 11}),
              no_takeover + "; server_max_window_bits=11");
    EXPECT_EQ(answer("permessage-deflate; server_max_window_bits=8, permessage-deflate"), no_takeover);  // zlib cannot
    for (const char* wrong :
         {"permessage-deflate; server_max_window_bits", "permessage-deflate; server_max_window_bits=16",
          "permessage-deflate; server_max_window_bits=7", "permessage-deflate; server_max_window_bits=010",
          "permessage-deflate; client_max_window_bits=x", "permessage-deflate; server_no_context_takeover=1",
          "permessage-deflate; unknown", "permessage-deflate; client_max_window_bits; client_max_window_bits"})
        EXPECT_EQ(answer(wrong), "none") << wrong;
}

TEST(ws_handshake, options_are_checked) {
    const auto refused = [](ws::accept_options o) {
        EXPECT_THROW(static_cast<void>(ws::accept(test::echo, std::move(o))), std::invalid_argument);
    };
    refused({.ping = 0s});
    refused({.compression = {.window = 8}});
    refused({.compression = {.window = 16}});
    refused({.compression = {.level = 0}});
    EXPECT_THROW(static_cast<void>(ws::accept(ws::conversation())), std::invalid_argument);
}

TEST(ws_handshake, urls) {
    using detail::ws::parse_url;
    const auto u = parse_url("wss://Host.example:8443/a/b?c=d");
    EXPECT_TRUE(u.tls);
    EXPECT_EQ(u.host, "host.example");
    EXPECT_EQ(u.port, 8443);
    EXPECT_EQ(u.authority(), "host.example:8443");
    EXPECT_EQ(u.target, "/a/b?c=d");
    EXPECT_EQ(parse_url("ws://a").port, 80);
    EXPECT_EQ(parse_url("WSS://a").port, 443);
    EXPECT_EQ(parse_url("ws://a?x").target, "/?x");
    EXPECT_EQ(parse_url("ws://[::1]:9/").host, "::1");
    EXPECT_EQ(parse_url("ws://a/ \xc3\xa4").target, "/%20%C3%A4");
    for (const char* wrong : {"", "http://a", "ws", "ws:a", "ws://", "ws:///x", "ws://a:0", "ws://a:65536", "ws://a:1x",
                              "ws://u@a", "ws://a/#f", "ws://a b/", "ws://[::1", "ws://[::1]x/", "ws://\xc3\xa4/", "ws://a\r\n/"})
        EXPECT_THROW(parse_url(wrong), std::invalid_argument) << wrong;
}

class ws_client_handshake : public test::no_leaks {
protected:
    /// What connect() says to an answer, in which KEY stands for the right one.
    std::error_code error_of(std::string answer, ws::connect_options o = {}) {
        test::watched_runtime rt(1);
        std::error_code seen;
        rt.run([&] {
            auto [near, far] = unix_socket::pair();
            fiber<> server;
            o.connect = [&, &mine = near](const net::endpoint& to) {
                EXPECT_EQ(to.host, "server");
                return io::byte_stream(std::move(mine));
            };
            server = spawn([&, &theirs = far] {
                std::string asked;
                std::array<std::byte, 512> piece;
                while (asked.find("\r\n\r\n") == asked.npos)
                    asked.append(reinterpret_cast<const char*>(piece.data()), theirs.read_some(piece));
                request = asked;
                const auto at = asked.find("Key: ") + 5;
                if (const auto k = answer.find("KEY"); k != answer.npos)
                    answer.replace(k, 3, detail::ws::accept_of_key(asked.substr(at, 24)));
                theirs.write_all(answer);
                theirs.shutdown_send();
            });
            try {
                auto c = ws::connect("ws://server/x?y", o);
                if (const auto m = c.receive()) got = m->data;
            } catch (const std::system_error& e) {
                seen = e.code();
            }
            server.join();
        });
        return seen;
    }

    std::string request, got;
    const std::string right =
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nconnection: Upgrade\r\nSec-WebSocket-Accept: KEY\r\n";
};

TEST_F(ws_client_handshake, a_right_answer_and_what_comes_with_it) {
    EXPECT_EQ(error_of(right + "Sec-WebSocket-Protocol: b\r\n\r\n\x81\x02hi",
                       {.headers = {{"Authorization", "x"}}, .protocols = {"a", "b"}}),
              std::error_code());
    EXPECT_EQ(got, "hi");
    EXPECT_EQ(request.substr(0, 39), "GET /x?y HTTP/1.1\r\nHost: server\r\nUpgrad");
    EXPECT_NE(request.find("Sec-WebSocket-Protocol: a, b\r\n"), request.npos);
    EXPECT_NE(request.find("Authorization: x\r\n"), request.npos);
    EXPECT_EQ(request.find("Extensions"), request.npos);
}

TEST_F(ws_client_handshake, a_wrong_answer_is_named) {
    using ws::errc;
    EXPECT_EQ(error_of("HTTP/1.1 404 Not Found\r\n\r\n"), errc::refused);
    EXPECT_EQ(error_of("HTTP/1.1 200 OK\r\n\r\n"), errc::refused);
    EXPECT_EQ(error_of("SSH-2.0-OpenSSH\r\n\r\n"), errc::not_http);
    EXPECT_EQ(error_of("HTTP/1.0 101 Switching Protocols\r\n\r\n"), errc::not_http);
    EXPECT_EQ(error_of("HTTP/1.1 101"), errc::not_http);
    EXPECT_EQ(error_of("HTTP/1.1 101 A\r\nno field\r\n\r\n"), errc::not_http);
    EXPECT_EQ(error_of("HTTP/1.1 101 A\r\nX: " + std::string(20000, 'a') + "\r\n\r\n"), errc::not_http);
    EXPECT_EQ(error_of("HTTP/1.1 101 A\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: KEY\r\n\r\n"), errc::not_upgraded);
    EXPECT_EQ(error_of("HTTP/1.1 101 A\r\nUpgrade: h2c\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: KEY\r\n\r\n"),
              errc::not_upgraded);
    EXPECT_EQ(error_of("HTTP/1.1 101 A\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"), errc::wrong_key);
    EXPECT_EQ(error_of("HTTP/1.1 101 A\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
                       "dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"),
              errc::wrong_key);
    EXPECT_EQ(error_of(right + "Sec-WebSocket-Protocol: c\r\n\r\n", {.protocols = {"a"}}), errc::unasked_subprotocol);
    EXPECT_EQ(error_of(right + "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n"), errc::unasked_extension);
    EXPECT_EQ(error_of(right + "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n", {.deflate = true}),
              errc::unasked_extension);
    EXPECT_EQ(error_of(right + "Sec-WebSocket-Extensions: foo\r\n\r\n", {.deflate = true}), errc::unasked_extension);
    EXPECT_EQ(error_of(right + "\r\n"), errc::abnormal);  // right, and then it ends
    EXPECT_EQ(error_of(right + "\r\n\x81\x82masked"), errc::protocol_error);
}

TEST_F(ws_client_handshake, options_are_checked_before_anything_is_opened) {
    test::watched_runtime rt(1);
    rt.run([] {
        const auto refused = [](const char* url, ws::connect_options o) {
            o.connect = [](const net::endpoint&) -> io::byte_stream {
                ADD_FAILURE() << "connects";
                return {};
            };
            EXPECT_THROW(ws::connect(url, std::move(o)), std::invalid_argument);
        };
        refused("wss://a", {});
        refused("ws://a", {.headers = {{"Sec-WebSocket-Key", "a"}}});
        refused("ws://a", {.headers = {{"Host", "a"}}});
        refused("ws://a", {.protocols = {"a b"}});
        refused("ws://a", {.ping = 0s});
    });
}

TEST_F(ws_client_handshake, a_silent_server_ends_by_the_limit_and_by_a_stop) {
    test::watched_runtime rt(1);
    rt.run([] {
        auto [near, far] = unix_socket::pair();
        ws::connect_options o{.connect_timeout = 10ms};
        o.connect = [&, &mine = near](const net::endpoint&) { return io::byte_stream(std::move(mine)); };
        EXPECT_THROW(ws::connect("ws://a", o), timeout_error);
        auto [near_too, far_too] = unix_socket::pair();
        o.connect_timeout = no_limit;
        o.connect = [&, &mine = near_too](const net::endpoint&) { return io::byte_stream(std::move(mine)); };
        auto f = spawn([&] { ws::connect("ws://a", o); });
        this_fiber::sleep_for(2ms);
        f.request_stop();
        EXPECT_THROW(f.join(), fiber_cancelled);
    });
}

}  // namespace
