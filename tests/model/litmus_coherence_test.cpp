// litmus_coherence_test.cpp - proves the checker on single locations: modification order, RMW, release sequences.
#include "model/litmus.hpp"

namespace litmus {
namespace {

TEST(coherence, one_reader_never_goes_back) {
    EXPECT_EQ(all([](model::execution& t) -> outcome {
        atomic<int> x{0};
        int r1 = 0, r2 = 0;
        t.thread([&] { x.store(1, relaxed); x.store(2, relaxed); });
        t.thread([&] { r1 = x.load(relaxed); r2 = x.load(relaxed); });
        t.join_all();
        return {r1, r2};
    }), (outcomes{{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}}));
}

TEST(coherence, two_readers_agree_on_the_order_of_stores) {
    const outcomes seen = all([](model::execution& t) -> outcome {
        atomic<int> x{0};
        int r1 = 0, r2 = 0, r3 = 0, r4 = 0;
        t.thread([&] { x.store(1, relaxed); });
        t.thread([&] { x.store(2, relaxed); });
        t.thread([&] { r1 = x.load(relaxed); r2 = x.load(relaxed); });
        t.thread([&] { r3 = x.load(relaxed); r4 = x.load(relaxed); });
        t.join_all();
        return {r1, r2, r3, r4};
    });
    EXPECT_FALSE(seen.contains({1, 2, 2, 1}));
    EXPECT_FALSE(seen.contains({2, 1, 1, 2}));
    EXPECT_TRUE(seen.contains({1, 2, 1, 2}));
    EXPECT_TRUE(seen.contains({2, 1, 2, 1}));
    EXPECT_EQ(seen.size(), 47U);  // each reader: 00 01 02 11 12 21 22; 7 x 7 without the two above
}

TEST(coherence, a_thread_sees_its_own_store_or_a_later_one) {
    EXPECT_EQ(all([](model::execution& t) -> outcome {
        atomic<int> x{0};
        int r = 0;
        t.thread([&] { x.store(1, relaxed); r = x.load(relaxed); });
        t.thread([&] { x.store(2, relaxed); });
        t.join_all();
        return {r, x.load(relaxed)};
    }), (outcomes{{1, 1}, {1, 2}, {2, 2}}));
}

// { x = 1; y = 2 } || { y = 1; x = 2 }, outcome { x, y } at the end
struct two_plus_two_writes {
    std::memory_order order;
    std::memory_order between = relaxed;

