// mutex_test.cpp - exclusion, order of waiters, time limits and the broken contracts of weft::mutex.
#include <weft/mutex.hpp>

#include "sync/crew.hpp"

namespace {

class mutex_contract : public testing::TestWithParam<setting> {};

TEST_P(mutex_contract, seed_Q10_excludes) {
    const auto who = GetParam();
    weft::mutex m;
    long count = 0;  // no atomic: the mutex orders it
    crew all(who.workers);
    for (int i = 0; i < 3; ++i)
        for (const party p : {who.left, who.right})
            all.start(p, [&] {
                for (int n = 0; n < 1'000; ++n) {
                    const std::scoped_lock guard(m);
                    ++count;
                }
            });
    all.finish();
    EXPECT_EQ(count, 6'000);
}

TEST_P(mutex_contract, seed_Q10_timed_locks_stress_exclude) {
    const auto who = GetParam();
    weft::mutex m;
    long count = 0;
    std::atomic<long> expected{0};
    crew all(who.workers);
    for (int i = 0; i < 3; ++i)
        for (const party p : {who.left, who.right})
            all.start(p, [&] {
                for (int n = 0; n < 200; ++n) {
                    std::unique_lock guard(m, std::chrono::microseconds(n % 50));
                    if (!guard) continue;
                    ++count;
                    ++expected;
                    if (n % 8 == 0) weft::this_fiber::sleep_for(20us);
                }
            });
    all.finish();
    EXPECT_EQ(count, expected);
    EXPECT_TRUE(m.try_lock());
    m.unlock();
}

TEST_P(mutex_contract, seed_Q10_two_mutexes_at_once_stress) {
    const auto who = GetParam();
    weft::mutex a, b;
    long count = 0;
    crew all(who.workers);
    all.start(who.left, [&] {
        for (int n = 0; n < 300; ++n) {
            const std::scoped_lock guard(a, b);
            ++count;
        }
    });
    all.start(who.right, [&] {
        for (int n = 0; n < 300; ++n) {
            const std::scoped_lock guard(b, a);
            ++count;
        }
    });
    all.finish();
    EXPECT_EQ(count, 600);
}

INSTANTIATE_TEST_SUITE_P(all, mutex_contract, testing::ValuesIn(all_settings()), [](const auto& p) { return name_of(p.param); });

TEST(mutex, try_lock_takes_a_free_mutex_only) {
    weft::mutex m;
    EXPECT_TRUE(m.try_lock());
    EXPECT_FALSE(m.try_lock());
    weft::run([&] { EXPECT_FALSE(m.try_lock()); });
    m.unlock();
    EXPECT_TRUE(m.try_lock());
    m.unlock();
}

constinit weft::mutex constant_mutex;
constinit weft::recursive_mutex constant_recursive_mutex;
/// Runs before main(), and perhaps before other files' static objects are made.
const bool used_early = [] {
    const std::scoped_lock guard(constant_mutex, constant_recursive_mutex);
    return true;
}();

TEST(mutex, it_tells_its_owner_that_it_has_it) {
    weft::mutex m;
    EXPECT_FALSE(m.owned_by_caller());
    const std::scoped_lock guard(m);
    EXPECT_TRUE(m.owned_by_caller());
    weft::run([&] { EXPECT_FALSE(m.owned_by_caller()); });
}

TEST(mutex, it_is_there_before_any_constructor_has_run) {
    EXPECT_TRUE(used_early);
    weft::run([] {
        EXPECT_TRUE(constant_mutex.try_lock());
        EXPECT_TRUE(constant_recursive_mutex.try_lock());
        constant_recursive_mutex.unlock();
        constant_mutex.unlock();
    });
}

TEST(mutex, timed_locks_give_up) {
    weft::mutex m;
    const std::scoped_lock guard(m);
    weft::run([&] {
        const auto begin = std::chrono::steady_clock::now();
        EXPECT_FALSE(m.try_lock_for(5ms));
        EXPECT_GE(std::chrono::steady_clock::now() - begin, 5ms);
        EXPECT_FALSE(m.try_lock_until(std::chrono::steady_clock::now() - 1s));
        EXPECT_FALSE(m.try_lock_until(std::chrono::system_clock::now() + 1ms));
    });
}

TEST(mutex, waiters_get_it_oldest_first) {
    weft::mutex m;
    std::vector<int> order;
    crew all(1);
    m.lock();
    for (int i = 0; i < 5; ++i) {
        all.start(party::fiber, [&, i] {
            const std::scoped_lock guard(m);
            order.push_back(i);
        });
        ASSERT_TRUE(eventually_wait_for(all.runtime(), "mutex", i + 1));
    }
    m.unlock();
    all.finish();
    EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 4}));
}

TEST(mutex, MUTEX_3_a_waiter_is_not_overtaken_for_ever) {
    weft::mutex m;
    std::atomic<bool> got{false};
    crew all(1);
    all.start(party::fiber, [&] {
        while (!got) {  // hardly ever leaves the mutex free, and never for long
            m.lock();
            weft::this_fiber::yield();
            m.unlock();
        }
    });
    all.start(party::fiber, [&] {
        const std::scoped_lock guard(m);
        got = true;
    });
    all.finish();
}

TEST(mutex, lock_is_not_stopped) {
    weft::mutex m;
    weft::runtime rt({.workers = 2});
    m.lock();
    auto f = rt.spawn([&] {
        m.lock();
        m.unlock();
        weft::this_fiber::yield();
    });
    ASSERT_TRUE(eventually_wait_for(rt, "mutex", 1));
    f.request_stop();
    std::this_thread::sleep_for(1ms);
    EXPECT_EQ(waiting_for(rt, "mutex"), 1);
    m.unlock();
    EXPECT_THROW(f.join(), weft::fiber_cancelled);  // by yield()
    EXPECT_TRUE(m.try_lock());
    m.unlock();
}

TEST(mutex, MUTEX_4_stress_the_next_owner_may_destroy_it) {
    const auto end = std::chrono::steady_clock::now() + 500ms;
    weft::runtime rt({.workers = 4});
    while (std::chrono::steady_clock::now() < end) {
        auto m = std::make_unique<weft::mutex>();
        m->lock();
        auto f = rt.spawn([&] {
            m->lock();
            m->unlock();
            m.reset();
        });
        m->unlock();
        f.join();
    }
}

TEST(mutex_death, MUTEX_1_only_the_owner_unlocks) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            weft::mutex m;
            m.unlock();
        },
        "mutex: unlocked by another than its owner");
    EXPECT_DEATH(
        {
            weft::mutex m;
            m.lock();
            weft::run([&] { m.unlock(); });
        },
        "mutex: unlocked by another than its owner.*main");
}

TEST(mutex_death, the_owner_does_not_lock_again) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            weft::mutex m;
            m.lock();
            m.lock();
        },
        "mutex: locked again by its owner");
}

TEST(mutex_death, it_is_not_destroyed_while_locked) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            weft::mutex m;
            m.lock();
        },
        "mutex: destroyed while locked");
}

}  // namespace
