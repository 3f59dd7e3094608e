// idle_test.cpp - connections that have given their fiber up: they are served as before, closed in time, and hung up by a stop.
#include "http/support/served.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include <weft/dump.hpp>

#include "eventually.hpp"
#include "random.hpp"
#include "scale.hpp"

namespace {

using namespace weft;
using namespace std::chrono_literals;
using test::eventually;
using test::get;

class http_idle : public test::served {
protected:
    /// serve(), and the one that minds the idle connections
    static constexpr std::size_t resting = 2;

    bool only_minded() {
        return eventually([&] { return rt.stats().fibers == resting && test::waiting_for(rt, "idle streams") == 1; });
    }
};
WEFT_ON_1_2_4_8_WORKERS(http_idle);

TEST_P(http_idle, SERVER_LIFE_6_connections_need_no_fiber_and_are_served_again) {
    start({.cold_after = 5ms});
    std::vector<test::raw_client> clients;
    for (int i = 0; i < 10; ++i) clients.push_back(connect());
    for (int round = 0; round < 3; ++round) {
        for (auto& c : clients) EXPECT_EQ(c.ask(get("/users/" + std::to_string(round))).body, std::to_string(round));
        EXPECT_TRUE(only_minded());
    }
    stop();
    for (auto& c : clients) EXPECT_TRUE(c.ended());
}

TEST_P(http_idle, a_dump_counts_them_and_names_the_server) {
    start({.cold_after = 5ms});
    std::vector<test::raw_client> clients;
    for (int i = 0; i < 3; ++i) clients.push_back(connect());
    EXPECT_TRUE(only_minded());
    const auto all = take_snapshot(stacks::left_out);
    ASSERT_EQ(all.runtimes.size(), 1u);
    ASSERT_EQ(all.runtimes.front().asleep.size(), 2u);
    const auto& seen = all.runtimes.front().asleep.front();
    EXPECT_EQ(seen.owner, "http::server");
    EXPECT_EQ(seen.address, to_string(app.local()));
    EXPECT_TRUE(eventually([] { return take_snapshot(stacks::left_out).runtimes.front().asleep.front().count == 3; }));
    stop();
    EXPECT_TRUE(take_snapshot(stacks::left_out).runtimes.front().asleep.empty());
}

TEST_P(http_idle, a_dump_while_connections_come_back_and_servers_end_stress) {
    std::atomic<bool> over = false;
    std::thread looks([&] {
        while (!over)
            for (const auto& r : take_snapshot(stacks::left_out).runtimes)
                for (const auto& s : r.asleep) EXPECT_TRUE(s.owner.starts_with("http::server"));
    });
    for (int round = 0; round < test::scaled(20); ++round) {
        http::server s;
        s.get("/", [](const http::request&) { return http::text(200, "root"); });
        rt.run([&] { s.listen({.host = "127.0.0.1", .port = 0}, {.cold_after = 1ms}); });
        auto serves = rt.spawn([&] { s.serve(); });
        std::vector<test::raw_client> clients;
        for (int i = 0; i < 3; ++i) clients.emplace_back(s.local().port);
        for (int i = 0; i < 5; ++i)
            for (auto& c : clients) EXPECT_EQ(c.ask(get("/")).body, "root");
        s.stop(0s);
        serves.join();
    }
    over = true;
    looks.join();
}

TEST_P(http_idle, AWAKE_STREAMS_1_they_are_hung_up_while_they_give_their_fiber_up_stress) {
    const test::seed seed;
    auto rng = seed.of(0);
    for (int round = 0; round < test::scaled(30); ++round) {
        http::server s;
        s.get("/", [](const http::request&) { return http::text(200, "root"); });
        rt.run([&] { s.listen({.host = "127.0.0.1", .port = 0}, {.cold_after = 1ms}); });
        auto serves = rt.spawn([&] { s.serve(); });
        std::vector<test::raw_client> clients;
        for (int i = 0; i < 8; ++i) clients.emplace_back(s.local().port);
        for (auto& c : clients) EXPECT_EQ(c.ask(get("/")).body, "root");
        std::this_thread::sleep_for(test::up_to(rng, 1500us));
        s.stop(1min);
        for (auto& c : clients) EXPECT_TRUE(c.ended());
        serves.join();
    }
}

TEST_P(http_idle, a_connection_that_has_not_spoken_yet_needs_none_either) {
    start({.cold_after = 5ms});
    auto c = connect();
    EXPECT_TRUE(only_minded());
    EXPECT_EQ(c.ask(get("/")).body, "root");
}

TEST_P(http_idle, a_request_that_comes_in_pieces_is_put_together) {
    start({.cold_after = 5ms});
    auto c = connect();
    EXPECT_TRUE(only_minded());
    c.send("GET /users/a");
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(c.ask("b HTTP/1.1\r\nHost: a\r\n\r\n").body, "ab");
}

TEST_P(http_idle, idle_timeout_ends_it) {
    start({.idle_timeout = 60ms, .cold_after = 5ms});
    auto used = connect(), silent = connect();
    EXPECT_EQ(used.ask(get("/")).status, 200);
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_TRUE(used.ended());
    EXPECT_TRUE(silent.ended());
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 30ms);
    EXPECT_TRUE(eventually([&] { return rt.stats().fibers == 1; })) << "only serve() is left";
}

