// watch_test.cpp - whom the monitor takes for a hog, for blocked, or for starved, and how often it looks.
#include "sched/monitor/watch.hpp"

#include <gtest/gtest.h>

namespace weft::detail {
namespace {

using namespace std::chrono_literals;

constexpr duration slice = 5ms;

/// A worker and its carrier, as the monitor would see them every half millisecond.
class watched : public ::testing::Test {
protected:
    conclusion after(duration wall, duration cpu) {
        seen.when += wall;
        seen.cpu += cpu;
        return w.look(seen, slice);
    }
    /// How long it takes until the conclusion is not `leave`; `share` of the time the carrier has a CPU.
    duration until(conclusion expected, double share, duration most = 100ms) {
        const auto begin = seen.when;
        while (seen.when - begin < most) {
            const auto c = after(500us, std::chrono::duration_cast<duration>(500us * share));
            if (c == conclusion::leave) continue;
            EXPECT_EQ(c, expected);
            return seen.when - begin;
        }
        return never - seen.when;
    }

    watch w;
    sighting seen{.when = time_point(1h), .carrier = this, .runs_fiber = true};
};

TEST_F(watched, seed_R7_a_fiber_that_computes_is_a_hog_after_a_slice) {
    after(0us, 0us);
    EXPECT_EQ(until(conclusion::computes, 1.0), 5ms);
}

TEST_F(watched, cpu_time_counts_and_not_time_that_passes) {
    after(0us, 0us);
    EXPECT_EQ(until(conclusion::computes, 0.5), 7ms);
    after(0us, 0us);
    EXPECT_EQ(until(conclusion::computes, 0.75), 500us);  // it stays one
}

TEST_F(watched, in_a_crowd_its_share_counts) {
    seen.crowd = 10;
    after(0us, 0us);
    EXPECT_EQ(until(conclusion::computes, 0.1), 5ms);
    after(0us, 0us);
    seen.crowd = 1;
    after(1us, 0us);
    EXPECT_FALSE(w.has_used_up());
}

TEST_F(watched, seed_R7_gives_way_after_a_fifth_of_a_slice_to_a_fiber_that_was_woken) {
    seen.delays_woken = true;
    after(0us, 0us);
    EXPECT_EQ(until(conclusion::computes, 1.0), 1ms);
    after(0us, 0us);
    seen.delays_woken = false;
    after(1ms, 1ms);
    EXPECT_FALSE(w.has_used_up());
}

TEST_F(watched, who_dispatches_other_fibers_is_none) {
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(after(4ms, 4ms), conclusion::leave);
        ++seen.dispatches;
    }
}

TEST_F(watched, another_carrier_begins_afresh) {
    after(0us, 0us);
    after(4900us, 4900us);
    const int other = 0;
    seen.carrier = &other;
    EXPECT_EQ(after(500us, 500us), conclusion::leave);
    EXPECT_EQ(until(conclusion::computes, 1.0), 5ms);
}

TEST_F(watched, an_idle_worker_is_neither) {
    seen.runs_fiber = false;
    for (int i = 0; i < 100; ++i) EXPECT_EQ(after(5ms, 0us), conclusion::leave);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(after(5ms, 5ms), conclusion::leave);
    seen.runs_fiber = true;
    EXPECT_EQ(until(conclusion::computes, 1.0), 5ms);
}

TEST_F(watched, ask_C2_a_carrier_that_stands_still_is_found_within_a_millisecond) {
    after(0us, 0us);
    EXPECT_EQ(until(conclusion::stands_still, 0.0), 500us);
    EXPECT_EQ(until(conclusion::computes, 1.0), 4500us);  // it goes on, and is a hog in time
    EXPECT_LE(until(conclusion::stands_still, 0.01), 1ms);
}

TEST_F(watched, one_that_spawns_all_the_time_may_go_on_for_twenty_slices) {
    seen.delays_woken = true;
    after(0us, 0us);
    for (int i = 0; i < 199; ++i) {
        seen.spawned += 1000;
        EXPECT_EQ(after(500us, 500us), conclusion::leave);
    }
    seen.spawned += 1000;
    EXPECT_EQ(after(500us, 500us), conclusion::computes);
}

TEST(watch, seed_R6_without_a_slice_nobody_is_a_hog_and_the_blocked_are_found) {
    watch w;
    sighting s{.when = time_point(1h), .runs_fiber = true};
    for (int i = 0; i < 100; ++i) {
        s.when += 5ms;
        s.cpu += 5ms;
        EXPECT_EQ(w.look(s, 0ns), conclusion::leave);
    }
    s.when += 1ms;
    EXPECT_EQ(w.look(s, 0ns), conclusion::stands_still);
}

TEST(watch, somebody_profits_if_anything_waits_or_soon_will) {
    const time_point now(1h);
    EXPECT_FALSE(would_profit({}, now, slice));
    EXPECT_TRUE(would_profit({.queued = true}, now, slice));
    EXPECT_TRUE(would_profit({.io = true}, now, slice));
    EXPECT_TRUE(would_profit({.next_timer = now - 1ms}, now, slice));
    EXPECT_TRUE(would_profit({.next_timer = now + 1ms}, now, slice));
    EXPECT_FALSE(would_profit({.next_timer = now + 1s}, now, slice));
}

TEST(watch, looks_often_only_while_somebody_waits_and_not_at_all_when_nobody_runs) {
    const time_point now(1h);
    const auto after = [&](bool runs, bool profit, suspicion s) { return next_look(now, runs, profit, s) - now; };
    EXPECT_EQ(next_look(now, false, true, suspicion::yes), never);
    EXPECT_EQ(after(true, false, suspicion::no), 10ms);
    EXPECT_LE(after(true, true, suspicion::no) + 2 * after(true, true, suspicion::yes), 1200us);
    EXPECT_LT(after(true, true, suspicion::yes), after(true, true, suspicion::no));
}

}  // namespace
}  // namespace weft::detail
