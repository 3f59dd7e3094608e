// timer_slack_test.cpp - sleeps that end within the slack share a wake; a sleep alone, and those beside a hog, wait for none.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include <weft/runtime.hpp>

#include "support/eventually.hpp"
#include "support/no_leaks.hpp"
#include "support/spinning.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

using steady = std::chrono::steady_clock;

// Long enough that the worker mostly sleeps before the time is over. If it is still awake then, or
// something else has woken it, it does not wake for the timer, and the next timer waits for no slack.
constexpr auto within_slack = 100ms;

class timer_slack : public no_leaks {};

runtime_options with_slack(std::chrono::nanoseconds slack) { return {.workers = 1, .timer_slack = slack}; }

/// \returns how often the worker sleeps while 100 fibers sleep, of which each ends 200 us after the one before.
std::uint64_t sleeps_for_a_hundred(std::chrono::nanoseconds slack) {
    watched_runtime rt(with_slack(slack));
    return rt.run([&] {
        const auto before = rt.stats().sleeps;
        const auto start = steady::now() + 5ms;
        std::vector<fiber<>> all;
        for (int i = 0; i < 100; ++i) all.push_back(spawn([=] { this_fiber::sleep_until(start + i * 200us); }));
        for (auto& f : all) f.join();
        return rt.stats().sleeps - before;
    });
}

TEST_F(timer_slack, ends_within_it_share_a_wake_timing) {
    auto least = sleeps_for_a_hundred(10ms);
    for (int more = 9; more > 0 && least > 8; --more) least = std::min(least, sleeps_for_a_hundred(10ms));
    EXPECT_LE(least, 8u) << "of a hundred that end within 20 ms";
}

TEST_F(timer_slack, each_end_may_have_its_own_wake_if_it_is_zero_timing) {
    auto most = sleeps_for_a_hundred(0ns);
    for (int more = 19; more > 0 && most < 30; --more) most = std::max(most, sleeps_for_a_hundred(0ns));
    EXPECT_GE(most, 30u) << "a machine that is busy collects many ends before a thread of weft's gets a CPU";
}

struct two_sleeps {
    std::chrono::nanoseconds first, second;
};

/// \returns how long two sleeps of within_slack last, one after the other, in a runtime of their own.
two_sleeps sleep_twice(runtime_options options) {
    watched_runtime rt(options);
    return rt.run([] {
        const auto from = steady::now();
        this_fiber::sleep_for(within_slack);
        const auto between = steady::now();
        this_fiber::sleep_for(within_slack);
        return two_sleeps{between - from, steady::now() - between};
    });
}

TEST_F(timer_slack, the_first_end_waits_for_none_and_the_next_one_does) {
    auto first = std::chrono::nanoseconds::max(), second = 0ns;
    for (int tries = 0; tries < 10 && (first > 400ms || second < 800ms); ++tries) {
        const auto slept = sleep_twice(with_slack(1s));
        first = std::min(first, slept.first);
        second = std::max(second, slept.second);
    }
    EXPECT_LE(first, 400ms);
    EXPECT_GE(second, 800ms) << "within the slack of the first";
}

TEST_F(timer_slack, beside_a_fiber_that_computes_none_waits_timing) {
    auto least = std::chrono::nanoseconds::max();
    for (int tries = 0; tries < 5 && least > 1s; ++tries) {
        watched_runtime rt(with_slack(1s));
        std::atomic<bool> over{false};
        auto hog = rt.spawn([&] { spin_until(over); });
        EXPECT_TRUE(eventually([&] { return rt.stats().hand_offs > 0; }));
        auto ticker = rt.spawn([&] {
            this_fiber::sleep_for(50ms);  // the monitor has seen it compute
            const auto from = steady::now();
            for (int i = 0; i < 5; ++i) this_fiber::sleep_for(5ms);
            least = std::min(least, steady::now() - from);
        });
        ticker.join();
        over = true;
        hog.join();
    }
    EXPECT_LE(least, 1s) << "five slacks would be five seconds";
}

std::string refusal_of(std::chrono::nanoseconds slack) {
    try {
        runtime rt(with_slack(slack));
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
    return "none";
}

TEST_F(timer_slack, a_bad_one_is_named) {
    const std::string range = "weft: runtime_options::timer_slack must be 0 (no timer waits for another) to 1 s, not ";
    EXPECT_EQ(refusal_of(-1ns), range + "-1 ns");
    EXPECT_EQ(refusal_of(1s + 1ns), range + "1000000001 ns");
    EXPECT_EQ(refusal_of(1s), "none");
}

TEST_F(timer_slack, the_environment_overrides_it) {
    ::setenv("WEFT_TIMER_SLACK_US", "1000001", 1);
    EXPECT_NE(refusal_of(0ns).find("WEFT_TIMER_SLACK_US must be a number from 0 to 1000000"), std::string::npos);
    ::setenv("WEFT_TIMER_SLACK_US", "1000000", 1);
    auto second = 0ns;
    for (int tries = 0; tries < 10 && second < 800ms; ++tries) second = std::max(second, sleep_twice(with_slack(0ns)).second);
    EXPECT_GE(second, 800ms);
    ::unsetenv("WEFT_TIMER_SLACK_US");
}

}  // namespace
}  // namespace weft::test
