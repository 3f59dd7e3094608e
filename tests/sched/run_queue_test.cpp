// run_queue_test.cpp - the order a worker takes its fibers in, and that thieves and owner share them out without loss.
#include "support/held_queue.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "support/random.hpp"
#include "support/scale.hpp"

namespace weft::detail {
namespace {

struct item {
    bool begun = true;
    std::atomic<int> taken{0};
    bool started() const { return begun; }
};

class run_queue_order : public ::testing::Test {
protected:
    using queue = test::held_queue<item, 4, 4>;

    void SetUp() override { mine.enter(); }
    void TearDown() override {
        while (mine.pop()) {}
        mine.leave();
    }
    item& started(std::size_t i) {
        items[i].begun = true;
        return items[i];
    }
    item& unstarted(std::size_t i) {
        items[i].begun = false;
        return items[i];
    }

    queue q;
    queue::owner mine{q};
    queue::thief other{q};
    std::array<item, 2000> items;
};

TEST_F(run_queue_order, seed_L5_started_items_leave_in_order_of_arrival) {
    for (std::size_t round = 0; round < 3; ++round) {
        for (std::size_t i = 0; i < 10; ++i) ASSERT_TRUE(mine.push(started(i)));
        for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(mine.pop(), &items[i]);
        EXPECT_EQ(mine.pop(), nullptr);
    }
}

TEST_F(run_queue_order, unstarted_items_leave_newest_first) {
    for (std::size_t i = 0; i < 5; ++i) ASSERT_TRUE(mine.push(unstarted(i)));
    for (std::size_t i = 5; i > 0; --i) EXPECT_EQ(mine.pop(), &items[i - 1]);
}

TEST_F(run_queue_order, the_oldest_has_its_turn_among_ever_newer_ones) {
    const auto turns_of = [&](item& oldest) {
        EXPECT_TRUE(mine.push(oldest));
        for (std::size_t turns = 1;; ++turns) {
            EXPECT_TRUE(mine.push(unstarted(turns)));
            if (mine.pop() == &oldest || turns == 2000) return turns;
        }
    };
    EXPECT_EQ(turns_of(unstarted(0)), 1025u);
    while (mine.pop()) {}
    EXPECT_LE(turns_of(started(0)), 65u);
}

TEST_F(run_queue_order, seed_L9_the_last_goes_on_before_the_oldest_if_it_is_asked_for) {
    for (std::size_t i = 0; i < 3; ++i) ASSERT_TRUE(mine.push(started(i)));
    EXPECT_FALSE(mine.take_last(items[0]));
    EXPECT_FALSE(mine.take_last(items[9]));
    EXPECT_TRUE(mine.take_last(items[2]));
    EXPECT_EQ(mine.push_next(started(3)), nullptr);
    EXPECT_FALSE(mine.take_last(items[1]));  // one that was woken goes first
    EXPECT_EQ(mine.pop(), &items[3]);
    EXPECT_TRUE(mine.take_last(items[1]));
    EXPECT_TRUE(mine.take_last(items[0]));
    EXPECT_FALSE(mine.take_last(items[0]));
    ASSERT_TRUE(mine.push(unstarted(4)));  // another life of the same block
    EXPECT_FALSE(mine.take_last(items[4]));
}

TEST_F(run_queue_order, seed_L9_the_oldest_has_its_turn_among_ever_later_ones) {
    ASSERT_TRUE(mine.push(started(0)));
    for (std::size_t i = 1; i <= 64; ++i) {
        ASSERT_TRUE(mine.push(started(i)));
        ASSERT_TRUE(mine.take_last(items[i])) << i;
    }
    ASSERT_TRUE(mine.push(started(65)));
    EXPECT_FALSE(mine.take_last(items[65]));
    EXPECT_EQ(mine.pop(), &items[0]);
    EXPECT_TRUE(mine.take_last(items[65]));
}

TEST_F(run_queue_order, the_slot_goes_first_and_what_it_held_goes_to_the_back) {
    ASSERT_TRUE(mine.push(started(0)));
    EXPECT_EQ(mine.push_next(started(1)), nullptr);
    EXPECT_EQ(mine.push_next(started(2)), nullptr);
    EXPECT_EQ(q.size(), 3u);
    EXPECT_EQ(mine.pop(), &items[2]);
    EXPECT_EQ(mine.pop(), &items[0]);
    EXPECT_EQ(mine.pop(), &items[1]);
}

TEST_F(run_queue_order, the_slot_keeps_its_item_while_the_oldest_has_its_turn) {
    ASSERT_TRUE(mine.push(started(0)));
    ASSERT_TRUE(mine.push(unstarted(1)));
    for (int turn = 0; turn < 64; ++turn) {
        EXPECT_EQ(mine.push_next(started(2)), nullptr);
        EXPECT_EQ(mine.pop(), &items[2]);
    }
    EXPECT_EQ(mine.push_next(started(2)), nullptr);
    EXPECT_EQ(mine.pop(), &items[0]);
    EXPECT_EQ(mine.pop(), &items[2]);
    EXPECT_EQ(mine.pop(), &items[1]);
}

TEST_F(run_queue_order, a_conversation_in_the_slot_cannot_starve_the_deque) {
    constexpr std::size_t waiting = 10;
    for (std::size_t i = 0; i < waiting; ++i) ASSERT_TRUE(mine.push(started(i)));
    std::size_t seen = 0;
    for (std::size_t turn = 1; seen < waiting; ++turn) {
        EXPECT_EQ(mine.push_next(started(100 + turn % 2)), nullptr);
        auto* const taken = mine.pop();
        ASSERT_NE(taken, nullptr);
        if (taken == &items[seen]) ++seen;
        ASSERT_LE(turn, 65 * (waiting + 1));
    }
}

TEST_F(run_queue_order, taking_back_gives_way_to_a_started_oldest) {
    ASSERT_TRUE(mine.push(started(0)));
    int taken = 0;
    for (; taken < 100; ++taken) {
        ASSERT_TRUE(mine.push(unstarted(1)));
        if (!mine.take_back(items[1])) break;
    }
    EXPECT_EQ(taken, 64);
    EXPECT_EQ(mine.pop(), &items[0]);
    EXPECT_TRUE(mine.take_back(items[1]));
}

TEST_F(run_queue_order, the_bound_holds_while_items_are_popped_and_taken_back) {
    ASSERT_TRUE(mine.push(started(0)));
    for (int turn = 0;; ++turn) {
        ASSERT_LE(turn, 65);
        ASSERT_TRUE(mine.push(unstarted(1)));
        if (turn % 2 && mine.take_back(items[1])) continue;
        if (mine.pop() == &items[0]) break;
    }
}

TEST_F(run_queue_order, rotate_is_a_pop_and_a_push) {
    EXPECT_EQ(mine.rotate(started(9)), nullptr);
    EXPECT_TRUE(q.empty());
    for (std::size_t i = 0; i < 4; ++i) ASSERT_TRUE(mine.push(started(i)));  // full
    EXPECT_EQ(mine.rotate(started(4)), &items[0]);
    EXPECT_EQ(mine.push_next(started(5)), nullptr);
    EXPECT_EQ(mine.rotate(started(6)), &items[5]);  // must grow
    ASSERT_TRUE(mine.push(unstarted(7)));
    EXPECT_EQ(mine.rotate(started(8)), &items[7]);
    for (const std::size_t i : {1u, 2u, 3u, 4u, 6u, 8u}) EXPECT_EQ(mine.pop(), &items[i]);
}

TEST_F(run_queue_order, a_burst_fits_and_its_memory_is_given_back) {
    for (std::size_t i = 0; i < items.size(); ++i) ASSERT_TRUE(mine.push(started(i)));
    EXPECT_EQ(q.size(), items.size());
    mine.trim();
    EXPECT_EQ(q.size(), items.size());  // not while it is used
    for (auto& i : items) EXPECT_EQ(mine.pop(), &i);
    mine.trim();
    ASSERT_TRUE(mine.push(started(0)));
    EXPECT_EQ(mine.pop(), &items[0]);
}

TEST_F(run_queue_order, RUN_QUEUE_5_who_asks_gets_the_older_half_at_the_next_visit) {
    for (std::size_t i = 0; i < 5; ++i) ASSERT_TRUE(mine.push(started(i)));
    ASSERT_TRUE(other.ask());
    EXPECT_FALSE(other.ask());
    EXPECT_FALSE(other.answered());
    mine.leave();
    mine.enter();
    ASSERT_TRUE(other.answered());
    item* stolen[4];
    EXPECT_EQ(other.collect(stolen), 2u);
    EXPECT_EQ(stolen[0], &items[0]);
    EXPECT_EQ(stolen[1], &items[1]);
    EXPECT_EQ(q.size(), 3u);
}

TEST_F(run_queue_order, RUN_QUEUE_1_an_owner_inside_is_not_overruled_and_one_outside_is) {
    prepare_heavy_fence();
    using outcome = queue::thief::outcome;
    for (std::size_t i = 0; i < 3; ++i) ASSERT_TRUE(mine.push(started(i)));
    ASSERT_TRUE(other.ask());
    item* stolen[4];
    std::uint32_t n = 0;
    EXPECT_EQ(other.overrule(stolen, n), outcome::busy);
    mine.leave();
    EXPECT_EQ(other.overrule(stolen, n), outcome::taken);
    EXPECT_EQ(n, 2u);
    EXPECT_EQ(stolen[0], &items[0]);
    mine.enter();
    EXPECT_EQ(mine.pop(), &items[2]);
    EXPECT_EQ(mine.push_next(started(7)), nullptr);
    mine.leave();
    ASSERT_TRUE(other.ask());
    EXPECT_EQ(other.overrule(stolen, n), outcome::taken);  // nothing else is there: the slot's
    EXPECT_EQ(n, 1u);
    EXPECT_EQ(stolen[0], &items[7]);
    mine.enter();
    EXPECT_TRUE(q.empty());
}

TEST_F(run_queue_order, RUN_QUEUE_2_a_call_ends_by_withdrawal_or_by_an_answer) {
    for (std::size_t i = 0; i < 2; ++i) ASSERT_TRUE(mine.push(started(i)));
    ASSERT_TRUE(other.ask());
    EXPECT_TRUE(other.withdraw());
    ASSERT_TRUE(other.ask());
    mine.leave();
    mine.enter();
    EXPECT_FALSE(other.withdraw());
    item* stolen[4];
    EXPECT_EQ(other.collect(stolen), 1u);
    EXPECT_TRUE(other.ask());
    EXPECT_TRUE(other.withdraw());
}

struct fetched_item : item {
    mutable int blocks = 0, stacks = 0;
    void prefetch_block() const { ++blocks; }
    void prefetch_stack() const { ++stacks; }
};

class run_queue_fetches : public ::testing::Test {
protected:
    using queue = test::held_queue<fetched_item, 4, 4>;

