// burst_test.cpp - how many fibers a worker keeps for itself, by how long its bodies have lately taken.
#include "sched/idle/burst.hpp"

#include <gtest/gtest.h>

using namespace std::chrono_literals;

namespace weft::detail {
namespace {

class bursts : public ::testing::Test {
protected:
    std::uint32_t alone() {
        b.begin(now, ticks, true);
        return b.alone_up_to();
    }
    void one(duration length, std::uint64_t dispatches) {
        b.begin(now, ticks, true);
        now += length;
        ticks += dispatches;
        b.end(now, ticks);
        now += 1ms;  // without work; does not count
    }

    burst b;
    time_point now{1h};
    std::uint64_t ticks = 1000;
};

TEST_F(bursts, keep_nothing_before_the_first_has_ended) {
    EXPECT_EQ(b.alone_up_to(), 0u);
    b.end(now, ticks);
    EXPECT_EQ(alone(), 0u);
}

TEST_F(bursts, of_short_bodies_keep_what_takes_less_than_a_wake) {
    one(20us, 10);
    EXPECT_EQ(alone(), burst::worth_help / 2us);
}

TEST_F(bursts, of_a_body_that_is_as_long_as_a_wake_keep_nothing) {
    one(burst::worth_help + 1us, 1);
    EXPECT_EQ(alone(), 0u);
}

TEST_F(bursts, of_very_short_bodies_keep_a_thousand_at_most) {
    one(1us, 1'000'000);
    EXPECT_EQ(alone(), 1024u);
}

TEST_F(bursts, remember_long_bodies_for_a_while) {
    one(1ms, 1);
    for (int i = 0; i < 10; ++i) one(1us, 1);
    EXPECT_EQ(alone(), 0u);
    for (int i = 0; i < 100; ++i) one(1us, 1);
    EXPECT_EQ(alone(), burst::worth_help / 1us);
}

TEST_F(bursts, BURST_1_that_last_get_help_at_a_poll_while_thefts_pay) {
    one(10us, 10);
    b.begin(now, ticks, true);
    b.poll(now + burst::worth_help / 2, ticks + 25, true, true);
    EXPECT_NE(b.alone_up_to(), 0u);
    b.poll(now + burst::worth_help, ticks + 50, true, false);
    EXPECT_NE(b.alone_up_to(), 0u);
    b.poll(now + 2 * burst::worth_help, ticks + 100, true, true);
    EXPECT_EQ(b.alone_up_to(), 0u);
    b.poll(now + 3 * burst::worth_help, ticks + 150, true, false);
    EXPECT_NE(b.alone_up_to(), 0u);
}

TEST_F(bursts, BURST_1_are_too_long_when_no_poll_comes) {
    one(10us, 10);
    b.begin(now, ticks, true);
    EXPECT_FALSE(b.is_too_long(now + burst::too_long));
    EXPECT_TRUE(b.is_too_long(now + burst::too_long + 1ns));
    b.foresee_nothing();
    EXPECT_EQ(b.alone_up_to(), 0u);
    b.poll(now + burst::too_long, ticks + 150, true, false);
    EXPECT_FALSE(b.is_too_long(now + 2 * burst::too_long));
}

TEST_F(bursts, do_not_count_the_time_between_them) {
    one(10us, 10);
    b.poll(now + 10s, ticks + 1, true, false);  // it looks for work
    EXPECT_EQ(alone(), burst::worth_help / 1us);
}

TEST_F(bursts, BURST_1_keep_nothing_without_a_prediction) {
    one(10us, 10);
    b.begin(now, ticks, false);
    EXPECT_EQ(b.alone_up_to(), 0u);
    b.begin(now, ticks, true);
    b.poll(now + 10us, ticks + 10, false, false);
    EXPECT_EQ(b.alone_up_to(), 0u);
}

}  // namespace
}  // namespace weft::detail