TEST_P(http_idle, an_empty_line_now_and_then_does_not_put_the_timeout_off) {
    start({.idle_timeout = 1s, .cold_after = 5ms});
    auto c = connect();
    EXPECT_EQ(c.ask(get("/")).status, 200);
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_TRUE(only_minded());
    for (int i = 0; i < 1000 && c.send("\r\n") && std::chrono::steady_clock::now() - begin < 5s; ++i) {
        if (!c.silent_for(20)) break;
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 4s) << "an empty line each 20 ms would begin the limit of 1 s anew";
}

TEST_P(http_idle, after_a_second_or_more_a_sweep_takes_their_fiber) {
    start({.cold_after = 1s});
    auto c = connect();
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(c.ask(get("/")).status, 200);
    EXPECT_TRUE(eventually([&] { return test::waiting_for(rt, "idle streams") == 1; }));
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 1s);
    EXPECT_EQ(rt.stats().fibers, resting + 1) << "and the fiber that sweeps";
    EXPECT_EQ(c.ask(get("/users/1")).body, "1");
}

TEST_P(http_idle, a_sweep_ends_those_that_keep_their_fiber) {
    start({.idle_timeout = 1s, .cold_after = no_limit});
    auto used = connect(), silent = connect();
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(used.ask(get("/")).status, 200);
    EXPECT_TRUE(used.ended());
    EXPECT_TRUE(silent.ended());
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 1s);
}

TEST_P(http_idle, an_empty_line_does_not_put_the_timeout_off_where_there_are_sweeps) {
    start({.idle_timeout = 2s, .cold_after = no_limit});
    auto c = connect();
    EXPECT_EQ(c.ask(get("/")).status, 200);
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_TRUE(c.silent_for(1500));
    EXPECT_TRUE(c.send("\r\n"));
    EXPECT_TRUE(c.ended());
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 2s);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 3400ms) << "the line has begun the limit of 2 s anew";
}

TEST_P(http_idle, a_connection_that_has_sent_an_empty_line_keeps_its_fiber_and_its_limit) {
    start({});
    auto c = connect(), fresh = connect();
    EXPECT_EQ(c.ask(get("/")).status, 200);
    EXPECT_TRUE(c.send("\r\n"));
    EXPECT_TRUE(fresh.send("\r\n"));
    EXPECT_TRUE(c.silent_for(2600)) << "sweeps are for those that have no deadline";
    EXPECT_EQ(c.ask(get("/")).status, 200);
    EXPECT_EQ(fresh.ask(get("/")).status, 200);
}

TEST_P(http_idle, after_an_early_empty_line_the_limit_counts_from_the_answer) {
    start({.idle_timeout = 1s, .cold_after = no_limit});
    auto c = connect();
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(c.ask(get("/")).status, 200);
    EXPECT_TRUE(c.send("\r\n"));
    EXPECT_TRUE(c.ended());
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 1s);
}

TEST_P(http_idle, however_soon_they_are_served) {
    start({.cold_after = 1ns});
    auto c = connect();
    for (int i = 0; i < 50; ++i) EXPECT_EQ(c.ask(get("/")).status, 200);
}

TEST_P(http_idle, that_are_left_when_serve_is_stopped_are_closed_and_the_next_serve_begins_anew) {
    start({.cold_after = 5ms});
    auto c = connect();
    EXPECT_TRUE(only_minded());
    serving->request_stop();
    EXPECT_THROW(serving->join(), fiber_cancelled);
    EXPECT_TRUE(c.ended());
    serving = rt.spawn([this] { app.serve(); });
    auto next = connect();
    EXPECT_EQ(next.ask(get("/")).status, 200);
    EXPECT_TRUE(only_minded());
    std::this_thread::sleep_for(30ms);
    EXPECT_TRUE(only_minded()) << "it rests";
}

