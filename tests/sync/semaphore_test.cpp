// semaphore_test.cpp - permits are neither lost nor doubled, whoever gives and takes them, and however a wait ends.
#include <weft/semaphore.hpp>

#include <weft/deadline.hpp>

#include <cstdio>
#include <memory>
#include <random>

#include "sync/crew.hpp"

namespace {

using weft::binary_semaphore;
using weft::counting_semaphore;

constexpr std::string_view reason = "semaphore";

class semaphore_contract : public testing::TestWithParam<setting> {};

TEST_P(semaphore_contract, seed_Q10_at_most_so_many_are_inside) {
    const auto who = GetParam();
    constexpr int most = 3;
    counting_semaphore<> permits(most);
    std::atomic<int> inside{0}, highest{0};
    crew all(who.workers);
    for (int i = 0; i < 4; ++i)
        for (const party p : {who.left, who.right})
            all.start(p, [&] {
                for (int n = 0; n < 200; ++n) {
                    permits.acquire();
                    const int now = ++inside;
                    for (int seen = highest; seen < now && !highest.compare_exchange_weak(seen, now);) {}
                    if (n % 16 == 0) weft::this_fiber::yield();
                    --inside;
                    permits.release();
                }
            });
    all.finish();
    EXPECT_LE(highest, most);
    for (int i = 0; i < most; ++i) EXPECT_TRUE(permits.try_acquire());
    EXPECT_FALSE(permits.try_acquire());
}

TEST_P(semaphore_contract, seed_Q10_ping_pong) {
    const auto who = GetParam();
    binary_semaphore there(0), back(0);
    int ball = 0;  // no atomic: the semaphores order it
    crew all(who.workers);
    all.start(who.left, [&] {
        for (int i = 0; i < 500; ++i) {
            ++ball;
            there.release();
            back.acquire();
        }
    });
    all.start(who.right, [&] {
        for (int i = 0; i < 500; ++i) {
            there.acquire();
            ++ball;
            back.release();
        }
    });
    all.finish();
    EXPECT_EQ(ball, 1'000);
}

TEST_P(semaphore_contract, seed_Q10_timeouts_stress_conserve_permits) {
    const auto who = GetParam();
    const auto seed = std::random_device{}();
    std::printf("seed %u\n", seed);
    counting_semaphore<> permits(0);
    std::atomic<int> given{0}, taken{0};
    crew all(who.workers);
    for (unsigned i = 0; i < 3; ++i) {
        all.start(who.left, [&, i] {
            std::minstd_rand random(seed + i);
            for (int n = 0; n < 200; ++n) {
                const auto some = static_cast<int>(random() % 3);
                permits.release(some);
                given += some;
                if (n % 8 == 0) weft::this_fiber::sleep_for(20us);
            }
        });
        all.start(who.right, [&, i] {
            std::minstd_rand random(seed + 100 + i);
            for (int n = 0; n < 200; ++n) taken += permits.try_acquire_for(std::chrono::microseconds(random() % 80));
        });
    }
    all.finish();
    while (permits.try_acquire()) ++taken;
    EXPECT_EQ(given, taken);
}

INSTANTIATE_TEST_SUITE_P(all, semaphore_contract, testing::ValuesIn(all_settings()),
                         [](const auto& p) { return name_of(p.param); });

TEST(semaphore, has_the_names_of_the_standard) {
    static_assert(binary_semaphore::max() == 1 && counting_semaphore<7>::max() == 7);
    static_assert(counting_semaphore<>::max() == std::numeric_limits<std::ptrdiff_t>::max());
    static_assert(!std::is_copy_constructible_v<binary_semaphore> && !std::is_move_constructible_v<binary_semaphore>);
}

TEST(semaphore, timed_acquires_give_up) {
    binary_semaphore s(0);
    EXPECT_FALSE(s.try_acquire_for(2ms));
    EXPECT_FALSE(s.try_acquire_until(std::chrono::steady_clock::now() - 1s));
    EXPECT_FALSE(s.try_acquire_until(std::chrono::system_clock::now() + 1ms));
    s.release();
    EXPECT_TRUE(s.try_acquire_for(0s));
}

TEST(semaphore, rule_1_who_waits_is_served_in_order_and_is_not_overtaken) {
    counting_semaphore<> s(0);
    std::vector<int> order;
    crew all(1);
    for (int i = 0; i < 4; ++i) {
        all.start(party::fiber, [&, i] {
            s.acquire();
            order.push_back(i);
        });
        ASSERT_TRUE(eventually_wait_for(all.runtime(), reason, i + 1));
    }
    s.release(3);
    EXPECT_FALSE(s.try_acquire());
    s.release();
    all.finish();
    EXPECT_EQ(order, (std::vector{0, 1, 2, 3}));
}

TEST(semaphore, rule_2_a_stopped_acquire_has_taken_nothing) {
    binary_semaphore s(0);
    weft::runtime rt({.workers = 2});
    auto f = rt.spawn([&] { s.acquire(); });
    ASSERT_TRUE(eventually_wait_for(rt, reason, 1));
    f.request_stop();
    EXPECT_THROW(f.join(), weft::fiber_cancelled);
    EXPECT_THROW(weft::with_timeout(2ms, [&] { s.acquire(); }), weft::timeout_error);
    s.release();
    EXPECT_TRUE(s.try_acquire());
}

TEST(semaphore, a_token_ends_an_acquire) {
    binary_semaphore s(0);
    std::stop_source stop;
    weft::runtime rt({.workers = 1});
    auto f = rt.spawn([&] { return s.acquire(stop.get_token()); });
    ASSERT_TRUE(eventually_wait_for(rt, reason, 1));
    stop.request_stop();
    EXPECT_FALSE(f.join());
    EXPECT_FALSE(s.acquire(stop.get_token()));
    s.release();
    EXPECT_TRUE(s.acquire(stop.get_token()));
}

TEST(semaphore, rule_4_stress_its_new_holder_may_destroy_it) {
    weft::runtime rt({.workers = 4});
    const auto end = std::chrono::steady_clock::now() + 300ms;
    while (std::chrono::steady_clock::now() < end) {
        auto s = std::make_unique<binary_semaphore>(0);
        auto f = rt.spawn([&] {
            s->acquire();
            s.reset();
        });
        s->release();
        f.join();
    }
}

TEST(semaphore_death, rule_3_more_than_max_permits) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(binary_semaphore(1).release(), "semaphore: more than max\\(\\) permits");
    EXPECT_DEATH(counting_semaphore<>(1).release(std::numeric_limits<std::ptrdiff_t>::max()), "more than max\\(\\) permits");
    EXPECT_DEATH(binary_semaphore(0).release(-1), "semaphore: a negative number of permits");
    EXPECT_DEATH(binary_semaphore(2), "semaphore: begins with 0 to max\\(\\) permits");
    EXPECT_DEATH(binary_semaphore(-1), "semaphore: begins with 0 to max\\(\\) permits");
}

TEST(semaphore_death, it_is_not_destroyed_while_somebody_waits) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            weft::runtime rt({.workers = 1});
            auto s = std::make_unique<binary_semaphore>(0);
            auto f = rt.spawn([&] { s->acquire(); });
            eventually_wait_for(rt, reason, 1);
            s.reset();
        },
        "semaphore: destroyed while somebody waits");
}

}  // namespace