    void SetUp() override { mine.enter(); }
    void TearDown() override { mine.leave(); }
    void push(std::size_t from, std::size_t to) {
        for (auto i = from; i < to; ++i) ASSERT_TRUE(mine.push(items[i]));
    }
    void pop(std::size_t from, std::size_t to) {
        for (auto i = from; i < to; ++i) ASSERT_EQ(mine.pop(), &items[i]);
    }
    /// That these items were fetched, once each, and no others.
    void expect(std::size_t blocks_from, std::size_t blocks_to, std::size_t stacks_from, std::size_t stacks_to) {
        for (std::size_t i = 0; i < items.size(); ++i) {
            EXPECT_EQ(items[i].blocks, blocks_from <= i && i < blocks_to ? 1 : 0) << i;
            EXPECT_EQ(items[i].stacks, stacks_from <= i && i < stacks_to ? 1 : 0) << i;
        }
    }

    queue q;
    queue::owner mine{q};
    std::array<fetched_item, 200> items;
};

TEST_F(run_queue_fetches, nothing_unless_asked_to) {
    push(0, 100);
    pop(0, 100);
    expect(0, 0, 0, 0);
}

TEST_F(run_queue_fetches, what_stands_behind_as_many_as_there_were) {
    push(0, 20);
    pop(0, 20);
    push(20, 30);
    mine.fetch_ahead();
    push(30, 40);
    pop(20, 21);
    expect(24, 25, 22, 23);
    pop(21, 40);
    expect(24, 34, 22, 32);
}

TEST_F(run_queue_fetches, nothing_that_is_not_in_the_queue) {
    push(0, 6);
    mine.fetch_ahead();
    pop(0, 6);
    expect(4, 6, 2, 6);
}

/// One owner, which is outside for random times, and three thieves that take turns; each item is marked by whoever takes it.
TEST(run_queue, RUN_QUEUE_1_RUN_QUEUE_4_every_item_is_taken_once_stress) {
    prepare_heavy_fence();
    using queue = test::held_queue<item, 16, 8>;
    using outcome = queue::thief::outcome;
    constexpr int count = test::scaled(200'000);
    const test::seed seed;
    std::vector<item> items(count);
    queue q;
    std::atomic<bool> over{false};
    std::atomic<int> taken{0}, overruled{0}, answered{0};
    const auto mark = [&](item& i) {
        EXPECT_EQ(i.taken.fetch_add(1), 0);
        ++taken;
    };
    const auto rob = [&](std::minstd_rand& random) {
        queue::thief thief(q);
        if (!thief.ask()) return;
        std::array<item*, 8> stolen{};
        std::uint32_t n = 0;
        for (auto looks = test::below(random, 200); looks > 0 && !thief.answered(); --looks) cpu_relax();
        if (!thief.answered() && test::below(random, 2) && thief.overrule(stolen.data(), n) == outcome::taken) {
            ++overruled;
        } else if (!thief.withdraw()) {
            while (!thief.answered()) cpu_relax();
            n = thief.collect(stolen.data());
            ++answered;
        }
        for (std::uint32_t i = 0; i < n; ++i) mark(*stolen[i]);
    };
    std::vector<std::thread> thieves;
    for (unsigned t = 0; t < 3; ++t)
        thieves.emplace_back([&, t] {
            auto random = seed.of(t + 1);
            while (!over) {
                rob(random);
                std::this_thread::yield();
            }
        });
    queue::owner mine(q);
    auto random = seed.of(0);
    for (int i = 0; i < count;) {
        mine.enter();
        for (auto n = test::below(random, 20); n > 0 && i < count; --n, ++i) {
            auto& next = items[static_cast<std::size_t>(i)];
            next.begun = test::below(random, 2);
            if (test::below(random, 4) == 0)
                ASSERT_EQ(mine.push_next(next), nullptr);
            else
                ASSERT_TRUE(mine.push(next));
        }
        for (auto n = test::below(random, 6); n > 0; --n)
            if (auto* const f = mine.pop()) mark(*f);
        mine.leave();
        for (auto n = test::below(random, 300); n > 0; --n) cpu_relax();
    }
    while (taken != count) {
        mine.enter();
        while (auto* const f = mine.pop()) mark(*f);
        mine.leave();
        std::this_thread::yield();
    }
    over = true;
    for (auto& t : thieves) t.join();
    EXPECT_TRUE(q.empty());
    std::printf("%d answers, %d times overruled\n", answered.load(), overruled.load());
}

}  // namespace
}  // namespace weft::detail
