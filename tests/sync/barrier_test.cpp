// barrier_test.cpp - nobody leaves a phase before all have arrived, and the completion function runs in between.
#include <weft/barrier.hpp>

#include <weft/deadline.hpp>

#include <memory>

#include "sync/crew.hpp"

namespace {

constexpr std::string_view reason = "barrier";

class barrier_contract : public testing::TestWithParam<setting> {};

TEST_P(barrier_contract, seed_Q10_phases_do_not_overlap) {
    const auto who = GetParam();
    constexpr int parties = 6, phases = 60;
    int completed = 0;  // no atomics: the barrier orders them
    std::vector<int> progress(parties);
    weft::barrier b(parties, [&]() noexcept {
        ++completed;
        EXPECT_EQ(progress, std::vector<int>(parties, completed));
    });
    crew all(who.workers);
    for (auto& mine : progress)
        all.start(&mine - progress.data() < parties / 2 ? who.left : who.right, [&] {
            for (int n = 1; n <= phases; ++n) {
                mine = n;
                b.arrive_and_wait();
                EXPECT_EQ(completed, n);  // stays so: the next phase does not end without us
            }
        });
    all.finish();
    EXPECT_EQ(completed, phases);
}

INSTANTIATE_TEST_SUITE_P(all, barrier_contract, testing::ValuesIn(all_settings()),
                         [](const auto& p) { return name_of(p.param); });

TEST(barrier, arrive_and_wait_apart) {
    int completed = 0;
    weft::barrier b(2, [&]() noexcept { ++completed; });
    auto first = b.arrive();
    EXPECT_FALSE(b.wait_for(first, 1ms));
    EXPECT_FALSE(b.wait_until(first, std::chrono::steady_clock::now()));
    auto second = b.arrive();
    EXPECT_EQ(completed, 1);
    EXPECT_TRUE(b.wait_for(first, 0s));
    b.wait(std::move(first));
    b.wait(std::move(second));
    b.wait(b.arrive(2));
    EXPECT_EQ(completed, 2);
}

TEST(barrier, who_drops_out_is_expected_no_more) {
    weft::barrier<> b(3);
    crew all(2);
    for (int i = 0; i < 2; ++i)
        all.start(party::fiber, [&] {
            for (int n = 0; n < 5; ++n) b.arrive_and_wait();
        });
    b.arrive_and_drop();
    all.finish();
}

TEST(barrier, the_completion_function_may_park) {
    weft::barrier b(2, []() noexcept { weft::this_fiber::sleep_for(1ms); });
    crew all(1);
    for (int i = 0; i < 2; ++i)
        all.start(party::fiber, [&] {
            for (int n = 0; n < 3; ++n) b.arrive_and_wait();
        });
    all.finish();
}

TEST(barrier, rule_3_an_interrupted_wait_has_arrived) {
    weft::barrier<> b(2);
    std::stop_source stop;
    weft::runtime rt({.workers = 1});
    auto f = rt.spawn([&] { b.arrive_and_wait(); });
    ASSERT_TRUE(eventually_wait_for(rt, reason, 1));
    f.request_stop();
    EXPECT_THROW(f.join(), weft::fiber_cancelled);
    // who has to stop already does not arrive
    EXPECT_THROW(weft::with_deadline(std::chrono::steady_clock::now() - 1s, [&] { b.arrive_and_wait(); }), weft::timeout_error);
    b.wait(b.arrive());

    auto g = rt.spawn([&] { return b.wait(b.arrive(), stop.get_token()); });
    ASSERT_TRUE(eventually_wait_for(rt, reason, 1));
    stop.request_stop();
    EXPECT_FALSE(g.join());
}

TEST(barrier, rule_4_stress_a_waiter_may_destroy_it) {
    weft::runtime rt({.workers = 4});
    const auto end = std::chrono::steady_clock::now() + 300ms;
    while (std::chrono::steady_clock::now() < end) {
        auto b = std::make_unique<weft::barrier<>>(2);
        auto* const shared = b.get();
        auto f = rt.spawn([=] { static_cast<void>(shared->arrive()); });
        b->arrive_and_wait();
        b.reset();
        f.join();
    }
}

TEST(barrier_death, rule_2_more_arrivals_than_expected) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(static_cast<void>(weft::barrier<>(1).arrive(2)), "barrier: more arrivals than expected");
    EXPECT_DEATH(static_cast<void>(weft::barrier<>(1).arrive(0)), "barrier: arrives at least once");
    EXPECT_DEATH(weft::barrier<>(-1), "barrier: a negative number of parties");
}

}  // namespace
