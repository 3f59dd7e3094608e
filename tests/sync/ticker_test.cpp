// ticker_test.cpp - after() and every(): the time comes when it should, and the fiber behind goes with the last handle.
#include <weft/ticker.hpp>

#include <weft/runtime.hpp>
#include <weft/select.hpp>

#include <optional>
#include <stdexcept>

#include "support/eventually.hpp"
#include "support/no_leaks.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

using steady = std::chrono::steady_clock;

class tickers : public on_workers {};
WEFT_ON_1_2_4_8_WORKERS(tickers);

TEST_P(tickers, seed_Q3_after_comes_once) {
    watched_runtime rt(GetParam());
    rt.run([] {
        const auto begin = steady::now();
        const auto soon = after(3ms);
        const auto when = soon.receive();
        ASSERT_TRUE(when.has_value());
        EXPECT_GE(*when - begin, 3ms);
        EXPECT_GE(steady::now(), *when);
        EXPECT_EQ(soon.try_receive(), std::nullopt);
        EXPECT_FALSE(soon.closed());
    });
}

TEST_P(tickers, seed_Q3_every_comes_again_and_again) {
    watched_runtime rt(GetParam());
    rt.run([] {
        const auto begin = steady::now();
        int ticks = 0;
        for (const steady_time_point when : every(1ms)) {
            EXPECT_GE(when - begin, (ticks + 1) * 1ms);
            if (++ticks == 5) break;
        }
    });
}

TEST_P(tickers, seed_Q3_every_stops_with_its_last_handle) {
    watched_runtime rt(GetParam());
    rt.run([&] {
        for (int n = 0; n < 20; ++n) {
            auto one = every(1h);
            auto same = one;
            auto once = after(1h);
        }
    });
    EXPECT_TRUE(eventually([&] { return rt.stats().fibers == 0; }));
}

TEST_P(tickers, seed_Q3_ticks_that_nobody_takes_are_dropped) {
    watched_runtime rt(GetParam());
    rt.run([] {
        const auto ticks = every(500us);
        EXPECT_TRUE(eventually_here([&] { return ticks.size() == 1; }));
        this_fiber::sleep_for(10ms);
        EXPECT_EQ(ticks.size(), 1u);  // those that came meanwhile are gone
        const auto old = ticks.receive().value();
        EXPECT_GT(ticks.receive().value(), old);
    });
}

TEST_P(tickers, seed_Q4_they_are_cases_of_a_select) {
    watched_runtime rt(GetParam());
    rt.run([] {
        const auto ticks = every(1ms);
        const auto end = after(30ms);
        int count = 0;
        for (bool over = false; !over;)
            select(on_receive(ticks, [&](auto t) { count += t.has_value(); }), on_receive(end, [&](auto) { over = true; }));
        EXPECT_GE(count, 1);
    });
}

TEST(ticker, a_plain_thread_names_its_runtime) {
    runtime rt({.workers = 1});
    EXPECT_TRUE(after(rt, 1ms).receive().has_value());
    const auto ticks = every(rt, 1ms);
    EXPECT_TRUE(ticks.receive().has_value());
    EXPECT_TRUE(ticks.receive().has_value());
}

TEST(ticker, the_end_of_the_runtime_closes_them) {
    std::optional<receiver<steady_time_point>> once, often;
    {
        runtime rt({.workers = 1});
        once = after(rt, 1h);
        often = every(rt, 1h);
    }
    EXPECT_EQ(once->receive(), std::nullopt);
    EXPECT_EQ(often->receive(), std::nullopt);
}

TEST(ticker, absurd_times) {
    run([] {
        EXPECT_TRUE(after(-5ms).receive().has_value());
        EXPECT_EQ(after(std::chrono::hours::max()).try_receive(), std::nullopt);
        EXPECT_EQ(every(std::chrono::hours::max()).try_receive(), std::nullopt);
        EXPECT_THROW(static_cast<void>(every(0ms)), std::invalid_argument);
        EXPECT_THROW(static_cast<void>(every(-1s)), std::invalid_argument);
    });
}

TEST(ticker_death, a_plain_thread_has_no_runtime) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(static_cast<void>(after(1ms)), "plain thread has no runtime.*weft::run.*weft::after");
    EXPECT_DEATH(static_cast<void>(every(1ms)), "plain thread has no runtime.*weft::run.*weft::every");
}

}  // namespace
}  // namespace weft::test
