// no_room_test.cpp - one connection too many: where the runtime has no fiber for it, the others and the server go on.
#include <weft/http/server.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "eventually.hpp"
#include "http/support/raw_client.hpp"
#include "no_leaks.hpp"

namespace {

using namespace weft;
using namespace std::chrono_literals;
using test::get;

constexpr std::size_t most_fibers = 6;   // one of them serves

class http_no_room : public test::no_leaks {
protected:
    void start(at_limit how) {
        rt.emplace(runtime_options{.workers = 2, .max_fibers = most_fibers, .at_limit = how});
        app.get("/", [](const http::request&) { return http::text(200, "ok"); });
        rt->run([&] { app.listen({.host = "127.0.0.1", .port = 0}); });
        serving.emplace(rt->spawn([&] { app.serve(); }));
    }
    /// Clients that hold all fibers there are, and have been answered.
    void fill() {
        for (std::size_t i = 1; i < most_fibers; ++i) {
            clients.emplace_back(app.local().port);
            EXPECT_EQ(clients.back().ask(get("/")).status, 200);
        }
    }

    std::optional<test::watched_runtime> rt;
    http::server app;
    std::optional<fiber<>> serving;
    std::vector<test::raw_client> clients;
};

TEST_F(http_no_room, one_connection_too_many_is_answered_by_503_and_ends_nobody_else) {
    testing::internal::CaptureStderr();
    start(at_limit::fail);
    fill();
    for (int i = 0; i < 20; ++i) {
        test::raw_client late(app.local().port);
        EXPECT_EQ(late.receive().status, 503);
        EXPECT_TRUE(late.ended());
    }
    for (auto& c : clients) EXPECT_EQ(c.ask(get("/")).status, 200);
    clients.pop_back();                                            // its fiber is free again, soon
    EXPECT_TRUE(test::eventually([&] {
        test::raw_client next(app.local().port);
        return next.ask(get("/")).status == 200;
    }));
    EXPECT_FALSE(serving->done());
    app.stop();
    serving->join();
    const auto log = testing::internal::GetCapturedStderr();
    EXPECT_EQ(log.find("weft: http: a connection was answered by 503"), 0u) << log;
    EXPECT_LE(std::count(log.begin(), log.end(), '\n'), 3) << log;     // one in five seconds
}

class http_waits_for_room : public http_no_room, public testing::WithParamInterface<at_limit> {};
INSTANTIATE_TEST_SUITE_P(at_limit, http_waits_for_room, testing::Values(at_limit::park, at_limit::run_inline));

TEST_P(http_waits_for_room, connections_wait_for_a_fiber_and_stop_does_not) {
    start(GetParam());
    fill();
    test::raw_client late(app.local().port);
    late.send(get("/"));
    EXPECT_TRUE(late.silent_for(30));
    clients.pop_back();
    EXPECT_EQ(late.receive().status, 200);
    test::raw_client later(app.local().port);
    later.send(get("/"));
    EXPECT_TRUE(later.silent_for(30));                             // serve() waits for a fiber
    app.stop(1h);
    serving->join();                                               // though all others are idle, and stay
}

}  // namespace
