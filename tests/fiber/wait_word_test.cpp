// wait_word_test.cpp - every state of a wait meets every event: those of the table succeed, all others are refused.
#include "fiber/wait_word.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <string>
#include <thread>

namespace weft::detail {
namespace {

constexpr wait_state all_states[] = {wait_state::active, wait_state::waiting, wait_state::claimed};

/// Brings a fresh word into a state, by transitions. \returns the ticket of the wait.
wait_ticket bring(wait_word& w, wait_state s, interruptible i = interruptible::yes) {
    if (s == wait_state::active) return 0;
    const auto ticket = w.begin(i);
    EXPECT_TRUE(s != wait_state::claimed || w.claim(ticket));
    return ticket;
}

class in_state : public ::testing::TestWithParam<wait_state> {
protected:
    in_state() : ticket(bring(word, GetParam())) {}
    bool is(wait_state s) const { return GetParam() == s; }

    wait_word word;
    const wait_ticket ticket;
};

INSTANTIATE_TEST_SUITE_P(wait_word, in_state, ::testing::ValuesIn(all_states), [](const auto& each) {
    return std::string(name(each.param));
});

TEST_P(in_state, is_reached_by_transitions) { EXPECT_EQ(word.state(), GetParam()); }

TEST_P(in_state, begin_starts_a_wait_only_from_active) {
    if (is(wait_state::active)) {
        EXPECT_EQ(word.begin(interruptible::no), 1u);
        EXPECT_EQ(word.state(), wait_state::waiting);
    } else {
        EXPECT_DEATH(static_cast<void>(word.begin(interruptible::no)), "WAIT_WORD-1");
    }
}

TEST_P(in_state, claim_succeeds_while_nobody_else_has_claimed) {
    EXPECT_EQ(word.claim(ticket), is(wait_state::waiting));
    EXPECT_EQ(word.state(), is(wait_state::waiting) ? wait_state::claimed : GetParam());
}

TEST_P(in_state, WAIT_WORD_3_claim_with_another_ticket_fails) {
    EXPECT_FALSE(word.claim(ticket + 1));
    EXPECT_FALSE(word.claim(ticket - 1));
    EXPECT_EQ(word.state(), GetParam());
}

TEST_P(in_state, unpark_follows_a_claim) {
    if (is(wait_state::claimed)) {
        word.unpark();
        EXPECT_EQ(word.state(), wait_state::active);
    } else {
        EXPECT_DEATH(word.unpark(), "WAIT_WORD-2");
    }
}

TEST_P(in_state, end_claimed_ends_a_claimed_wait_only) {
    if (is(wait_state::claimed)) {
        word.end_claimed();
        EXPECT_EQ(word.state(), wait_state::active);
        word.await_left();  // returns at once: the owner has stayed on its stack
    } else {
        EXPECT_DEATH(word.end_claimed(), "WAIT_WORD-2");
    }
}

TEST_P(in_state, a_stop_finds_an_unclaimed_wait_only) {
    const auto found = word.interruptible_ticket();
    if (is(wait_state::waiting))
        EXPECT_EQ(found, ticket);
    else
        EXPECT_FALSE(found);
}

TEST_P(in_state, an_uninterruptible_wait_is_not_found_until_made_interruptible) {
    wait_word other;
    const auto mine = bring(other, GetParam(), interruptible::no);
    EXPECT_FALSE(other.interruptible_ticket());
    other.make_interruptible(mine + 1);  // of another wait: nothing happens
    EXPECT_FALSE(other.interruptible_ticket());
    other.make_interruptible(mine);
    EXPECT_EQ(other.interruptible_ticket().has_value(), is(wait_state::waiting));
    EXPECT_EQ(other.state(), GetParam());
}

TEST(wait_word, WAIT_WORD_3_each_wait_has_a_ticket_of_its_own) {
    wait_word w;
    std::set<wait_ticket> seen;
    for (int i = 0; i < 100; ++i) {
        const auto ticket = w.begin(i % 2 ? interruptible::yes : interruptible::no);
        EXPECT_TRUE(seen.insert(ticket).second);
        for (const auto old : seen)
            EXPECT_TRUE(old == ticket || !w.claim(old));
        ASSERT_TRUE(w.claim(ticket));
        EXPECT_FALSE(w.claim(ticket));  // WAIT_WORD-2
        w.end_claimed();
    }
}

TEST(wait_word, WAIT_WORD_4_who_goes_on_with_a_fiber_waits_until_it_has_left_its_stack) {
    wait_word w;
    const auto ticket = w.begin(interruptible::no);
    ASSERT_TRUE(w.claim(ticket));
    w.unpark();
    std::atomic<bool> saved{false};
    std::thread leaves([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        saved = true;
        w.left();
    });
    w.await_left();
    EXPECT_TRUE(saved);
    leaves.join();
}

TEST(wait_word, interruptibility_belongs_to_one_wait) {
    wait_word w;
    const auto first = w.begin(interruptible::yes);
    ASSERT_TRUE(w.claim(first));
    w.end_claimed();
    static_cast<void>(w.begin(interruptible::no));
    EXPECT_FALSE(w.interruptible_ticket());
}

TEST(wait_word, names_differ) {
    std::set<std::string_view> names;
    for (const auto s : all_states) {
        EXPECT_NE(name(s), "?");
        EXPECT_TRUE(names.insert(name(s)).second);
    }
}

}  // namespace
}  // namespace weft::detail
