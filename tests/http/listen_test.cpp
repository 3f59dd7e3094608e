// listen_test.cpp - what a server may be told: limits of time, and ports that are open already, with others on them.
#include <weft/http/server.hpp>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "eventually.hpp"
#include "http/support/served.hpp"

namespace {

using namespace weft;
using namespace std::chrono_literals;
using test::get;

class http_listen : public test::served {};
INSTANTIATE_TEST_SUITE_P(workers, http_listen, ::testing::Values(1u, 2u),
                         [](const auto& each) { return std::to_string(each.param); });

TEST_P(http_listen, refuses_a_time_limit_that_would_refuse_every_request) {
    using options = http::server_options;
    for (const auto& [name, limit] : {std::pair("header_timeout", &options::header_timeout),
                                      {"idle_timeout", &options::idle_timeout},
                                      {"body_timeout", &options::body_timeout},
                                      {"write_timeout", &options::write_timeout},
                                      {"request_timeout", &options::request_timeout}})
        for (const auto wrong : {0ns, -1ns, std::chrono::nanoseconds::min()}) {
            options o;
            o.*limit = wrong;
            try {
                rt.run([&] { app.listen({.host = "127.0.0.1", .port = 0}, o); });
                ADD_FAILURE() << name;
            } catch (const std::invalid_argument& e) {
                EXPECT_NE(std::string(e.what()).find(std::string(name) + " is "), std::string::npos) << e.what();
                EXPECT_NE(std::string(e.what()).find("weft::no_limit means none"), std::string::npos) << e.what();
            }
        }
    const std::chrono::nanoseconds none = no_limit;
    start({.header_timeout = none, .idle_timeout = none, .body_timeout = none, .write_timeout = none, .request_timeout = none});
    EXPECT_EQ(connect().ask("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi").body, "hi");
}

TEST_P(http_listen, without_room_for_bodies_only_empty_ones_come_in) {
    start({.max_body_bytes = 0});
    EXPECT_EQ(connect().ask("POST /size HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n").body, "0");
    EXPECT_EQ(connect().ask("POST /size HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n").body, "0");
    EXPECT_EQ(connect().ask("POST /size HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx").status, 413);
    EXPECT_EQ(connect().ask("POST /size HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n").status,
              413);
}

TEST_P(http_listen, two_servers_share_a_port_and_one_may_go) {
    const tcp::listener_options shared{.reuse_port = true};
    http::server old;
    old.get("/", [](const http::request&) { return http::text(200, "old"); });
    old.get("/slow", [this](const http::request&) {
        ++waiting;
        while (!open) this_fiber::sleep_for(1ms);
        return http::text(200, "old");
    });
    rt.run([&] { old.listen(tcp::listener({.host = "127.0.0.1", .port = 0}, shared)); });
    auto old_serving = rt.spawn([&] { old.serve(); });
    test::raw_client slow(old.local().port);
    slow.send(get("/slow"));
    ASSERT_TRUE(test::eventually([&] { return waiting == 1; }));
    rt.run([&] { app.listen(tcp::listener(old.local(), shared)); });
    serving = rt.spawn([this] { app.serve(); });
    old.stop(1h);
    // its fiber leaves accept(), and the port goes with it
    ASSERT_TRUE(test::eventually([&] { return test::waiting_for(rt, "condition variable") == 1; }));
    for (int i = 0; i < 20; ++i) EXPECT_EQ(connect().ask(get("/")).body, "root");      // all go to the new one
    open = true;
    EXPECT_EQ(slow.receive().body, "old");                         // what was under way is answered
    slow.half_close();
    old_serving.join();
}

TEST_P(http_listen, a_port_that_is_handed_over_loses_no_connection) {
    http::server old;
    rt.run([&] {
        tcp::listener port({.host = "127.0.0.1", .port = 0});
        app.listen(tcp::listener::from_descriptor(::dup(port.native_handle())));     // as a new process gets it
        old.listen(std::move(port));
    });
    EXPECT_EQ(old.local(), app.local());
    auto early = connect();
    early.send(get("/"));                                          // in the queue, accepted by nobody yet
    old.stop();
    rt.run([&] { old.serve(); });
    serving = rt.spawn([this] { app.serve(); });
    EXPECT_EQ(early.receive().body, "root");
    EXPECT_EQ(connect().ask(get("/")).body, "root");
}

TEST_P(http_listen, refuses_a_listener_that_is_closed) {
    rt.run([&] {
        tcp::listener port({.host = "127.0.0.1", .port = 0});
        port.close();
        EXPECT_THROW(app.listen(std::move(port)), std::invalid_argument);
    });
}

}  // namespace