TEST(http_idle_where_fibers_are_limited, each_connection_keeps_its_fiber) {
    test::watched_runtime rt(runtime_options{.workers = 1, .max_fibers = 2});
    http::server app;
    app.get("/", [](const http::request&) { return http::text(200, "root"); });
    rt.run([&] { app.listen({.host = "127.0.0.1", .port = 0}, {.cold_after = 1ms}); });
    auto serving = rt.spawn([&] { app.serve(); });
    {
        test::raw_client c(app.local().port);
        for (int i = 0; i < 3; ++i) {
            EXPECT_EQ(c.ask(get("/")).status, 200);
            std::this_thread::sleep_for(5ms);
        }
        EXPECT_EQ(test::waiting_for(rt, "read"), 1);
    }
    app.stop(5s);
    serving.join();
}

TEST_P(http_idle, a_stop_hangs_up_at_once) {
    start({.cold_after = 5ms});
    std::vector<test::raw_client> clients;
    for (int i = 0; i < 100; ++i) {
        clients.push_back(connect());
        EXPECT_EQ(clients.back().ask(get("/")).status, 200) << "a connection that waits to be accepted would be reset";
    }
    EXPECT_TRUE(only_minded());
    const auto begin = std::chrono::steady_clock::now();
    stop(30s);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
    for (auto& c : clients) EXPECT_TRUE(c.ended());
}

TEST_P(http_idle, SERVICE_1_stress_what_had_arrived_before_a_stop_is_answered) {
    const test::seed seed;
    auto random = seed.of(0);
    for (int round = 0; round < test::scaled(20); ++round) {
        http::server s;
        s.get("/", [](const http::request&) { return http::text(200, "root"); });
        rt.run([&] { s.listen({.host = "127.0.0.1", .port = 0}, {.cold_after = 1ms}); });
        auto serves = rt.spawn([&] { s.serve(); });
        std::vector<test::raw_client> clients;
        for (int i = 0; i < 8; ++i) clients.emplace_back(s.local().port);
        for (auto& c : clients) EXPECT_EQ(c.ask(get("/")).status, 200);
        std::this_thread::sleep_for(test::up_to(random, 3ms));
        clients[0].send(get("/"));
        std::this_thread::sleep_for(test::up_to(random, 1ms));
        s.stop(10s);
        EXPECT_EQ(clients[0].receive().status, 200);
        for (auto& c : clients) c.half_close();
        serves.join();
    }
}

TEST_P(http_idle, SERVICE_1_what_arrives_before_the_connection_is_idle_is_answered) {
    http::server s;
    s.get("/", [](const http::request&) { return http::text(200, "root"); });
    std::optional<test::raw_client> client;
    int answers = 0;
    const auto ask_again_and_stop = [&](const http::access&) {
        if (++answers > 1) return;
        client->send(get("/"));
        s.stop(10s);
        this_fiber::sleep_for(20ms);  // serve() ends the idle connections meanwhile
    };
    rt.run([&] { s.listen({.host = "127.0.0.1", .port = 0}, {.on_access = ask_again_and_stop}); });
    client.emplace(s.local().port);
    auto serves = rt.spawn([&] { s.serve(); });
    EXPECT_EQ(client->ask(get("/")).status, 200);
    EXPECT_EQ(client->receive().status, 200);
    client->half_close();
    serves.join();
    EXPECT_EQ(answers, 2);
}

TEST_P(http_idle, stress_no_answer_is_lost_or_mixed_up) {
    start({.cold_after = 1ms});
    const test::seed seed;
    std::vector<std::thread> clients;
    for (std::uint64_t t = 0; t < 4; ++t)
        clients.emplace_back([&, t] {
            auto random = seed.of(t);
            std::vector<test::raw_client> mine;
            for (int i = 0; i < 5; ++i) mine.push_back(connect());
            for (int i = 0; i < test::scaled(300); ++i) {
                auto& c = mine[test::below(random, 5)];
                const auto id = std::to_string(t) + "_" + std::to_string(i);
                ASSERT_EQ(c.ask(get("/users/" + id)).body, id);
                std::this_thread::sleep_for(test::up_to(random, 1500us));
            }
        });
    for (auto& c : clients) c.join();
    stop();
}

TEST_P(http_idle, cold_after_is_checked_and_may_be_off) {
    EXPECT_THROW(rt.run([&] { app.listen({.host = "127.0.0.1", .port = 0}, {.cold_after = 0s}); }), std::invalid_argument);
    start({.cold_after = no_limit});
    auto c = connect();
    EXPECT_EQ(c.ask(get("/")).status, 200);
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(test::waiting_for(rt, "read"), 1);
}

}  // namespace
