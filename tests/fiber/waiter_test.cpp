// waiter_test.cpp - what a waker finds in a list of waiters, and what a stop does to a wait; no thread, no fiber.
#include "fiber/waiter.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace weft::detail {
namespace {

std::vector<wait_cell*> made_ready;

struct cell : wait_cell {
    cell() : wait_cell([](wait_cell& c) noexcept { made_ready.push_back(&c); }) { made_ready.clear(); }
};

TEST(wait_list, gives_the_oldest_waiter_that_can_be_claimed) {
    cell a, b, c;
    waiter wa(a, a.word.begin(interruptible::no), 1), wb(b, b.word.begin(interruptible::no), 2),
        wc(c, c.word.begin(interruptible::no), 3);
    wait_list all;
    for (auto* w : {&wa, &wb, &wc}) all.push_back(*w);
    ASSERT_TRUE(wa.claim());  // by another of its registrations
    all.remove(wa);
    EXPECT_EQ(all.claim_front(), &wb);
    EXPECT_EQ(b.outcome, 2u);
    EXPECT_FALSE(wb.linked());
    EXPECT_TRUE(c.word.claim(1));  // its time-out, say
    EXPECT_EQ(all.claim_front(), nullptr);
    EXPECT_TRUE(all.empty());
}

TEST(waiter, of_two_registrations_in_one_wait_one_is_claimed) {
    cell c;
    const auto ticket = c.word.begin(interruptible::no);
    waiter first(c, ticket, 0), second(c, ticket, 1);
    EXPECT_TRUE(second.claim());
    EXPECT_FALSE(first.claim());
    EXPECT_EQ(c.outcome, 1u);
}

TEST(waiter, a_fiber_is_made_ready_by_unpark_whether_it_has_left_its_stack_or_not) {
    cell c;
    waiter on_its_stack(c, c.word.begin(interruptible::no));
    ASSERT_TRUE(on_its_stack.claim());
    on_its_stack.unpark();
    EXPECT_EQ(made_ready, std::vector<wait_cell*>{&c});

    waiter gone(c, c.word.begin(interruptible::no));
    c.word.left();
    ASSERT_TRUE(gone.claim());
    gone.unpark();
    EXPECT_EQ(made_ready, (std::vector<wait_cell*>{&c, &c}));
}

TEST(waiter, a_thread_is_signalled) {
    atomic<std::uint32_t> signal{0};
    wait_cell thread(signal);
    waiter w(thread, thread.word.begin(interruptible::no), 7);
    ASSERT_TRUE(w.claim());
    EXPECT_EQ(signal.load(relaxed), 0u);
    w.unpark();
    EXPECT_EQ(signal.load(relaxed), 1u);
    EXPECT_EQ(thread.word.state(), wait_state::active);
    EXPECT_EQ(thread.outcome, 7u);
}

TEST(interrupt, ends_an_interruptible_wait_and_no_other) {
    cell c;
    interrupt(c);  // not waiting
    EXPECT_EQ(c.word.state(), wait_state::active);

    static_cast<void>(c.word.begin(interruptible::yes));
    interrupt(c);
    EXPECT_EQ(c.outcome, outcome_stopped);
    EXPECT_EQ(c.word.state(), wait_state::active);

    static_cast<void>(c.word.begin(interruptible::no));
    interrupt(c);
    EXPECT_EQ(c.word.state(), wait_state::waiting);
}

TEST(interrupt, comes_too_late_for_a_wait_that_was_claimed) {
    cell c;
    waiter w(c, c.word.begin(interruptible::yes), 5);
    ASSERT_TRUE(w.claim());
    interrupt(c);
    w.unpark();
    EXPECT_EQ(c.word.state(), wait_state::active);
    EXPECT_EQ(c.outcome, 5u);
}

}  // namespace
}  // namespace weft::detail
