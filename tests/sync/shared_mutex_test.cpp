// shared_mutex_test.cpp - one writer or many readers, in turns, with time limits; and its broken contracts.
#include <weft/shared_mutex.hpp>

#include <weft/deadline.hpp>
#include <weft/deadlock.hpp>

#include <cstdio>
#include <memory>
#include <random>

#include "support/eventually.hpp"
#include "sync/crew.hpp"

namespace {

constexpr std::string_view reason = "shared mutex";

class shared_mutex_contract : public testing::TestWithParam<setting> {};

TEST_P(shared_mutex_contract, seed_Q10_a_writer_is_alone) {
    const auto who = GetParam();
    weft::shared_mutex m;
    long a = 0, b = 0;  // no atomics: the mutex orders them
    crew all(who.workers);
    for (int i = 0; i < 2; ++i) {
        all.start(who.left, [&] {
            for (int n = 0; n < 300; ++n) {
                const std::scoped_lock guard(m);
                ++a;
                if (n % 32 == 0) weft::this_fiber::yield();
                ++b;
            }
        });
        for (const party p : {who.left, who.right})
            all.start(p, [&] {
                for (int n = 0; n < 300; ++n) {
                    const std::shared_lock guard(m);
                    const long seen = a;
                    if (n % 32 == 0) weft::this_fiber::yield();
                    EXPECT_EQ(seen, b);
                }
            });
    }
    all.finish();
    EXPECT_EQ(a, 600);
}

TEST_P(shared_mutex_contract, seed_Q10_readers_are_inside_together) {
    const auto who = GetParam();
    weft::shared_mutex m;
    std::atomic<int> inside{0};
    crew all(who.workers);
    for (int i = 0; i < 2; ++i)
        for (const party p : {who.left, who.right})
            all.start(p, [&] {
                const std::shared_lock guard(m);
                ++inside;
                while (inside < 4) weft::this_fiber::sleep_for(20us);  // hangs unless all get in
            });
    all.finish();
}

TEST_P(shared_mutex_contract, seed_Q10_timed_locks_stress_exclude) {
    const auto who = GetParam();
    const auto seed = std::random_device{}();
    std::printf("seed %u\n", seed);
    weft::shared_mutex m;
    long count = 0;
    std::atomic<long> expected{0};
    crew all(who.workers);
    for (unsigned i = 0; i < 3; ++i)
        for (const party p : {who.left, who.right})
            all.start(p, [&, i] {
                std::minstd_rand random(seed + i);
                for (int n = 0; n < 150; ++n) {
                    const std::chrono::microseconds limit(random() % 60);
                    if (random() % 3 == 0) {
                        const std::unique_lock guard(m, limit);
                        if (!guard) continue;
                        ++count;
                        ++expected;
                        if (n % 8 == 0) weft::this_fiber::sleep_for(20us);
                    } else {
                        const std::shared_lock guard(m, limit);
                        if (!guard) continue;
                        const long seen = count;
                        if (n % 8 == 0) weft::this_fiber::sleep_for(20us);
                        EXPECT_EQ(count, seen);
                    }
                }
            });
    all.finish();
    EXPECT_EQ(count, expected);
    EXPECT_TRUE(m.try_lock());
    m.unlock();
}

INSTANTIATE_TEST_SUITE_P(all, shared_mutex_contract, testing::ValuesIn(all_settings()),
                         [](const auto& p) { return name_of(p.param); });

TEST(shared_mutex, try_forms) {
    weft::shared_mutex m;
    EXPECT_TRUE(m.try_lock_shared());
    weft::run([&] {
        EXPECT_TRUE(m.try_lock_shared());
        m.unlock_shared();
        EXPECT_FALSE(m.try_lock());
        EXPECT_FALSE(m.try_lock_for(1ms));
    });
    m.unlock_shared();
    EXPECT_TRUE(m.try_lock());
    weft::run([&] {
        EXPECT_FALSE(m.try_lock_shared());
        EXPECT_FALSE(m.try_lock_shared_for(1ms));
        EXPECT_FALSE(m.try_lock_until(std::chrono::system_clock::now() + 1ms));
        EXPECT_FALSE(m.try_lock_shared_until(std::chrono::steady_clock::now()));
    });
    m.unlock();
}

TEST(shared_mutex, a_reader_waits_behind_a_waiting_writer_and_comes_after_it) {
    weft::shared_mutex m;
    std::string order;
    crew all(1);
    m.lock_shared();
    all.start(party::fiber, [&] {
        const std::scoped_lock guard(m);
        order += 'w';
    });
    ASSERT_TRUE(eventually_wait_for(all.runtime(), reason, 1));
    EXPECT_FALSE(m.try_lock_shared());
    for (int i = 0; i < 2; ++i)
        all.start(party::fiber, [&] {
            const std::shared_lock guard(m);
            order += 'r';
        });
    ASSERT_TRUE(eventually_wait_for(all.runtime(), reason, 3));
    m.unlock_shared();
    all.finish();
    EXPECT_EQ(order, "wrr");
}

TEST(shared_mutex, a_writer_that_leaves_lets_the_readers_in_before_the_next_writer) {
    weft::shared_mutex m;
    std::string order;
    crew all(1);
    m.lock();
    for (int waiting = 0; waiting < 3; ++waiting) {
        const bool writes = waiting == 0;
        all.start(party::fiber, [&, writes] {
            writes ? m.lock() : m.lock_shared();
            order += writes ? 'w' : 'r';
            writes ? m.unlock() : m.unlock_shared();
        });
        ASSERT_TRUE(eventually_wait_for(all.runtime(), reason, waiting + 1));
    }
    m.unlock();
    all.finish();
    EXPECT_EQ(order, "rrw");
}

TEST(shared_mutex, SHARED_MUTEX_2_readers_behind_a_writer_that_gives_up_get_in) {
    weft::shared_mutex m;
    crew all(2);
    m.lock_shared();
    std::atomic<bool> gave_up{false};
    all.start(party::fiber, [&] {
        EXPECT_FALSE(m.try_lock_for(300ms));  // long enough for the next line to see it wait, on a loaded machine too
        gave_up = true;
    });
    ASSERT_TRUE(eventually_wait_for(all.runtime(), reason, 1));
    all.start(party::fiber, [&] {
        const std::shared_lock guard(m);  // while the first reader is still inside
    });
    all.finish();
    EXPECT_TRUE(gave_up);
    m.unlock_shared();
}

TEST(shared_mutex, locks_are_not_stopped) {
    weft::shared_mutex m;
    weft::runtime rt({.workers = 2});
    m.lock();
    auto reader = rt.spawn([&] {
        m.lock_shared();
        m.unlock_shared();
        weft::this_fiber::yield();
    });
    auto writer = rt.spawn([&] {
        m.lock();
        m.unlock();
        weft::this_fiber::yield();
    });
    ASSERT_TRUE(eventually_wait_for(rt, reason, 2));
    reader.request_stop();
    writer.request_stop();
    std::this_thread::sleep_for(1ms);
    EXPECT_EQ(waiting_for(rt, reason), 2);
    m.unlock();
    EXPECT_THROW(reader.join(), weft::fiber_cancelled);  // by yield()
    EXPECT_THROW(writer.join(), weft::fiber_cancelled);
    EXPECT_TRUE(m.try_lock());
    m.unlock();
}

TEST(shared_mutex, rule_2_stress_the_next_owner_may_destroy_it) {
    const auto end = std::chrono::steady_clock::now() + 300ms;
    weft::runtime rt({.workers = 4});
    for (int n = 0; std::chrono::steady_clock::now() < end; ++n) {
        auto m = std::make_unique<weft::shared_mutex>();
        n % 2 ? m->lock() : m->lock_shared();
        auto f = rt.spawn([&] {
            m->lock();
            m->unlock();
            m.reset();
        });
        n % 2 ? m->unlock() : m->unlock_shared();
        f.join();
    }
}

TEST(shared_mutex, rule_1_a_reader_that_asks_for_it_alone_waits_for_itself_and_is_reported) {
    weft::shared_mutex m;
    m.lock_shared();
    EXPECT_FALSE(m.try_lock());
    EXPECT_FALSE(m.try_lock_for(2ms));
    m.unlock_shared();

    weft::runtime rt({.workers = 1});
    auto f = rt.spawn([&] {
        m.lock_shared();
        m.lock();
        m.unlock();
    });
    EXPECT_TRUE(weft::test::eventually([] { return !weft::find_deadlocks().empty(); }));
    EXPECT_FALSE(f.done());
    m.unlock_shared();  // for that fiber; nobody notices
    f.join();
}

TEST(shared_mutex_death, rule_1) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    weft::shared_mutex m;
    EXPECT_DEATH(m.unlock(), "shared_mutex: unlocked by another than its owner");
    EXPECT_DEATH(m.unlock_shared(), "shared_mutex: unlocked by a reader that is none");
    m.lock();
    EXPECT_DEATH(m.lock(), "shared_mutex: locked again by its owner");
    EXPECT_DEATH(m.lock_shared(), "shared_mutex: locked again by its owner");
    EXPECT_DEATH(weft::run([&] { m.unlock(); }), "shared_mutex: unlocked by another than its owner.*main");
    m.unlock();
    EXPECT_DEATH(
        {
            weft::shared_mutex locked;
            locked.lock_shared();
        },
        "shared_mutex: destroyed while locked");
}

}  // namespace