    outcome operator()(model::execution& t) const {
        atomic<int> x{0}, y{0};
        t.thread([&] { x.store(1, order); fence(between); y.store(2, order); });
        t.thread([&] { y.store(1, order); fence(between); x.store(2, order); });
        t.join_all();
        return {x.load(relaxed), y.load(relaxed)};
    }
};

const outcomes w_weak = {{1, 1}, {1, 2}, {2, 1}, {2, 2}};
const outcomes w_strong = {{1, 2}, {2, 1}, {2, 2}};

TEST(two_plus_two_writes, only_seq_cst_keeps_both_first_stores_from_staying) {
    EXPECT_EQ(all(two_plus_two_writes{relaxed}), w_weak);
    EXPECT_EQ(all(two_plus_two_writes{release}), w_weak);
    EXPECT_EQ(all(two_plus_two_writes{seq_cst}), w_strong);
    EXPECT_EQ(all(two_plus_two_writes{relaxed, seq_cst}), w_strong);
}
TEST(two_plus_two_writes, needs_one_reordering) {
    EXPECT_EQ(all(two_plus_two_writes{relaxed}, {.preemptions = model::unlimited, .reorderings = 0}), w_strong);
    EXPECT_EQ(all(two_plus_two_writes{relaxed}, {.preemptions = model::unlimited, .reorderings = 1}), w_weak);
}

// S: { x = 2; y = 1 } || { r = y; x = 1 }, outcome { r, x at the end }
TEST(read_then_write, acquire_keeps_the_store_behind_what_it_knows) {
    const auto run = [](std::memory_order store, std::memory_order load) {
        return all([=](model::execution& t) -> outcome {
            atomic<int> x{0}, y{0};
            int r = 0;
            t.thread([&] { x.store(2, relaxed); y.store(1, store); });
            t.thread([&] { r = y.load(load); x.store(1, relaxed); });
            t.join_all();
            return {r, x.load(relaxed)};
        });
    };
    EXPECT_EQ(run(relaxed, relaxed), (outcomes{{0, 1}, {0, 2}, {1, 1}, {1, 2}}));
    EXPECT_EQ(run(release, acquire), (outcomes{{0, 1}, {0, 2}, {1, 1}}));
}

TEST(read_modify_write, none_is_lost) {
    EXPECT_EQ(all([](model::execution& t) -> outcome {
        atomic<int> x{0};
        int r1 = 0, r2 = 0, r3 = 0;
        t.thread([&] { r1 = x.fetch_add(1, relaxed); });
        t.thread([&] { r2 = x.fetch_add(1, relaxed); });
        t.thread([&] { r3 = x.fetch_add(1, relaxed); });
        t.join_all();
        return {r1, r2, r3, x.load(relaxed)};
    }), (outcomes{{0, 1, 2, 3}, {0, 2, 1, 3}, {1, 0, 2, 3}, {1, 2, 0, 3}, {2, 0, 1, 3}, {2, 1, 0, 3}}));
}

TEST(read_modify_write, one_exchange_of_a_pair_wins) {
    EXPECT_EQ(all([](model::execution& t) -> outcome {
        atomic<int> x{0};
        int won1 = 0, won2 = 0;
        const auto claim = [&](int me) {
            int expected = 0;
            return x.compare_exchange_strong(expected, me, relaxed, relaxed) ? 1 : 0;
        };
        t.thread([&] { won1 = claim(1); });
        t.thread([&] { won2 = claim(2); });
        t.join_all();
        return {won1, won2, x.load(relaxed)};
    }), (outcomes{{1, 0, 1}, {0, 1, 2}}));
}

TEST(read_modify_write, weak_may_fail_without_reason_as_often_as_allowed) {
    const auto claim = [](model::execution& t) -> outcome {
        atomic<int> x{0};
        int tries = 1;
        t.thread([&] {
            for (int expected = 0; !x.compare_exchange_weak(expected, 1, relaxed, relaxed);) ++tries;
        });
        t.join_all();
        return {tries};
    };
    EXPECT_EQ(all(claim), (outcomes{{1}}));
    EXPECT_EQ(all(claim, {.spurious = 2}), (outcomes{{1}, {2}, {3}}));
}

TEST(read_modify_write, values_wrap_like_their_type) {
    EXPECT_EQ(all([](model::execution& t) -> outcome {
        atomic<std::uint8_t> x{255};
        atomic<bool> flag{false};
        t.thread([&] { x.fetch_add(2, relaxed); x.fetch_or(4, relaxed); x.fetch_xor(1, relaxed); });
        t.thread([&] { flag.exchange(true, relaxed); });
        t.join_all();
        return {x.load(relaxed), flag.load(relaxed) ? 1 : 0};
    }), (outcomes{{4, 1}}));
}

// { data = 1; x = 1 release; [x = 3 relaxed] } || { RMW or store on x } || { x acquire: what is known of data }
struct release_sequence {
    bool same_thread_store, by_rmw;

    model::result operator()() const {
        return model::explore({.preemptions = model::unlimited}, [*this](model::execution& t) {
            atomic<int> x{0};
            plain<int> data{0};
            t.thread([&] {
                data.set(1);
                x.store(1, release);
                if (same_thread_store) x.store(3, relaxed);
            });
            t.thread([&] {
                int one = 1;
                if (by_rmw) (void)x.compare_exchange_strong(one, 2, relaxed, relaxed);
                else if (x.load(relaxed) == 1) x.store(2, relaxed);
            });
            t.thread([&] {
                const int seen = x.load(acquire);
                if (seen == 2 || seen == 3) model::check(data.get() == 1, "data of the release sequence");
            });
            t.join_all();
        });
    }
};

TEST(release_sequence, goes_through_a_relaxed_read_modify_write) {
    const auto r = release_sequence{.same_thread_store = false, .by_rmw = true}();
    EXPECT_TRUE(r.ok) << r.report;
}
TEST(release_sequence, ends_at_another_threads_store) {
    EXPECT_FALSE((release_sequence{.same_thread_store = false, .by_rmw = false}().ok));
}
TEST(release_sequence, ends_at_the_same_threads_relaxed_store) {  // C++20; C++11 let it go on
    EXPECT_FALSE((release_sequence{.same_thread_store = true, .by_rmw = true}().ok));
}

}  // namespace
}  // namespace litmus
