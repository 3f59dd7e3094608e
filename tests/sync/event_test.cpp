// event_test.cpp - manual events stay set and let all through; automatic ones let one through for each set().
#include <weft/event.hpp>

#include <weft/deadline.hpp>

#include <memory>

#include "sync/crew.hpp"

namespace {

using weft::event;

constexpr std::string_view reason = "event";

class event_contract : public testing::TestWithParam<setting> {};

TEST_P(event_contract, seed_Q10_a_manual_one_lets_all_through) {
    const auto who = GetParam();
    crew all(who.workers);
    for (int round = 0; round < 20; ++round) {
        event happened;
        int what = 0;  // no atomic: the event orders it
        for (int i = 0; i < 4; ++i)
            all.start(who.right, [&] {
                happened.wait();
                EXPECT_EQ(what, 1);
            });
        all.start(who.left, [&] {
            what = 1;
            happened.set();
        });
        all.finish();
        EXPECT_TRUE(happened.is_set());
    }
}

TEST_P(event_contract, seed_Q10_an_automatic_one_lets_one_through_each_time) {
    const auto who = GetParam();
    event there(event::automatic), back(event::automatic);
    int ball = 0;
    crew all(who.workers);
    all.start(who.left, [&] {
        for (int i = 0; i < 500; ++i) {
            ++ball;
            there.set();
            back.wait();
        }
    });
    all.start(who.right, [&] {
        for (int i = 0; i < 500; ++i) {
            there.wait();
            ++ball;
            back.set();
        }
    });
    all.finish();
    EXPECT_EQ(ball, 1'000);
    EXPECT_FALSE(there.is_set());
}

INSTANTIATE_TEST_SUITE_P(all, event_contract, testing::ValuesIn(all_settings()), [](const auto& p) { return name_of(p.param); });

TEST(event, a_manual_one_stays_set_until_reset) {
    event e;
    EXPECT_FALSE(e.try_wait());
    e.set();
    e.set();
    EXPECT_TRUE(e.try_wait());
    e.wait();
    EXPECT_TRUE(e.is_set());
    e.reset();
    EXPECT_FALSE(e.is_set());
    EXPECT_FALSE(e.wait_for(1ms));
}

TEST(event, several_sets_of_an_automatic_one_are_one) {
    event e(event::automatic);
    e.set();
    e.set();
    EXPECT_TRUE(e.is_set());
    e.wait();
    EXPECT_FALSE(e.try_wait());
    e.set();
    EXPECT_TRUE(e.try_wait());
    e.set();
    e.reset();
    EXPECT_FALSE(e.wait_until(std::chrono::steady_clock::now()));
}

TEST(event, rule_2_an_automatic_one_goes_to_the_oldest) {
    event e(event::automatic);
    std::vector<int> order;
    crew all(1);
    for (int i = 0; i < 3; ++i) {
        all.start(party::fiber, [&, i] {
            e.wait();
            order.push_back(i);
        });
        ASSERT_TRUE(eventually_wait_for(all.runtime(), reason, i + 1));
    }
    for (int left = 2; left >= 0; --left) {
        e.set();
        ASSERT_TRUE(eventually_wait_for(all.runtime(), reason, left));
    }
    all.finish();
    EXPECT_EQ(order, (std::vector{0, 1, 2}));
    EXPECT_FALSE(e.is_set());
}

TEST(event, rule_3_an_interrupted_wait_has_used_up_nothing) {
    event e(event::automatic);
    std::stop_source stop;
    weft::runtime rt({.workers = 2});
    auto f = rt.spawn([&] { e.wait(); });
    auto g = rt.spawn([&] { return e.wait(stop.get_token()); });
    ASSERT_TRUE(eventually_wait_for(rt, reason, 2));
    f.request_stop();
    EXPECT_THROW(f.join(), weft::fiber_cancelled);
    stop.request_stop();
    EXPECT_FALSE(g.join());
    EXPECT_THROW(weft::with_timeout(1ms, [&] { e.wait(); }), weft::timeout_error);
    e.set();
    EXPECT_TRUE(e.is_set());
}

TEST(event, rule_4_stress_a_waiter_may_destroy_it) {
    weft::runtime rt({.workers = 4});
    const auto end = std::chrono::steady_clock::now() + 300ms;
    while (std::chrono::steady_clock::now() < end)
        for (const auto kind : {event::manual, event::automatic}) {
            auto e = std::make_unique<event>(kind);
            auto* const shared = e.get();
            auto f = rt.spawn([=] { shared->set(); });
            e->wait();
            e.reset();
            f.join();
        }
}

TEST(event_death, it_is_not_destroyed_while_somebody_waits) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            weft::runtime rt({.workers = 1});
            auto e = std::make_unique<event>();
            auto f = rt.spawn([&] { e->wait(); });
            eventually_wait_for(rt, reason, 1);
            e.reset();
        },
        "event: destroyed while somebody waits");
}

}  // namespace
