// pace_test.cpp - clients that are slow: steady ones get through, those that only seem to are given up, and nothing cut off looks whole.
#include "http/pace.hpp"

#include <weft/http/server.hpp>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cerrno>
#include <mutex>
#include <thread>

#include "eventually.hpp"
#include "http/support/served.hpp"

namespace {

using namespace weft;
using namespace std::chrono_literals;
using test::get;

TEST(http_pace, a_window_needs_its_rate_and_no_window_an_overflow) {
    EXPECT_EQ(detail::pace(30s, 1024).least(), 30720u);
    EXPECT_EQ(detail::pace(100ms, 1024).least(), 102u);
    EXPECT_EQ(detail::pace(30s, 0).least(), 1u);
    EXPECT_EQ(detail::pace(1ns, 1).least(), 1u);
    EXPECT_EQ(detail::pace(std::chrono::nanoseconds::max(), SIZE_MAX).least(), 1000000000000000000u);
    detail::pace p(1ns, 5'000'000'000);  // 5 bytes
    p.begin(100);
    EXPECT_FALSE(p.goes_on(104));
    EXPECT_FALSE(p.goes_on(99));
    EXPECT_TRUE(p.goes_on(105));
    EXPECT_FALSE(p.goes_on(109));  // the next window counts from there
    EXPECT_TRUE(p.goes_on(110));
}

/// Small buffers on both sides, so that a client that does not read is noticed after a few kilobytes.
class http_pace_of : public test::served {
protected:
    void start_narrow(http::server_options options) {
        options.on_cut_short = [this](const http::cut_short& c) {
            const std::lock_guard guard(lock);
            cuts.push_back(http::to_string(c));
        };
        rt.run([&] {
            tcp::listener port({.host = "127.0.0.1", .port = 0});
            const int small = 16384;
            ::setsockopt(port.native_handle(), SOL_SOCKET, SO_SNDBUF, &small, sizeof small);  // accepted sockets inherit it
            ::setsockopt(port.native_handle(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
            app.listen(std::move(port), std::move(options));
        });
        serving = rt.spawn([this] { app.serve(); });
    }
    std::size_t cuts_so_far() {
        const std::lock_guard guard(lock);
        return cuts.size();
    }
    bool was_cut() {
        return test::eventually([&] { return cuts_so_far() > 0; });
    }

    std::mutex lock;
    std::vector<std::string> cuts;
};
INSTANTIATE_TEST_SUITE_P(workers, http_pace_of, ::testing::Values(2u),
                         [](const auto& each) { return std::to_string(each.param); });

TEST_P(http_pace_of, a_steady_reader_gets_all_however_long_it_takes) {
    start_narrow({.write_timeout = 400ms, .min_rate = 1024});
    constexpr std::size_t size = 600000;
    test::raw_client c(app.local().port, {.receive_buffer = 16384});
    c.send(get("/large/" + std::to_string(size)));
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_TRUE(c.read_slowly(size, 10000, 20ms));  // half a megabyte a second
    EXPECT_GT(std::chrono::steady_clock::now() - begin, 900ms);  // more than two windows
    EXPECT_EQ(c.receive().body.size(), size);
    EXPECT_EQ(cuts_so_far(), 0u);
}

TEST_P(http_pace_of, a_reader_of_a_byte_now_and_then_is_cut_and_reset_and_logged_once) {
    start_narrow({.write_timeout = 100ms, .min_rate = 1000000});
    test::raw_client c(app.local().port, {.receive_buffer = 16384});
    c.send(get("/large/3000000?%0a%9b"));
    bool reset = false;
    for (std::size_t n = 1; !reset && cuts_so_far() == 0; ++n)  // all the time, but little
        if (!c.read_slowly(n, 1, 1ms)) {
            ASSERT_EQ(errno, ECONNRESET);
            reset = true;
        }
    EXPECT_TRUE(was_cut());
    stop();
    EXPECT_TRUE(reset || c.ends_by_reset());
    ASSERT_EQ(cuts.size(), 1u);
    EXPECT_NE(cuts[0].find("the answer to GET /large/3000000?%0a%9b for 127.0.0.1:"), std::string::npos) << cuts[0];
    EXPECT_NE(cuts[0].find(" bytes: the client takes less than min_rate"), std::string::npos) << cuts[0];
}

TEST_P(http_pace_of, without_a_least_rate_a_client_must_still_move) {
    start_narrow({.write_timeout = 50ms, .min_rate = 0});
    test::raw_client deaf(app.local().port, {.receive_buffer = 16384});
    deaf.send(get("/large/3000000"));
    ASSERT_TRUE(was_cut());
    EXPECT_TRUE(deaf.ends_by_reset());
}

TEST_P(http_pace_of, an_answer_cut_by_the_end_of_the_grace_is_no_clean_end) {
    start_narrow({});
    test::raw_client deaf(app.local().port, {.receive_buffer = 16384});
    deaf.send(get("/large/3000000"));
    EXPECT_TRUE(deaf.receives_something());
    stop(20ms);
    EXPECT_TRUE(deaf.ends_by_reset());
    ASSERT_EQ(cuts.size(), 1u);
    EXPECT_NE(cuts[0].find(" of 3000"), std::string::npos) << cuts[0];
    EXPECT_NE(cuts[0].find("the server was stopped"), std::string::npos) << cuts[0];
}

TEST_P(http_pace_of, an_answer_that_its_client_does_not_want_is_not_logged) {
    start_narrow({});
    test::raw_client c(app.local().port, {.receive_buffer = 16384});
    c.send(get("/large/3000000"));
    EXPECT_TRUE(c.receives_something());
    c.reset();
    stop();
    EXPECT_EQ(cuts.size(), 0u);
}

TEST_P(http_pace_of, a_cut_answer_is_one_line_on_stderr_by_default) {
    start({.write_timeout = 50ms});
    testing::internal::CaptureStderr();
    auto deaf = connect();
    deaf.send(get("/large/30000000"));
    EXPECT_TRUE(test::eventually([&] { return test::waiting_for(rt, "write") == 1; }));
    EXPECT_TRUE(test::eventually([&] { return test::waiting_for(rt, "write") == 0; }));
    stop();
    const auto log = testing::internal::GetCapturedStderr();
    EXPECT_EQ(log.find("weft: http: the answer to GET /large/30000000 for 127.0.0.1:"), 0u) << log;
    EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
}

TEST_P(http_pace_of, a_steady_sender_gets_its_body_through_however_long_it_takes) {
    start({.body_timeout = 400ms, .min_rate = 1000});
    auto c = connect();
    c.send("POST /size HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\n");
    for (int i = 0; i < 50; ++i) {
        ASSERT_TRUE(c.send(std::string(1000, 'x')));
        std::this_thread::sleep_for(20ms);
    }
    EXPECT_EQ(c.receive().body, "50000");
}

TEST_P(http_pace_of, a_sender_of_less_than_the_least_rate_is_given_408) {
    start({.body_timeout = 100ms, .min_rate = 1000000});
    auto c = connect();
    c.send("POST /size HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n");
    for (int i = 0; i < 100 && c.send("x"); ++i) std::this_thread::sleep_for(2ms);
    EXPECT_EQ(c.receive().status, 408);
}

TEST_P(http_pace_of, a_header_has_its_time_in_all) {
    start({.header_timeout = 60ms, .min_rate = 1});
    auto c = connect();
    c.send("GET / HTTP/1.1\r\n");
    for (int i = 0; i < 100 && c.send("X: 1234567890\r\n"); ++i) std::this_thread::sleep_for(5ms);
    EXPECT_EQ(c.receive().status, 408);
}

}  // namespace
