// lead_test.cpp - the transitions of the lead, one after the other; tests/model/lead_model.cpp has
// them side by side.
#include "sched/lead.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace weft::detail {
namespace {

using namespace std::chrono_literals;

TEST(lead, LEAD_1_one_leads_until_it_gives_back) {
    lead l;
    EXPECT_TRUE(l.is_free());
    EXPECT_TRUE(l.try_take());
    EXPECT_FALSE(l.is_free());
    EXPECT_FALSE(l.try_take());
    EXPECT_FALSE(l.give_back()) << "nobody about to sleep was refused";
    EXPECT_TRUE(l.is_free());
    EXPECT_TRUE(l.take_or_want());
    EXPECT_FALSE(l.try_take());
    EXPECT_FALSE(l.give_back());
}

TEST(lead, LEAD_2_the_leader_is_told_of_the_refused_once) {
    lead l;
    ASSERT_TRUE(l.try_take());
    EXPECT_FALSE(l.take_or_want());
    EXPECT_FALSE(l.take_or_want()) << "another one";
    EXPECT_FALSE(l.is_free());
    EXPECT_TRUE(l.give_back());
    EXPECT_TRUE(l.is_free());
    EXPECT_TRUE(l.try_take());
    EXPECT_FALSE(l.give_back()) << "the next leader has refused nobody";
}

TEST(lead, LEAD_2_a_lead_that_is_wanted_is_not_free) {
    lead l;
    ASSERT_TRUE(l.take_or_want());
    EXPECT_FALSE(l.take_or_want());
    EXPECT_FALSE(l.try_take());
    EXPECT_TRUE(l.give_back());
}

TEST(lead, LEAD_4_nobody_oversleeps_while_no_leader_sleeps) {
    lead l;
    const auto now = time_point(1h);
    EXPECT_FALSE(l.oversleeps(now));
    EXPECT_FALSE(l.oversleeps(long_past));
    ASSERT_TRUE(l.take_or_want());
    EXPECT_FALSE(l.oversleeps(now));
    l.begin_sleep(now);
    l.end_sleep();
    EXPECT_FALSE(l.oversleeps(long_past));
}

TEST(lead, LEAD_3_a_leader_oversleeps_what_is_before_its_waking) {
    lead l;
    const auto now = time_point(1h);
    ASSERT_TRUE(l.take_or_want());
    l.begin_sleep(now + 1ms);
    EXPECT_TRUE(l.oversleeps(now));
    EXPECT_FALSE(l.oversleeps(now + 1ms));
    EXPECT_FALSE(l.oversleeps(now + 2ms));
    EXPECT_FALSE(l.oversleeps(never));
    l.begin_sleep(never);
    EXPECT_TRUE(l.oversleeps(now));
    EXPECT_FALSE(l.oversleeps(never));
}

}  // namespace
}  // namespace weft::detail
