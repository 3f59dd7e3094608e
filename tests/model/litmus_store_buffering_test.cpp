// litmus_store_buffering_test.cpp - proves the checker on programs where a store may be overtaken by a later load.
#include "model/litmus.hpp"

namespace litmus {
namespace {

// { x = 1; r1 = y } || { y = 1; r2 = x }
struct sb {
    std::memory_order store, load;
    std::memory_order fence1 = relaxed, fence2 = relaxed;  // relaxed: none

    outcome operator()(model::execution& t) const {
        atomic<int> x{0}, y{0};
        int r1 = 0, r2 = 0;
        t.thread([&] { x.store(1, store); fence(fence1); r1 = y.load(load); });
        t.thread([&] { y.store(1, store); fence(fence2); r2 = x.load(load); });
        t.join_all();
        return {r1, r2};
    }
};

TEST(store_buffering, relaxed_shows_all_four) { EXPECT_EQ(all(sb{relaxed, relaxed}), bits(2)); }
TEST(store_buffering, release_and_acquire_show_all_four) { EXPECT_EQ(all(sb{release, acquire}), bits(2)); }
TEST(store_buffering, seq_cst_excludes_both_old) { EXPECT_EQ(all(sb{seq_cst, seq_cst}), bits(2, {{0, 0}})); }
TEST(store_buffering, seq_cst_stores_alone_show_all_four) { EXPECT_EQ(all(sb{seq_cst, acquire}), bits(2)); }
TEST(store_buffering, seq_cst_loads_alone_show_all_four) { EXPECT_EQ(all(sb{release, seq_cst}), bits(2)); }

TEST(store_buffering, two_seq_cst_fences_exclude_both_old) {
    EXPECT_EQ(all(sb{relaxed, relaxed, seq_cst, seq_cst}), bits(2, {{0, 0}}));
}
TEST(store_buffering, one_seq_cst_fence_shows_all_four) {
    EXPECT_EQ(all(sb{relaxed, relaxed, seq_cst, relaxed}), bits(2));
}
TEST(store_buffering, acq_rel_fences_show_all_four) {
    EXPECT_EQ(all(sb{relaxed, relaxed, acq_rel, acq_rel}), bits(2));
}

TEST(store_buffering, a_fence_works_against_seq_cst_operations) {
    EXPECT_EQ(all([](model::execution& t) -> outcome {
        atomic<int> x{0}, y{0};
        int r1 = 0, r2 = 0;
        t.thread([&] { x.store(1, relaxed); fence(seq_cst); r1 = y.load(relaxed); });
        t.thread([&] { y.store(1, seq_cst); r2 = x.load(seq_cst); });
        t.join_all();
        return {r1, r2};
    }), bits(2, {{0, 0}}));
}

TEST(store_buffering, a_bound_of_three_preemptions_shows_the_same) {
    EXPECT_EQ(all(sb{relaxed, relaxed}, {.preemptions = 3}), bits(2));
    EXPECT_EQ(all(sb{seq_cst, seq_cst}, {.preemptions = 3}), bits(2, {{0, 0}}));
    EXPECT_EQ(all(sb{relaxed, relaxed, seq_cst, seq_cst}, {.preemptions = 3}), bits(2, {{0, 0}}));
}

// R: { x = 1; y = 1 } || { y = 2; r = x }, outcome { y at the end, r }
struct store_then_load {
    std::memory_order order;
    std::memory_order between = relaxed;

    outcome operator()(model::execution& t) const {
        const auto load = order == release ? acquire : order;
        atomic<int> x{0}, y{0};
        int r = 0;
        t.thread([&] { x.store(1, order); fence(between); y.store(1, order); });
        t.thread([&] { y.store(2, order); fence(between); r = x.load(load); });
        t.join_all();
        return {y.load(relaxed), r};
    }
};

const outcomes r_weak = {{1, 0}, {1, 1}, {2, 0}, {2, 1}};
const outcomes r_strong = {{1, 0}, {1, 1}, {2, 1}};

TEST(store_then_load, shows_the_old_value_unless_seq_cst_orders_it) {
    EXPECT_EQ(all(store_then_load{relaxed}), r_weak);
    EXPECT_EQ(all(store_then_load{release}), r_weak);
    EXPECT_EQ(all(store_then_load{seq_cst}), r_strong);
    EXPECT_EQ(all(store_then_load{relaxed, seq_cst}), r_strong);
}

// Dekker's entry: at most one may come in. `count` is plain, so two inside are also a race.
model::result dekker(std::memory_order fences) {
    return model::explore({.preemptions = model::unlimited}, [=](model::execution& t) {
        atomic<int> wants[2] = {0, 0};
        plain<int> count{0};
        const auto enter = [&](int me) {
            wants[me].store(1, relaxed);
            fence(fences);
            if (wants[1 - me].load(relaxed) == 0) count.set(count.get() + 1);
        };
        t.thread([&] { enter(0); });
        t.thread([&] { enter(1); });
        t.join_all();
        model::check(count.get() <= 1, "two inside");
    });
}

TEST(dekker, seq_cst_fences_let_one_in) {
    const auto r = dekker(seq_cst);
    EXPECT_TRUE(r.ok) << r.report;
    EXPECT_TRUE(r.complete);
}
TEST(dekker, weaker_fences_let_two_in) { EXPECT_FALSE(dekker(acq_rel).ok); }

}  // namespace
}  // namespace litmus
