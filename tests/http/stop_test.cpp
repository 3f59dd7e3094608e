// stop_test.cpp - how a server comes to rest: with grace, without, before it began, and together with its fiber.
#include "http/support/served.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "eventually.hpp"

namespace {

using namespace weft;
using namespace std::chrono_literals;
using test::get;

class http_stop : public test::served {};
WEFT_ON_1_2_4_8_WORKERS(http_stop);

TEST_P(http_stop, closes_idle_connections_at_once) {
    start();
    auto fresh = connect();
    auto used = connect();
    EXPECT_EQ(used.ask(get("/")).status, 200);
    const auto begin = std::chrono::steady_clock::now();
    stop(30s);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
    EXPECT_TRUE(used.ended());
    EXPECT_THROW(connect(), std::runtime_error);
}

TEST_P(http_stop, lets_requests_under_way_finish) {
    start();
    auto c = connect();
    c.send(get("/wait"));
    ASSERT_TRUE(test::eventually([&] { return waiting == 1; }));
    app.stop(30s);
    EXPECT_TRUE(c.silent_for(30));
    open = true;
    const auto r = c.receive();
    EXPECT_EQ(r.body, "waited");
    EXPECT_EQ(r.header("Connection"), "close");
    c.half_close();                                                // or the server lingers for a second
    EXPECT_TRUE(c.ended());
    serving->join();
}

TEST_P(http_stop, lets_a_request_that_is_arriving_finish) {
    start();
    auto c = connect();
    c.ask(get("/"));
    c.send("POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    EXPECT_EQ(c.receive().status, 100);                            // so the server has seen it
    app.stop(30s);
    std::this_thread::sleep_for(20ms);
    const auto r = c.ask("hi");
    EXPECT_EQ(r.body, "hi");
    EXPECT_EQ(r.header("Connection"), "close");
    c.half_close();
    serving->join();
}

TEST_P(http_stop, cancels_what_outlasts_the_grace) {
    start();
    auto c = connect();
    c.send(get("/wait"));
    ASSERT_TRUE(test::eventually([&] { return waiting == 1; }));
    stop(30ms);
    EXPECT_EQ(cancelled_handlers, 1);
    EXPECT_EQ(c.receive().status, 0);
}

TEST_P(http_stop, can_be_hurried) {
    start();
    auto c = connect();
    c.send(get("/wait"));
    ASSERT_TRUE(test::eventually([&] { return waiting == 1; }));
    app.stop(1h);
    std::this_thread::sleep_for(10ms);
    stop(0s);
    EXPECT_EQ(cancelled_handlers, 1);
}

TEST_P(http_stop, may_come_first) {
    rt.run([&] { app.listen({.host = "127.0.0.1", .port = 0}); });
    app.stop();
    rt.run([&] { app.serve(); });
    http::server never;
    never.stop();
    rt.run([&] {
        never.listen({.host = "127.0.0.1", .port = 0});
        never.serve();
    });
}

TEST_P(http_stop, may_come_from_a_handler) {
    start();
    auto c = connect();
    const auto r = c.ask(get("/stop"));
    EXPECT_EQ(r.body, "bye");
    EXPECT_EQ(r.header("Connection"), "close");
    c.half_close();
    serving->join();
}

TEST_P(http_stop, frees_a_server_that_waits_for_a_place) {
    start({.max_connections = 1});
    auto c = connect();
    EXPECT_EQ(c.ask(get("/")).status, 200);
    stop();
    EXPECT_TRUE(c.ended());
}

TEST_P(http_stop, of_the_serving_fiber_cancels_everything) {
    start();
    auto c = connect();
    c.send(get("/wait"));
    ASSERT_TRUE(test::eventually([&] { return waiting == 1; }));
    serving->request_stop();
    EXPECT_THROW(serving->join(), fiber_cancelled);
    EXPECT_EQ(cancelled_handlers, 1);
    EXPECT_EQ(c.receive().status, 0);
}

TEST_P(http_stop, stress_while_clients_come_and_go) {
    for (int round = 0; round < 5; ++round) {
        http::server s;
        s.get("/", [](http::request const&) { return http::text(200, "x"); });
        rt.run([&] { s.listen({.host = "127.0.0.1", .port = 0}); });
        const auto port = s.local().port;
        auto running = rt.spawn([&] { s.serve(); });
        std::vector<std::thread> clients;
        std::atomic<int> odd{0};
        for (int n = 0; n < 4; ++n)
            clients.emplace_back([&, port] {
                try {
                    for (;;) {
                        test::raw_client c(port);
                        for (int i = 0; i < 20; ++i) {
                            const auto r = c.ask(get("/"));
                            if (r.status == 0) return;             // closed by the stop
                            odd += r.body != "x";
                        }
                    }
                } catch (std::runtime_error const&) {}             // refused: stopped
            });
        std::this_thread::sleep_for(std::chrono::milliseconds(10 + 10 * round));
        s.stop(5s);
        running.join();
        for (auto& c : clients) c.join();
        EXPECT_EQ(odd, 0);
    }
}

}  // namespace
