// interrupted_handler_test.cpp - handlers that end by `cancelled`: stopped, out of time, or by somebody else's stop.
#include <weft/http/server.hpp>

#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "http/support/served.hpp"

namespace {

using namespace weft;
using namespace std::chrono_literals;
using test::get;

class http_interrupted_handler : public test::served {
protected:
    http::server_options told() {
        return {.on_error = [this](const http::request& q, std::exception_ptr e) {
            const std::lock_guard guard(lock);
            try {
                std::rethrow_exception(e);
            } catch (const timeout_error& x) {
                failures.push_back(q.target() + " in time: " + x.what());
            } catch (const std::exception& x) {
                failures.push_back(q.target() + ": " + x.what());
            }
        }};
    }
    std::mutex lock;
    std::vector<std::string> failures;
};
INSTANTIATE_TEST_SUITE_P(workers, http_interrupted_handler, ::testing::Values(1u, 2u),
                         [](const auto& each) { return std::to_string(each.param); });

TEST_P(http_interrupted_handler, is_answered_by_500_if_nobody_has_stopped_it) {
    app.get("/cancelled", [](const http::request&) -> http::response { throw cancelled(); });
    start(told());
    auto c = connect();
    EXPECT_EQ(c.ask(get("/cancelled")).status, 500);
    EXPECT_EQ(c.ask(get("/")).status, 200);
    ASSERT_EQ(failures.size(), 1u);
    EXPECT_EQ(failures[0], "/cancelled: weft: http: the handler ended by weft::cancelled, but was not stopped");
}

TEST_P(http_interrupted_handler, is_answered_by_500_if_the_fiber_it_joins_was_stopped) {
    app.get("/hedge", [](const http::request&) {
        auto hedge = spawn([] { this_fiber::sleep_for(1h); });
        hedge.request_stop();
        hedge.join();
        return http::text(200, "hello");
    });
    start(told());
    EXPECT_EQ(connect().ask(get("/hedge")).status, 500);
    EXPECT_EQ(failures.size(), 1u);
}

TEST_P(http_interrupted_handler, is_answered_by_503_when_its_time_is_over) {
    auto options = told();
    options.request_timeout = 20ms;
    start(std::move(options));
    auto c = connect();
    EXPECT_EQ(c.ask(get("/wait")).status, 503);
    EXPECT_EQ(cancelled_handlers, 1);
    EXPECT_EQ(c.ask(get("/")).status, 200);                        // the limit ended with it
    ASSERT_EQ(failures.size(), 1u);
    EXPECT_EQ(failures[0].find("/wait in time: weft: http: the handler took longer than request_timeout"), 0u) << failures[0];
}

TEST_P(http_interrupted_handler, answers_nobody_when_it_was_stopped) {
    start(told());
    auto c = connect();
    c.send(get("/wait"));
    while (waiting != 1) std::this_thread::yield();
    stop(1ms);
    EXPECT_EQ(c.receive().status, 0);
    EXPECT_EQ(failures.size(), 0u);
}

}  // namespace
