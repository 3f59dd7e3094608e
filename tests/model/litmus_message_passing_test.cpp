// litmus_message_passing_test.cpp - proves the checker on programs where knowledge travels with a flag.
#include "model/litmus.hpp"

namespace litmus {
namespace {

// { data = 1; flag = 1 } || { r1 = flag; r2 = data }
struct mp {
    std::memory_order store, load;
    std::memory_order writer_fence = relaxed, reader_fence = relaxed;

    outcome operator()(model::execution& t) const {
        atomic<int> data{0}, flag{0};
        int r1 = 0, r2 = 0;
        t.thread([&] { data.store(1, relaxed); fence(writer_fence); flag.store(1, store); });
        t.thread([&] { r1 = flag.load(load); fence(reader_fence); r2 = data.load(relaxed); });
        t.join_all();
        return {r1, r2};
    }
};

const outcomes delivered = bits(2, {{1, 0}});

TEST(message_passing, relaxed_may_lose_the_data) { EXPECT_EQ(all(mp{relaxed, relaxed}), bits(2)); }
TEST(message_passing, release_without_acquire_may_lose_it) { EXPECT_EQ(all(mp{release, relaxed}), bits(2)); }
TEST(message_passing, acquire_without_release_may_lose_it) { EXPECT_EQ(all(mp{relaxed, acquire}), bits(2)); }
TEST(message_passing, release_and_acquire_deliver) { EXPECT_EQ(all(mp{release, acquire}), delivered); }
TEST(message_passing, seq_cst_delivers) { EXPECT_EQ(all(mp{seq_cst, seq_cst}), delivered); }
TEST(message_passing, fences_deliver) { EXPECT_EQ(all(mp{relaxed, relaxed, release, acquire}), delivered); }
TEST(message_passing, a_fence_meets_an_operation) {
    EXPECT_EQ(all(mp{relaxed, acquire, release, relaxed}), delivered);
    EXPECT_EQ(all(mp{release, relaxed, relaxed, acquire}), delivered);
}
TEST(message_passing, one_fence_alone_may_lose_it) {
    EXPECT_EQ(all(mp{relaxed, relaxed, release, relaxed}), bits(2));
    EXPECT_EQ(all(mp{relaxed, relaxed, relaxed, acquire}), bits(2));
}

// { x = 1 } || { r1 = x; y = 1 } || { r2 = y; r3 = x }
struct write_to_read_causality {
    std::memory_order store, load;

    outcome operator()(model::execution& t) const {
        atomic<int> x{0}, y{0};
        int r1 = 0, r2 = 0, r3 = 0;
        t.thread([&] { x.store(1, store); });
        t.thread([&] { r1 = x.load(load); y.store(1, store); });
        t.thread([&] { r2 = y.load(load); r3 = x.load(relaxed); });
        t.join_all();
        return {r1, r2, r3};
    }
};

TEST(causality, relaxed_may_break_the_chain) {
    EXPECT_EQ(all(write_to_read_causality{relaxed, relaxed}), bits(3));
}
TEST(causality, release_and_acquire_carry_over_three_threads) {
    EXPECT_EQ(all(write_to_read_causality{release, acquire}), bits(3, {{1, 1, 0}}));
}

// LB: { r1 = y; x = 1 } || { r2 = x; y = 1 }
struct load_buffering {
    std::memory_order load, store;

    outcome operator()(model::execution& t) const {
        atomic<int> x{0}, y{0};
        int r1 = 0, r2 = 0;
        t.thread([&] { r1 = y.load(load); x.store(1, store); });
        t.thread([&] { r2 = x.load(load); y.store(1, store); });
        t.join_all();
        return {r1, r2};
    }
};

TEST(load_buffering, acquire_or_release_excludes_both_new) {
    EXPECT_EQ(all(load_buffering{acquire, release}), bits(2, {{1, 1}}));
}

// C++20 allows {1, 1} here and real machines may show it. The checker runs operations in schedule order, so a load never
// returns a store that runs later (see memory.hpp). This asserts the limit, so that whoever lifts it finds this test.
TEST(load_buffering, relaxed_both_new_is_allowed_but_not_explored) {
    EXPECT_EQ(all(load_buffering{relaxed, relaxed}), bits(2, {{1, 1}}));
}

// The other limit: C++20 lets S contradict happens-before where seq_cst and weaker operations meet on one location, and
// so allows a == 0, b == 1, c == 3. Here S is the schedule.
TEST(seq_cst_order, a_contradiction_to_happens_before_is_allowed_but_not_explored) {
    const outcomes seen = all([](model::execution& t) -> outcome {
        atomic<int> x{0}, y{0};
        int a = 0, b = 0, c = 0;
        t.thread([&] { x.store(1, seq_cst); y.store(1, release); });
        t.thread([&] { b = y.fetch_add(1, seq_cst); c = y.load(relaxed); });
        t.thread([&] { y.store(3, seq_cst); a = x.load(seq_cst); });
        t.join_all();
        return {a, b, c};
    });
    EXPECT_FALSE(seen.contains({0, 1, 3}));
    EXPECT_TRUE(seen.contains({1, 1, 3}));
    EXPECT_TRUE(seen.contains({0, 1, 2}));
}

// { x = 1 } || { y = 1 } || { r1 = x; r2 = y } || { r3 = y; r4 = x }
struct iriw {
    std::memory_order store, load;
    std::memory_order reader_fence = relaxed;

    outcome operator()(model::execution& t) const {
        atomic<int> x{0}, y{0};
        int r1 = 0, r2 = 0, r3 = 0, r4 = 0;
        t.thread([&] { x.store(1, store); });
        t.thread([&] { y.store(1, store); });
        t.thread([&] { r1 = x.load(load); fence(reader_fence); r2 = y.load(load); });
        t.thread([&] { r3 = y.load(load); fence(reader_fence); r4 = x.load(load); });
        t.join_all();
        return {r1, r2, r3, r4};
    }
};

const outcomes one_order = bits(4, {{1, 0, 1, 0}});

TEST(iriw, readers_may_disagree_unless_seq_cst) {
    EXPECT_EQ(all(iriw{relaxed, relaxed}), bits(4));
    EXPECT_EQ(all(iriw{release, acquire}), bits(4));
}
TEST(iriw, seq_cst_readers_agree) {
    EXPECT_EQ(all(iriw{seq_cst, seq_cst}), one_order);
    EXPECT_EQ(all(iriw{release, seq_cst}), one_order);
}
TEST(iriw, seq_cst_fences_between_reads_make_readers_agree) {  // C++20; C++11 allowed the disagreement
    EXPECT_EQ(all(iriw{relaxed, relaxed, seq_cst}), one_order);
}
TEST(iriw, acquire_fences_do_not) { EXPECT_EQ(all(iriw{relaxed, relaxed, acquire}), bits(4)); }

}  // namespace
}  // namespace litmus
