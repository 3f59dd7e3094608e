// drain_test.cpp - a server that is to be replaced: kept connections get one more answer, and nothing that a client sends is lost.
#include "http/support/served.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "eventually.hpp"

namespace {

using namespace weft;
using namespace std::chrono_literals;
using test::get;

class http_drain : public test::served {
protected:
    void expect_the_last_answer(test::raw_client& c) {
        const auto r = c.ask(get("/"));
        EXPECT_EQ(r.status, 200);
        EXPECT_EQ(r.header("Connection"), "close");
        c.half_close();  // or the server lingers for a second
        EXPECT_TRUE(c.ended());
    }
};
WEFT_ON_1_2_4_8_WORKERS(http_drain);

TEST_P(http_drain, answers_the_next_request_of_each_kept_connection_and_says_that_it_closes) {
    start();
    auto fresh = connect();
    auto used = connect();
    EXPECT_EQ(used.ask(get("/")).header("Connection"), "");
    app.drain(1h);
    EXPECT_TRUE(used.silent_for(30)) << "it is not hung up";
    EXPECT_THROW(connect(), std::runtime_error);
    expect_the_last_answer(used);
    expect_the_last_answer(fresh);
    serving->join();
}

TEST_P(http_drain, keeps_connections_without_a_fiber_too) {
    start({.cold_after = 5ms});
    auto c = connect();
    c.ask(get("/"));
    ASSERT_TRUE(test::eventually([&] { return test::waiting_for(rt, "idle streams") == 1; }));
    app.drain(1h);
    EXPECT_TRUE(c.silent_for(30));
    expect_the_last_answer(c);
    serving->join();
}

TEST_P(http_drain, closes_silent_connections_at_the_end_of_the_grace) {
    start({.cold_after = 5ms});
    auto cold = connect();
    ASSERT_TRUE(test::eventually([&] { return test::waiting_for(rt, "idle streams") == 1; }));
    auto c = connect();
    c.ask(get("/"));
    const auto begin = std::chrono::steady_clock::now();
    app.drain(60ms);
    EXPECT_TRUE(c.ended());
    EXPECT_TRUE(cold.ended());
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 60ms);
    serving->join();
}

TEST_P(http_drain, is_ended_by_a_stop) {
    start();
    auto c = connect();
    c.ask(get("/"));
    app.drain(1h);
    EXPECT_TRUE(c.silent_for(30));
    stop(1h);
    EXPECT_TRUE(c.ended());
}

TEST_P(http_drain, does_not_undo_a_stop) {
    start();
    auto c = connect();
    c.ask(get("/"));
    app.stop(1h);
    app.drain(1h);
    EXPECT_TRUE(c.ended());
    serving->join();
}

TEST_P(http_drain, ends_at_once_without_connections) {
    start();
    app.drain(1h);
    serving->join();
}

}  // namespace
