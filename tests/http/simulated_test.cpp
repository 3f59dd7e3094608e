// simulated_test.cpp - the HTTP server on a simulated network: a retry that pays twice is found, and is gone when it is mended.
#include <gtest/gtest.h>

#include <weft/explore.hpp>
#include <weft/http/server.hpp>
#include <weft/io/buffered_reader.hpp>
#include <weft/net/simulated_network.hpp>
#include <weft/weft.hpp>

#include <set>
#include <stdexcept>
#include <string>

namespace weft::test {
namespace {

using namespace std::chrono_literals;

const net::endpoint bank{.host = "bank", .port = 80};

/// The status of the answer to one request, on a connection of its own.
int post(net::simulated_network& net, const std::string& target, const std::string& fields) {
    io::byte_stream stream = net.connect("shop", bank);
    stream.write_all("POST " + target + " HTTP/1.1\r\nHost: bank\r\nConnection: close\r\n" + fields +
                     "Content-Length: 0\r\n\r\n");
    io::buffered_reader from(stream);
    const auto status = from.read_until("\r\n", 100);
    if (!status.ends_with("\r\n")) throw std::system_error(std::make_error_code(std::errc::connection_aborted));
    while (from.read_until("\r\n", 1000).size() > 2) {}
    return std::stoi(status.substr(status.find(' ') + 1));
}

/// A shop that orders until it has an answer, over a network that resets connections.
void pay_for_sure(bool mended) {
    net::simulated_network net({.least_delay = 1ms, .most_delay = 60ms, .split_one_in = 4, .reset_one_in = 20});
    int paid = 0;
    std::set<std::string> executed;
    http::server app;
    app.post("/pay", [&](const http::request& q) {
        const std::string order(q.header("Idempotency-Key"));
        if (order.empty() || executed.insert(order).second) paid += 100;
        return http::text(200, "paid");
    });
    app.listen(net.listen(bank), {.max_connections = 10});
    auto serving = spawn([&] { app.serve(); });
    for (bool done = false; !done;) {
        try {
            done = with_timeout(200ms, [&] { return post(net, "/pay", mended ? "Idempotency-Key: order 1\r\n" : "") == 200; });
        } catch (const timeout_error&) {  // perhaps it was not heard: once more
        } catch (const std::system_error&) {}
    }
    app.stop(1s);
    serving.join();
    if (paid != 100) throw std::logic_error("paid " + std::to_string(paid) + " instead of 100");
}

TEST(simulated_http, finds_a_retry_that_pays_twice) {
    const auto found = find_failure(300, [] { pay_for_sure(false); });
    ASSERT_TRUE(found);
    std::printf("found with seed %llu: %s\n", static_cast<unsigned long long>(found->seed), found->what.c_str());
    EXPECT_NE(found->what.find("instead of 100"), std::string::npos) << found->what;
    EXPECT_TRUE(found->replays);
    const auto again = replay(found->seed, [] { pay_for_sure(false); });
    EXPECT_EQ(again.what, found->what);
    EXPECT_EQ(again.trace, found->trace);
}

TEST(simulated_http, finds_none_where_orders_have_a_key) {
    EXPECT_EQ(explore(300, [] { pay_for_sure(true); }).seeds, 300u);
}

TEST(simulated_http, keeps_connections_and_ends_with_them) {
    explore(50, [] {
        net::simulated_network net({.most_delay = 5ms, .split_one_in = 3});
        http::server app;
        std::vector<std::string> peers;
        app.get("/hello", [&](const http::request& q) {
            peers.push_back(q.peer().host);
            return http::text(200, "hi");
        });
        app.listen(net.listen(bank));
        if (app.local() != bank) throw std::runtime_error("not where it listens");
        auto serving = spawn([&] { app.serve(); });
        auto stream = net.connect("shop", bank);
        io::buffered_reader from(stream);
        for (int i = 0; i < 3; ++i) {
            io::write_all(stream, "GET /hello HTTP/1.1\r\nHost: bank\r\n\r\n");
            while (from.read_until("\r\n", 1000).size() > 2) {}
            std::array<std::byte, 2> body;
            from.read_exact(body);
        }
        if (peers != std::vector<std::string>(3, "shop")) throw std::runtime_error("not the peer");
        const auto before = now();
        app.stop(10s);
        serving.join();
        if (now() - before > 1s) throw std::runtime_error("an idle connection kept the server");
        if (!from.read_until("\r\n", 100).empty()) throw std::runtime_error("not the end");
    });
}

}  // namespace
}  // namespace weft::test
