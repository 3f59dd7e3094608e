// latch_test.cpp - a latch opens at zero, once, for all who wait.
#include <weft/latch.hpp>

#include <weft/deadline.hpp>

#include <memory>

#include "sync/crew.hpp"

namespace {

constexpr std::string_view reason = "latch";

class latch_contract : public testing::TestWithParam<setting> {};

TEST_P(latch_contract, seed_Q10_wait_comes_after_every_count_down) {
    const auto who = GetParam();
    crew all(who.workers);
    for (int round = 0; round < 20; ++round) {
        weft::latch l(8);
        std::vector<int> results(8);
        for (auto& r : results)
            all.start(who.left, [&] {
                r = 1;
                l.count_down();
            });
        for (int i = 0; i < 2; ++i)
            all.start(who.right, [&] {
                l.wait();
                EXPECT_EQ(results, std::vector<int>(8, 1));
            });
        l.wait();
        EXPECT_TRUE(l.try_wait());
        all.finish();
    }
}

TEST_P(latch_contract, seed_Q10_all_arrive_and_wait) {
    const auto who = GetParam();
    crew all(who.workers);
    for (int round = 0; round < 10; ++round) {
        weft::latch l(6);
        std::atomic<int> here{0};
        for (int i = 0; i < 6; ++i)
            all.start(i % 2 ? who.left : who.right, [&] {
                ++here;
                l.arrive_and_wait();
                EXPECT_EQ(here, 6);
            });
        all.finish();
    }
}

INSTANTIATE_TEST_SUITE_P(all, latch_contract, testing::ValuesIn(all_settings()), [](const auto& p) { return name_of(p.param); });

TEST(latch, timed_waits_give_up) {
    weft::latch l(2);
    EXPECT_FALSE(l.try_wait());
    EXPECT_FALSE(l.wait_for(2ms));
    l.count_down(2);
    EXPECT_TRUE(l.wait_until(std::chrono::system_clock::now() - 1s));
    EXPECT_TRUE(weft::latch(0).try_wait());
}

TEST(latch, a_token_ends_a_wait) {
    weft::latch l(1);
    std::stop_source stop;
    weft::runtime rt({.workers = 1});
    auto f = rt.spawn([&] { return l.wait(stop.get_token()); });
    ASSERT_TRUE(eventually_wait_for(rt, reason, 1));
    stop.request_stop();
    EXPECT_FALSE(f.join());
    EXPECT_FALSE(l.wait_for(stop.get_token(), 1h));
    l.count_down();
    EXPECT_TRUE(l.wait_until(stop.get_token(), std::chrono::steady_clock::now()));
}

TEST(latch, who_has_to_stop_already_does_not_arrive) {
    weft::latch l(2);
    weft::runtime rt({.workers = 1});
    auto f = rt.spawn([&] { l.arrive_and_wait(); });
    ASSERT_TRUE(eventually_wait_for(rt, reason, 1));
    f.request_stop();
    EXPECT_THROW(f.join(), weft::fiber_cancelled);  // has arrived
    EXPECT_THROW(weft::with_deadline(std::chrono::steady_clock::now() - 1s, [&] { l.arrive_and_wait(); }), weft::timeout_error);
    EXPECT_FALSE(l.try_wait());
    l.count_down();
    EXPECT_TRUE(l.try_wait());
}

TEST(latch, rule_2_stress_a_waiter_may_destroy_it) {
    weft::runtime rt({.workers = 4});
    const auto end = std::chrono::steady_clock::now() + 300ms;
    while (std::chrono::steady_clock::now() < end) {
        auto l = std::make_unique<weft::latch>(2);
        auto* const shared = l.get();
        auto a = rt.spawn([=] { shared->count_down(); });
        auto b = rt.spawn([=] { shared->count_down(); });
        l->wait();
        l.reset();
        a.join();
        b.join();
    }
}

TEST(latch_death, rule_1_the_count_is_never_negative) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(weft::latch(1).count_down(2), "latch: counted down below zero");
    EXPECT_DEATH(weft::latch(1).arrive_and_wait(2), "latch: counted down below zero");
    EXPECT_DEATH(weft::latch(1).count_down(-1), "latch: counts down only");
    EXPECT_DEATH(weft::latch(-1), "latch: negative count");
}

}  // namespace
