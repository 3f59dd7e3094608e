// class_turns_test.cpp - shares and bounds of the classes of fibers, as numbers alone: no worker, no fiber.
#include "sched/class_turns.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "support/random.hpp"

namespace weft::detail {
namespace {

ready_classes of(std::initializer_list<priority> those) {
    ready_classes ready;
    for (const auto p : those) ready.add(p);
    return ready;
}

/// Dispatches one after the other, each with a choice of its own.
struct dispatcher {
    class_turns turns;
    std::uint64_t dispatches = 0;

    priority next(ready_classes ready) {
        turns.charge(dispatches);
        turns.give(turns.choose(ready));
        ++dispatches;
        return turns.turn();
    }
    std::map<priority, int> count(ready_classes ready, int n) {
        std::map<priority, int> had;
        while (n-- > 0) ++had[next(ready)];
        return had;
    }
};

TEST(class_turns, CLASS_TURNS_1_shares_are_64_to_8_to_1) {
    dispatcher d;
    const auto three = of({priority::high, priority::normal, priority::low});
    d.count(three, 73);  // so that nobody has just come
    for (int round = 0; round < 10; ++round)
        EXPECT_EQ(d.count(three, 73), (std::map<priority, int>{{priority::high, 64}, {priority::normal, 8}, {priority::low, 1}}))
            << round;
}

TEST(class_turns, CLASS_TURNS_1_what_a_class_does_not_use_the_others_have) {
    dispatcher d;
    const auto above = of({priority::high, priority::normal}), below = of({priority::normal, priority::low});
    const auto ends = of({priority::high, priority::low});
    d.count(above, 90);
    EXPECT_EQ(d.count(above, 90), (std::map<priority, int>{{priority::high, 80}, {priority::normal, 10}}));
    d.count(below, 90);
    EXPECT_EQ(d.count(below, 90), (std::map<priority, int>{{priority::normal, 80}, {priority::low, 10}}));
    d.count(ends, 65);
    EXPECT_EQ(d.count(ends, 65), (std::map<priority, int>{{priority::high, 64}, {priority::low, 1}}));
    EXPECT_EQ(d.count(of({priority::low}), 10), (std::map<priority, int>{{priority::low, 10}}));
}

TEST(class_turns, CLASS_TURNS_3_who_comes_goes_before_those_below_and_waits_for_its_share_of_those_above) {
    dispatcher d;
    d.count(of({priority::low}), 1000);
    EXPECT_EQ(d.next(of({priority::normal, priority::low})), priority::normal);
    EXPECT_EQ(d.next(of({priority::high, priority::normal, priority::low})), priority::high);

    dispatcher e;
    e.count(of({priority::normal}), 1000);
    EXPECT_EQ(e.next(of({priority::high, priority::normal})), priority::high);
    const auto had = e.count(of({priority::normal, priority::low}), 7);
    EXPECT_EQ(had.count(priority::low), 0u);
}

TEST(class_turns, CLASS_TURNS_3_who_was_away_has_saved_nothing_up) {
    dispatcher d;
    const auto both = of({priority::high, priority::normal});
    d.count(both, 100);
    d.count(of({priority::normal}), 100'000);
    EXPECT_EQ(d.count(both, 8).count(priority::normal), 0u);  // it has just had one
    for (int round = 0; round < 100; ++round) EXPECT_EQ(d.count(both, 9).count(priority::normal), 1u) << round;
}

TEST(class_turns, CLASS_TURNS_3_who_comes_and_goes_has_no_more_than_who_stays) {
    dispatcher d;
    int low = 0;
    for (int i = 0; i < 900; ++i)
        low += d.next(i % 2 ? of({priority::normal}) : of({priority::normal, priority::low})) == priority::low;
    EXPECT_LE(low, 101);
}

TEST(class_turns, CLASS_TURNS_2_a_turn_counted_at_its_end_is_as_good_as_one_counted_step_by_step) {
    const auto three = of({priority::high, priority::normal, priority::low});
    dispatcher step_by_step;
    class_turns whole;
    std::uint64_t dispatches = 0;
    while (dispatches < 1000) {
        whole.charge(dispatches);
        whole.give(whole.choose(three));
        const auto n = whole.length();
        ASSERT_NE(n, 0u);
        for (std::uint64_t i = 0; i < n; ++i) ASSERT_EQ(step_by_step.next(three), whole.turn()) << dispatches + i;
        dispatches += n;
    }
    dispatcher alone;
    alone.next(of({priority::normal}));
    EXPECT_EQ(alone.turns.length(), class_turns::unlimited);
}

TEST(class_turns, CLASS_TURNS_4_a_class_that_is_ready_waits_for_so_many_and_no_more) {
    const test::seed seed;
    auto random = seed.of(0);
    const std::map<priority, int> most = {{priority::high, 2}, {priority::normal, 9}, {priority::low, 73}};
    std::map<priority, int> waited, worst;
    dispatcher d;
    ready_classes ready;
    for (int i = 0; i < 500'000; ++i) {
        if (test::below(random, 20) == 0) {
            ready = {};
            for (const auto p : class_turns::all) ready.add(p, test::below(random, 3) != 0);
            if (ready.none()) ready.add(class_turns::all[test::below(random, 3)]);
        }
        const auto had = d.next(ready);
        for (const auto p : class_turns::all) {
            waited[p] = ready.has(p) && p != had ? waited[p] + 1 : 0;
            worst[p] = std::max(worst[p], waited[p]);
        }
    }
    for (const auto p : class_turns::all) EXPECT_LE(worst[p], most.at(p)) << static_cast<int>(p);
}

}  // namespace
}  // namespace weft::detail
