// unix_listen_test.cpp - a server at a Unix socket, whose endpoint is a text as any other.
#include <weft/http/server.hpp>

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <span>
#include <string>

#include <weft/fiber.hpp>
#include <weft/net/unix.hpp>
#include <weft/runtime.hpp>

#include "http/support/folder.hpp"

namespace {

using namespace weft;
using namespace std::chrono_literals;

std::string ask(unix_socket::stream& s) {
    s.write_all("GET /peer HTTP/1.1\r\nHost: a\r\n\r\n");
    const auto head = s.read_until("\r\n\r\n", 1000);
    const auto at = head.find("Content-Length: ");
    std::string body(std::stoul(head.substr(at + 16)), '\0');
    s.read_exact(std::as_writable_bytes(std::span(body)));
    return body;
}

TEST(http_unix, a_server_listens_at_a_path_and_keeps_idle_connections_cold) {
    weft::run([] {
        const test::folder here;
        const auto at = net::endpoint::parse("unix:" + here.path("socket"));
        http::server app;
        app.get("/peer", [](const http::request& q) { return http::text(200, "from '" + q.peer().host + "'"); });
        app.listen(at, {.cold_after = 5ms});
        EXPECT_EQ(app.local(), at);
        auto serving = spawn([&] { app.serve(); });
        auto client = unix_socket::stream::connect(unix_socket::address::of(at));
        for (int i = 0; i < 3; ++i) {
            EXPECT_EQ(ask(client), "from ''") << "a client has no address";
            this_fiber::sleep_for(30ms);  // it goes cold, and wakes at the next request
        }
        app.stop(0ns);
        serving.join();
        std::array<std::byte, 1> one;
        EXPECT_EQ(client.read_some(one), 0u);
        EXPECT_FALSE(std::filesystem::exists(unix_socket::address::of(at).path));
    });
}

TEST(http_unix, a_path_where_somebody_listens_is_refused) {
    weft::run([] {
        const test::folder here;
        const unix_socket::address at{.path = here.path("socket")};
        const unix_socket::listener there(at);
        http::server app;
        EXPECT_THROW(app.listen(at.endpoint()), std::system_error);
        EXPECT_TRUE(std::filesystem::exists(at.path));
    });
}

}  // namespace
