// http_test.cpp - an HTTP server whose connections begin with TLS.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include <weft/http/server.hpp>
#include <weft/net/tls.hpp>
#include <weft/scope.hpp>

#include "support/eventually.hpp"
#include "tls/support/asks_for_keys.hpp"
#include "tls/support/both_ends.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

/// A server that serves while `f(address)` runs.
void while_serving(http::server& s, http::server_options o, const std::function<void(const net::endpoint&)>& f,
                   unsigned workers = 2) {
    runtime rt({.workers = workers});
    rt.run([&] {
        s.listen({.host = "127.0.0.1", .port = 0}, std::move(o));
        auto serving = spawn([&] { s.serve(); });
        f(s.local());
        s.stop(1s);
        serving.join();
    });
}

std::string answer_to(io::byte_stream& c, const std::string& target) {
    c.write_all("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    std::string text;
    std::array<std::byte, 4096> buffer;
    for (;;) {
        const auto end = text.find("\r\n\r\n");
        const auto at = text.find("Content-Length: ");
        if (end != std::string::npos && at != std::string::npos) {
            const auto size = std::stoul(text.substr(at + 16));
            if (text.size() >= end + 4 + size) return text.substr(end + 4);
        }
        const auto n = c.read_some(buffer);
        if (n == 0) return text;
        text.append(reinterpret_cast<const char*>(buffer.data()), n);
    }
}

class https : public testing::Test {
protected:
    https() {
        server.get("/hello", [](auto&) { return http::text(200, "hi"); });
        server.get("/large", [](auto&) { return http::text(200, std::string(1 << 20, 'x')); });
    }
    io::byte_stream connect(const net::endpoint& at) { return tls::stream::connect(at, trusting, {.server_name = "localhost"}); }

    const tls::context of_server{server_options()}, trusting{client_options()};
    http::server server;
};

TEST_F(https, answers_requests_of_kept_connections) {
    while_serving(server, {.tls = &of_server}, [&](const net::endpoint& at) {
        auto c = connect(at);
        for (int i = 0; i < 20; ++i) EXPECT_EQ(answer_to(c, "/hello"), "hi");
        EXPECT_EQ(answer_to(c, "/large"), std::string(1 << 20, 'x'));
        EXPECT_EQ(answer_to(c, "/hello"), "hi");
    });
}

TEST_F(https, answers_pipelined_requests) {
    while_serving(server, {.tls = &of_server}, [&](const net::endpoint& at) {
        auto c = connect(at);
        const std::string one = "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n";
        c.write_all(one + one + one);
        std::string text;
        std::array<std::byte, 4096> buffer;
        while (text.size() < 3 * 100 && std::count(text.begin(), text.end(), 'h') < 3) {
            const auto n = c.read_some(buffer);
            ASSERT_GT(n, 0u);
            text.append(reinterpret_cast<const char*>(buffer.data()), n);
        }
        EXPECT_TRUE(text.starts_with("HTTP/1.1 200 OK"));
    });
}

TEST_F(https, an_idle_connection_gives_its_fiber_up_and_goes_on) {
    while_serving(server, {.cold_after = 20ms, .tls = &of_server}, [&](const net::endpoint& at) {
        auto c = connect(at);
        EXPECT_EQ(answer_to(c, "/hello"), "hi");
        for (int i = 0; i < 3; ++i) {
            this_fiber::sleep_for(100ms);
            EXPECT_EQ(answer_to(c, "/hello"), "hi");
        }
    });
}

// With limits of a second and more there is no timer for each wait (io/awake_streams.hpp).
TEST_F(https, after_a_second_or_more_a_sweep_takes_an_idle_connections_fiber) {
    while_serving(server, {.cold_after = 1s, .tls = &of_server}, [&](const net::endpoint& at) {
        auto c = connect(at);
        EXPECT_EQ(answer_to(c, "/hello"), "hi");
        const auto begin = std::chrono::steady_clock::now();
        EXPECT_TRUE(eventually([] { return waiting_for(*runtime::current(), "idle streams") == 1; }));
        EXPECT_GE(std::chrono::steady_clock::now() - begin, 900ms);
        EXPECT_EQ(answer_to(c, "/hello"), "hi");
    });
}

TEST_F(https, a_sweep_ends_idle_connections_that_keep_their_fiber) {
    while_serving(server, {.idle_timeout = 1s, .cold_after = no_limit, .tls = &of_server}, [&](const net::endpoint& at) {
        auto used = connect(at), silent = connect(at);
        const auto begin = std::chrono::steady_clock::now();
        EXPECT_EQ(answer_to(used, "/hello"), "hi");
        std::array<std::byte, 1> buffer;
        EXPECT_EQ(used.read_some(buffer), 0u);
        EXPECT_GE(std::chrono::steady_clock::now() - begin, 1s);
        EXPECT_EQ(silent.read_some(buffer), 0u);
    });
}

// Its fiber waits for room, so no sweep could call it.
TEST_F(https, a_client_that_asks_for_keys_and_reads_nothing_is_idle) {
    while_serving(server, {.idle_timeout = 1s, .cold_after = no_limit, .tls = &of_server}, [&](const net::endpoint& at) {
        auto c = tcp::stream::connect(at);
        std::atomic<bool> ends{false};
        auto flood = spawn([&] { ask_for_keys(c, ends); });
        EXPECT_TRUE(eventually([&] { return flood.done(); })) << "the server keeps the connection";
        ends = true;
        c.abort();
        flood.join();
    });
}

TEST_F(https, idle_connections_end_with_the_server) {
    while_serving(server, {.tls = &of_server}, [&](const net::endpoint& at) {
        auto c = connect(at);
        EXPECT_EQ(answer_to(c, "/hello"), "hi");
        server.stop(10s);
        std::array<std::byte, 1> buffer;
        EXPECT_EQ(c.read_some(buffer), 0u);
    });
}

TEST_F(https, a_bad_handshake_concerns_its_connection_only) {
    std::atomic<int> bad{0};
    std::error_code first;
    const auto on_bad = [&](const net::endpoint& from, std::exception_ptr why) {
        EXPECT_EQ(from.host, "127.0.0.1");
        try {
            std::rethrow_exception(why);
        } catch (const std::system_error& e) {
            if (bad++ == 0) first = e.code();
        }
    };
    while_serving(server, {.header_timeout = 100ms, .tls = &of_server, .on_bad_handshake = on_bad}, [&](const net::endpoint& at) {
        std::array<std::byte, 256> buffer;
        std::error_code error;
        auto plain = tcp::stream::connect(at);
        plain.write_all("GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n");
        while (plain.read_some(buffer, error) > 0) {}
        auto silent = tcp::stream::connect(at);
        EXPECT_EQ(silent.read_some(buffer, error), 0u);
        auto c = connect(at);
        EXPECT_EQ(answer_to(c, "/hello"), "hi");
    });
    EXPECT_EQ(bad, 2);
    EXPECT_EQ(first, tls::errc::not_tls);
}

TEST_F(https, a_handler_sees_the_clients_certificate) {
    auto o = server_options();
    o.ca = test_authority().certificate();
    o.verify = tls::peer_check::required;
    const tls::context strict(o);
    auto of_client = client_options();
    const auto id = test_authority().issue({.common_name = "alice"});
    of_client.certificate_chain = id.certificate;
    of_client.private_key = id.key;
    const tls::context alice(of_client);
    server.get("/who", [](const http::request& q) {
        const auto* const tls = q.connection()->target<tls::stream>();
        EXPECT_EQ(q.connection()->target<tcp::stream>(), nullptr);
        return http::text(200, tls->peer()->subject);
    });
    while_serving(server, {.tls = &strict}, [&](const net::endpoint& at) {
        io::byte_stream c = tls::stream::connect(at, alice, {.server_name = "localhost"});
        EXPECT_EQ(answer_to(c, "/who"), "CN=alice");
    });
}

TEST_F(https, handshakes_of_many_do_not_hold_up_the_others) {
    while_serving(
        server, {.tls = &of_server},
        [&](const net::endpoint& at) {
            auto c = connect(at);
            std::atomic<int> done{0};
            with_scope([&](scope& all) {
                for (int i = 0; i < 100; ++i) {
                    all.spawn([&] {
                        auto mine = connect(at);
                        EXPECT_EQ(answer_to(mine, "/hello"), "hi");
                        ++done;
                    });
                }
                for (int i = 0; i < 20; ++i) EXPECT_EQ(answer_to(c, "/hello"), "hi");
                EXPECT_LT(done, 100) << "20 requests of an open connection came after 100 handshakes";
            });
            EXPECT_EQ(done, 100);
        },
        1);
}

}  // namespace
}  // namespace weft::test
