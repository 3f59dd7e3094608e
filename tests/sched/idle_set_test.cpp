// idle_set_test.cpp - who is woken when there is work: one sleeper, and nobody while somebody searches.
#include "sched/idle/idle_set.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <set>

namespace weft::detail {
namespace {

constexpr bool searched = true, did_not_search = false;
constexpr bool watched = true, not_watched = false;

void announce(idle_set& idle, unsigned worker, bool was_searching) {
    EXPECT_FALSE(idle.announce_sleep(worker, was_searching, not_watched));
}

/// As scheduler::wake_sleeper().
std::optional<unsigned> after_publish(idle_set& idle) { return idle.lacks_searcher() ? idle.claim_sleeper() : std::nullopt; }

TEST(idle_set, wakes_nobody_while_nobody_sleeps) {
    idle_set idle(4);
    EXPECT_EQ(after_publish(idle), std::nullopt);
    EXPECT_EQ(idle.sleeping_count(), 0u);
}

TEST(idle_set, one_searches_at_a_time) {
    idle_set idle(4);
    EXPECT_FALSE(idle.anybody_searches());
    EXPECT_TRUE(idle.begin_search());
    EXPECT_FALSE(idle.begin_search());
    EXPECT_TRUE(idle.anybody_searches());
    EXPECT_FALSE(idle.end_search(not_watched));
    EXPECT_TRUE(idle.begin_search());
}

TEST(idle_set, wakes_the_last_one_to_fall_asleep) {
    idle_set idle(4);
    for (const unsigned w : {2u, 0u, 3u}) announce(idle, w, did_not_search);
    EXPECT_EQ(idle.sleeping_count(), 3u);
    EXPECT_EQ(after_publish(idle), 3u);
    EXPECT_EQ(idle.sleeping_count(), 2u);
}

TEST(idle_set, wakes_the_one_that_has_slept_longest_but_not_the_late_one) {
    idle_set idle(4);
    for (const unsigned w : {2u, 0u, 3u}) announce(idle, w, did_not_search);
    EXPECT_EQ(idle.claim_sleeper_but(2), 0u);
    EXPECT_EQ(idle.claim_sleeper_but(3), std::nullopt);  // one searches now (IDLE_SET-4)
    EXPECT_TRUE(idle.end_search(not_watched));
    EXPECT_EQ(idle.claim_sleeper_but(3), 2u);
    EXPECT_TRUE(idle.end_search(not_watched));
    EXPECT_EQ(idle.claim_sleeper_but(3), std::nullopt);  // no other sleeps
    EXPECT_EQ(idle.sleeping_count(), 1u);
}

TEST(idle_set, IDLE_SET_2_wakes_nobody_while_one_searches) {
    idle_set idle(4);
    announce(idle, 1, did_not_search);
    EXPECT_TRUE(idle.begin_search());
    EXPECT_EQ(after_publish(idle), std::nullopt);
    EXPECT_EQ(idle.claim_sleeper(), std::nullopt);
    EXPECT_TRUE(idle.end_search(not_watched));
    EXPECT_EQ(after_publish(idle), 1u);
}

TEST(idle_set, IDLE_SET_4_a_claimed_sleeper_counts_as_searching) {
    idle_set idle(4);
    announce(idle, 0, did_not_search);
    announce(idle, 1, did_not_search);
    EXPECT_EQ(after_publish(idle), 1u);
    EXPECT_TRUE(idle.anybody_searches());
    EXPECT_EQ(after_publish(idle), std::nullopt);
    EXPECT_FALSE(idle.begin_search());
    EXPECT_TRUE(idle.end_search(not_watched));
    EXPECT_EQ(after_publish(idle), 0u);
}

TEST(idle_set, IDLE_SET_5_retract_tells_whether_the_worker_was_claimed) {
    idle_set idle(4);
    for (const unsigned w : {0u, 1u, 2u}) announce(idle, w, did_not_search);
    EXPECT_TRUE(idle.retract(1));
    EXPECT_EQ(idle.sleeping_count(), 2u);
    EXPECT_EQ(after_publish(idle), 2u);
    EXPECT_FALSE(idle.retract(2));
    EXPECT_TRUE(idle.retract(0));
    EXPECT_EQ(idle.sleeping_count(), 0u);
}

TEST(idle_set, a_searcher_that_falls_asleep_searches_no_more) {
    idle_set idle(2);
    EXPECT_TRUE(idle.begin_search());
    announce(idle, 0, searched);
    EXPECT_FALSE(idle.anybody_searches());
    EXPECT_EQ(after_publish(idle), 0u);
}

TEST(idle_set, each_sleeper_is_claimed_once) {
    idle_set idle(8);
    for (unsigned w = 0; w < 8; ++w) announce(idle, w, did_not_search);
    std::set<unsigned> woken;
    for (int i = 0; i < 8; ++i) {
        const auto w = after_publish(idle);
        ASSERT_TRUE(w);
        EXPECT_TRUE(woken.insert(*w).second);
        static_cast<void>(idle.end_search(not_watched));
    }
    EXPECT_EQ(after_publish(idle), std::nullopt);
}

TEST(idle_set, IDLE_SET_8_only_a_watched_worker_that_others_are_awake_with_needs_the_monitor) {
    idle_set idle(2);
    EXPECT_TRUE(idle.announce_sleep(1, did_not_search, watched));
    EXPECT_FALSE(idle.announce_sleep(0, did_not_search, watched)) << "no other is awake";
    EXPECT_EQ(after_publish(idle), 0u);
    EXPECT_TRUE(idle.end_search(watched)) << "one sleeps";
    EXPECT_EQ(after_publish(idle), 1u);
    EXPECT_FALSE(idle.end_search(watched)) << "nobody sleeps";
}

}  // namespace
}  // namespace weft::detail
