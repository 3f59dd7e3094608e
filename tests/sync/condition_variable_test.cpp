// condition_variable_test.cpp - waits and notifications of weft::condition_variable, and what stop does to both.
#include <weft/condition_variable.hpp>

#include <weft/deadline.hpp>

#include <cstdio>
#include <deque>
#include <random>

#include "sync/crew.hpp"

namespace {

using lock = std::unique_lock<weft::mutex>;

class condition_variable_contract : public testing::TestWithParam<setting> {};

TEST_P(condition_variable_contract, seed_Q10_a_queue_of_two_conditions) {
    const auto who = GetParam();
    constexpr int n = 1'000, parties = 2;
    weft::mutex m;
    weft::condition_variable not_empty, not_full;
    std::deque<int> queue;
    long sum = 0;
    crew all(who.workers);
    for (int p = 0; p < parties; ++p) {
        all.start(who.left, [&] {
            for (int i = 1; i <= n; ++i) {
                lock guard(m);
                not_full.wait(guard, [&] { return queue.size() < 4; });
                queue.push_back(i);
                not_empty.notify_one();
            }
        });
        all.start(who.right, [&] {
            for (int i = 0; i < n; ++i) {
                lock guard(m);
                not_empty.wait(guard, [&] { return !queue.empty(); });
                sum += queue.front();
                queue.pop_front();
                guard.unlock();
                not_full.notify_one();
            }
        });
    }
    all.finish();
    EXPECT_EQ(sum, long{parties} * n * (n + 1) / 2);
}

TEST_P(condition_variable_contract, seed_Q10_notify_all_ends_every_wait) {
    const auto who = GetParam();
    weft::mutex m;
    weft::condition_variable turned, arrived;
    int round = 0, here = 0;
    constexpr int parties = 6, rounds = 50;
    crew all(who.workers);
    for (int p = 0; p < parties; ++p)
        all.start(p % 2 ? who.left : who.right, [&] {  // a barrier
            for (int r = 0; r < rounds; ++r) {
                lock guard(m);
                if (++here == parties) {
                    here = 0;
                    ++round;
                    turned.notify_all();
                } else {
                    turned.wait(guard, [&] { return round > r; });
                }
            }
        });
    all.finish();
    EXPECT_EQ(round, rounds);
}

INSTANTIATE_TEST_SUITE_P(all, condition_variable_contract, testing::ValuesIn(all_settings()),
                         [](const auto& p) { return name_of(p.param); });

TEST(condition_variable, notify_one_ends_the_oldest_wait_only) {
    weft::mutex m;
    weft::condition_variable c;
    std::vector<int> order;
    crew all(1);
    for (int i = 0; i < 3; ++i) {
        all.start(party::fiber, [&, i] {
            lock guard(m);
            c.wait(guard);
            order.push_back(i);
        });
        ASSERT_TRUE(eventually_wait_for(all.runtime(), "condition variable", i + 1));
    }
    for (int left = 2; left >= 0; --left) {
        c.notify_one();
        ASSERT_TRUE(eventually_wait_for(all.runtime(), "condition variable", left));
    }
    c.notify_one();
    all.finish();
    EXPECT_EQ(order, (std::vector{0, 1, 2}));
}

TEST(condition_variable, timed_waits_time_out_with_the_mutex_locked) {
    weft::mutex m;
    weft::condition_variable c;
    lock guard(m);
    EXPECT_EQ(c.wait_for(guard, 2ms), std::cv_status::timeout);
    EXPECT_TRUE(guard.owns_lock());
    EXPECT_EQ(c.wait_until(guard, std::chrono::steady_clock::now() + 2ms), std::cv_status::timeout);
    EXPECT_FALSE(c.wait_for(guard, 2ms, [] { return false; }));
    EXPECT_TRUE(c.wait_for(guard, 1h, [] { return true; }));
    EXPECT_FALSE(c.wait_until(guard, std::chrono::system_clock::now() + 2ms, [] { return false; }));
    EXPECT_FALSE(m.try_lock());
}

TEST(condition_variable, a_timed_wait_may_end_by_a_notification) {
    weft::mutex m;
    weft::condition_variable c;
    crew all;
    all.start(party::fiber, [&] {
        lock guard(m);
        EXPECT_EQ(c.wait_for(guard, 1h), std::cv_status::no_timeout);
    });
    ASSERT_TRUE(eventually_wait_for(all.runtime(), "condition variable", 1));
    c.notify_one();
    all.finish();
}

TEST(condition_variable, a_stop_token_ends_the_wait) {
    weft::mutex m;
    weft::condition_variable c;
    std::stop_source source;
    crew all;
    all.start(party::fiber, [&] {
        lock guard(m);
        EXPECT_FALSE(c.wait(guard, source.get_token(), [] { return false; }));
        EXPECT_TRUE(guard.owns_lock());
        EXPECT_FALSE(c.wait_for(guard, source.get_token(), 1h, [] { return false; }));
        EXPECT_TRUE(c.wait_until(guard, source.get_token(), std::chrono::steady_clock::now() + 1h, [] { return true; }));
    });
    ASSERT_TRUE(eventually_wait_for(all.runtime(), "condition variable", 1));
    source.request_stop();
    all.finish();
}

TEST(condition_variable, a_stop_token_form_still_hears_notifications_and_timeouts) {
    weft::mutex m;
    weft::condition_variable c;
    std::stop_source source;
    bool ready = false;
    crew all;
    all.start(party::fiber, [&] {
        lock guard(m);
        EXPECT_TRUE(c.wait(guard, source.get_token(), [&] { return ready; }));
        EXPECT_FALSE(c.wait_for(guard, source.get_token(), 1ms, [] { return false; }));
    });
    ASSERT_TRUE(eventually_wait_for(all.runtime(), "condition variable", 1));
    {
        const lock guard(m);
        ready = true;
    }
    c.notify_one();
    all.finish();
}

TEST(condition_variable, CONDITION_VARIABLE_1_a_stopped_wait_throws_with_the_mutex_locked) {
    weft::mutex m;
    weft::condition_variable c;
    weft::runtime rt({.workers = 2});
    auto f = rt.spawn([&] {
        lock guard(m);
        try {
            c.wait(guard);
        } catch (const weft::cancelled&) { return guard.owns_lock() && !m.try_lock(); }
        return false;
    });
    ASSERT_TRUE(eventually_wait_for(rt, "condition variable", 1));
    m.lock();
    f.request_stop();
    ASSERT_TRUE(eventually_wait_for(rt, "mutex", 1));
    m.unlock();
    EXPECT_TRUE(f.join());
}

TEST(condition_variable, a_deadline_becomes_timeout_error) {
    weft::mutex m;
    weft::condition_variable c;
    lock guard(m);
    EXPECT_THROW(weft::with_timeout(2ms, [&] { c.wait(guard); }), weft::timeout_error);
    EXPECT_TRUE(guard.owns_lock());
}

TEST(condition_variable, CONDITION_VARIABLE_2_stress_no_notification_is_used_up_by_a_stopped_wait) {
    const auto seed = std::random_device{}();
    std::printf("seed %u\n", seed);
    std::minstd_rand random(seed);
    for (const unsigned workers : {1u, 2u, 4u, 8u}) {
        weft::runtime rt({.workers = workers});
        const auto end = std::chrono::steady_clock::now() + 300ms;
        while (std::chrono::steady_clock::now() < end) {
            weft::mutex m;
            weft::condition_variable c;
            constexpr int waits = 8, notifications = 4;
            std::atomic<int> woken{0}, stopped{0};
            std::vector<weft::fiber<void>> crowd;
            for (int i = 0; i < waits; ++i)
                crowd.push_back(rt.spawn([&] {
                    lock guard(m);
                    try {
                        c.wait(guard);
                        ++woken;
                    } catch (const weft::cancelled&) { ++stopped; }
                }));
            while (waiting_for(rt, "condition variable") != waits) std::this_thread::yield();
            std::thread notifier([&] {
                for (int i = 0; i < notifications; ++i) c.notify_one();
            });
            for (int i = 0; i < waits - notifications; ++i) crowd[random() % waits].request_stop();
            notifier.join();
            // At most waits - notifications were stopped, so each notification finds a wait to end: exactly one.
            while (woken < notifications) std::this_thread::yield();
            for (auto& f : crowd) f.request_stop();
            for (auto& f : crowd) f.join();
            EXPECT_EQ(woken, notifications) << "seed " << seed;
            EXPECT_EQ(stopped, waits - notifications) << "seed " << seed;
        }
    }
}

TEST(condition_variable, CONDITION_VARIABLE_3_stress_it_may_be_destroyed_after_notify_all) {
    weft::runtime rt({.workers = 4});
    const auto end = std::chrono::steady_clock::now() + 500ms;
    while (std::chrono::steady_clock::now() < end) {
        weft::mutex m;
        auto c = std::make_unique<weft::condition_variable>();
        bool ready = false;
        auto f = rt.spawn([&] {
            lock guard(m);
            while (!ready) c->wait(guard);
        });
        {
            const lock guard(m);
            ready = true;
            c->notify_all();
            c.reset();
        }
        f.join();
    }
}

TEST(condition_variable_death, waits_with_the_mutex_locked) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            weft::mutex m;
            weft::condition_variable c;
            lock guard(m, std::defer_lock);
            c.wait(guard);
        },
        "condition_variable: waits with the mutex locked");
}

}  // namespace
