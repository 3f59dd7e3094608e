// wait_group_test.cpp - a wait_group's wait ends exactly when its count is zero.
#include <weft/wait_group.hpp>

#include <weft/deadline.hpp>

#include "sync/crew.hpp"

namespace {

class wait_group_contract : public testing::TestWithParam<setting> {};

TEST_P(wait_group_contract, seed_Q10_wait_comes_after_every_done) {
    const auto who = GetParam();
    crew all(who.workers);
    for (int round = 0; round < 20; ++round) {
        weft::wait_group group;
        std::vector<int> results(8);
        group.add(8);
        for (auto& r : results)
            all.start(who.left, [&] {
                r = 1;
                group.done();
            });
        for (int i = 0; i < 2; ++i)
            all.start(who.right, [&] {
                group.wait();
                EXPECT_EQ(results, std::vector<int>(8, 1));
            });
        group.wait();
        all.finish();
    }
}

INSTANTIATE_TEST_SUITE_P(all, wait_group_contract, testing::ValuesIn(all_settings()),
                         [](const auto& p) { return name_of(p.param); });

TEST(wait_group, an_empty_one_does_not_wait) {
    weft::wait_group group;
    group.wait();
    EXPECT_TRUE(group.wait_for(0s));
}

TEST(wait_group, timed_waits_give_up) {
    weft::wait_group group(1);
    EXPECT_FALSE(group.wait_for(2ms));
    EXPECT_FALSE(group.wait_until(std::chrono::steady_clock::now() - 1s));
    group.done();
    EXPECT_TRUE(group.wait_until(std::chrono::system_clock::now() - 1s));
}

TEST(wait_group, it_can_be_used_again) {
    weft::wait_group group;
    crew all;
    for (int round = 0; round < 3; ++round) {
        group.add();
        all.start(party::fiber, [&] { group.done(); });
        group.wait();
    }
    all.finish();
}

TEST(wait_group, COUNTDOWN_2_a_wait_ends_at_zero_even_if_the_count_grows_again) {
    weft::wait_group group(1);
    crew all(1);
    all.start(party::fiber, [&] { group.wait(); });
    ASSERT_TRUE(eventually_wait_for(all.runtime(), "wait group", 1));
    group.done();
    group.add();
    all.finish();
    group.done();
}

TEST(wait_group, a_stopped_wait_throws) {
    weft::wait_group group(1);
    weft::runtime rt({.workers = 2});
    auto f = rt.spawn([&] { group.wait(); });
    ASSERT_TRUE(eventually_wait_for(rt, "wait group", 1));
    f.request_stop();
    EXPECT_THROW(f.join(), weft::fiber_cancelled);
    EXPECT_THROW(weft::with_timeout(2ms, [&] { group.wait(); }), weft::timeout_error);
    group.done();
}

TEST(wait_group, COUNTDOWN_3_stress_a_waiter_may_destroy_it) {
    weft::runtime rt({.workers = 4});
    const auto end = std::chrono::steady_clock::now() + 500ms;
    while (std::chrono::steady_clock::now() < end) {
        auto group = std::make_unique<weft::wait_group>(2);
        auto* const shared = group.get();
        auto a = rt.spawn([=] { shared->done(); });
        auto b = rt.spawn([=] { shared->done(); });
        group->wait();
        group.reset();
        a.join();
        b.join();
    }
}

TEST(wait_group_death, COUNTDOWN_1_the_count_is_never_negative) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            weft::wait_group group;
            group.done();
        },
        "wait_group: more done\\(\\) than add\\(\\)");
}

}  // namespace
