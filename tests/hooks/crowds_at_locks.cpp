// crowds_at_locks.cpp - many fibers and threads at locks and conditions of the threads library, with hooks.
#include <gtest/gtest.h>

#include <weft/deadlock.hpp>
#include <weft/hooks.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <random>
#include <shared_mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

std::uint32_t seed() {
    const char* const given = std::getenv("WEFT_SEED");
    return given ? static_cast<std::uint32_t>(std::strtoul(given, nullptr, 0)) : std::random_device()();
}

weft::fiber<void> start_as_thread(weft::runtime& rt, auto f) { return rt.spawn({.as_thread = true}, std::move(f)); }

void join_all(std::vector<weft::fiber<void>>& all) {
    for (auto& f : all) f.join();
    all.clear();
}

// One takes the mutex again as soon as it has given it up, and always waits with it: the other would find it
// taken each time.
TEST(crowd_at_locks, a_fiber_that_was_overtaken_gets_its_turn) {
    weft::runtime rt({.workers = 1, .hooks = true});
    std::mutex m;
    std::atomic<bool> has_had_it{false};
    std::vector<weft::fiber<void>> all;
    all.push_back(start_as_thread(rt, [&] {
        while (!has_had_it) {
            const std::lock_guard guard(m);
            weft::this_fiber::yield();
        }
    }));
    all.push_back(start_as_thread(rt, [&] {
        for (int i = 0; i < 100; ++i) {
            const std::lock_guard guard(m);
            weft::this_fiber::yield();
        }
        has_had_it = true;
    }));
    join_all(all);
}

// Each holds the mutex while it waits in weft, so that it needs a carrier to go on: those that wait for the
// mutex must not have them all.
TEST(crowd_at_locks, who_holds_a_mutex_across_a_park_gets_a_carrier) {
    weft::runtime rt({.workers = 2, .max_carriers = 2, .hooks = true});
    std::mutex m;
    int count = 0;
    std::vector<weft::fiber<void>> all;
    for (int i = 0; i < 60; ++i)
        all.push_back(start_as_thread(rt, [&] {
            for (int n = 0; n < 5; ++n) {
                const std::lock_guard guard(m);
                const int before = count;
                weft::this_fiber::sleep_for(100us);
                count = before + 1;
            }
        }));
    join_all(all);
    EXPECT_EQ(count, 300);
    EXPECT_EQ(rt.stats().carriers, 2u);
}

// Items go from fibers to fibers and threads, through one mutex and two conditions.
class shop {
public:
    void put(int item) {
        std::unique_lock guard(lock_);
        while (items_.size() == 7) not_full_.wait(guard);
        items_.push_back(item);
        guard.unlock();
        not_empty_.notify_one();
    }
    int take() {
        std::unique_lock guard(lock_);
        while (items_.empty()) not_empty_.wait(guard);
        const int item = items_.back();
        items_.pop_back();
        not_full_.notify_one();
        return item;
    }

private:
    std::mutex lock_;
    std::condition_variable not_full_, not_empty_;
    std::vector<int> items_;
};

TEST(crowd_at_locks, fibers_and_threads_hand_items_over_stress) {
    constexpr int fibers = 100, threads = 8, items = 16'000, each = items / 50;
    weft::runtime rt({.workers = 2, .hooks = true});
    shop s;
    std::atomic<long> sum{0};
    const auto put = [&](int n) {
        for (int i = 1; i <= n; ++i) s.put(i);
    };
    const auto take = [&](int n) {
        long mine = 0;
        for (int i = 0; i < n; ++i) mine += s.take();
        sum += mine;
    };
    std::vector<weft::fiber<void>> all;
    for (int i = 0; i < fibers / 2; ++i) {
        all.push_back(start_as_thread(rt, [&] { put(each); }));
        all.push_back(start_as_thread(rt, [&] { take(each); }));
    }
    std::vector<std::thread> others;
    for (int i = 0; i < threads / 2; ++i) {
        others.emplace_back([&] { put(1'000); });
        others.emplace_back([&] { take(1'000); });
    }
    join_all(all);
    for (auto& t : others) t.join();
    EXPECT_EQ(sum, 50L * each * (each + 1) / 2 + 4L * 1'000 * 1'001 / 2);
}

TEST(crowd_at_locks, two_runtimes_and_threads_at_one_mutex_stress) {
    weft::runtime one({.workers = 2, .hooks = true}), two({.workers = 1, .hooks = true});
    std::mutex m;
    std::shared_mutex readers;
    long count = 0, shared_count = 0;
    const auto work = [&] {
        for (int n = 0; n < 2'000; ++n) {
            {
                const std::lock_guard guard(m);
                ++count;
            }
            if (n % 4 == 0) {
                const std::lock_guard guard(readers);
                ++shared_count;
            } else {
                const std::shared_lock guard(readers);
                EXPECT_GE(shared_count, 0);
            }
        }
    };
    std::vector<weft::fiber<void>> all;
    for (int i = 0; i < 4; ++i) {
        all.push_back(start_as_thread(one, work));
        all.push_back(start_as_thread(two, work));
    }
    std::thread a(work), b(work);
    join_all(all);
    a.join();
    b.join();
    EXPECT_EQ(count, 20'000);
    EXPECT_EQ(shared_count, 5'000);
}

TEST(crowd_at_locks, many_readers_get_in_at_once) {
    weft::runtime rt({.workers = 2, .hooks = true});
    std::shared_mutex m;
    std::atomic<int> inside{0};
    m.lock();
    std::vector<weft::fiber<void>> all;
    for (int i = 0; i < 20; ++i)
        all.push_back(start_as_thread(rt, [&] {
            const std::shared_lock guard(m);
            ++inside;
            while (inside < 20) weft::this_fiber::sleep_for(100us);
        }));
    m.unlock();
    join_all(all);
    EXPECT_TRUE(m.try_lock());
    m.unlock();
}

TEST(crowd_at_locks, each_unit_of_a_semaphore_reaches_one_stress) {
    weft::runtime rt({.workers = 2, .hooks = true});
    sem_t s;
    sem_init(&s, 0, 0);
    std::vector<weft::fiber<void>> all;
    for (int i = 0; i < 20; ++i)
        all.push_back(start_as_thread(rt, [&] {
            for (int n = 0; n < 500; ++n) EXPECT_EQ(sem_wait(&s), 0);
        }));
    std::vector<std::thread> posters;
    for (int i = 0; i < 2; ++i)
        posters.emplace_back([&] {
            for (int n = 0; n < 5'000; ++n) sem_post(&s);
        });
    for (auto& t : posters) t.join();
    join_all(all);
    EXPECT_EQ(sem_trywait(&s), -1);
    sem_destroy(&s);
}

// The C library has given the mutex up behind the hooks, as it does inside a thread's pthread_cond_wait().
TEST(crowd_at_locks, PARKING_LOT_5_a_release_behind_the_hooks_is_noticed) {
    void* const libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    ASSERT_TRUE(libc);
    const auto unlock = reinterpret_cast<int (*)(pthread_mutex_t*)>(dlsym(libc, "pthread_mutex_unlock"));
    const auto signal = reinterpret_cast<int (*)(pthread_cond_t*)>(dlsym(libc, "pthread_cond_signal"));
    weft::runtime rt({.workers = 2, .hooks = true});
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    bool holds = false;
    std::atomic<bool> has_it{false};
    const auto parks = [] {
        std::uint64_t n = 0;
        for (const auto& s : weft::hooks::report())
            if (s.call == "pthread_mutex_lock" || s.call == "pthread_cond_wait") n += s.parks;
        return n;
    };
    const auto before = parks();
    pthread_mutex_lock(&m);
    auto f = start_as_thread(rt, [&] {
        pthread_mutex_lock(&m);
        has_it = true;
        while (!holds) pthread_cond_wait(&c, &m);
        pthread_mutex_unlock(&m);
    });
    while (parks() == before) std::this_thread::yield();
    EXPECT_EQ(unlock(&m), 0);
    while (!has_it) std::this_thread::yield();
    pthread_mutex_lock(&m);
    holds = true;
    EXPECT_EQ(signal(&c), 0);
    EXPECT_EQ(unlock(&m), 0);
    f.join();
}

TEST(crowd_at_locks, a_thread_that_waits_at_a_condition_gives_its_mutex_to_fibers) {
    weft::runtime rt({.workers = 1, .hooks = true});
    std::mutex m;
    std::condition_variable c;
    int turn = 0;
    const auto take_turns = [&](int mine) {
        for (int n = 0; n < 200; ++n) {
            std::unique_lock guard(m);
            while (turn % 2 != mine) c.wait(guard);
            ++turn;
            c.notify_all();
        }
    };
    auto f = start_as_thread(rt, [&] { take_turns(0); });
    take_turns(1);
    f.join();
    EXPECT_EQ(turn, 400);
}

TEST(crowd_at_locks, a_stop_does_not_end_the_wait) {
    weft::runtime rt({.workers = 2, .hooks = true});
    std::mutex m;
    std::condition_variable c;
    bool holds = false;
    std::atomic<bool> is_there{false};
    std::atomic<int> got{0};
    m.lock();
    auto f = start_as_thread(rt, [&] {
        is_there = true;
        std::unique_lock guard(m);
        ++got;
        while (!holds) c.wait(guard);
        ++got;
    });
    while (!is_there) std::this_thread::yield();
    f.request_stop();
    std::this_thread::sleep_for(10ms);
    EXPECT_EQ(got, 0);
    m.unlock();
    while (got == 0) std::this_thread::yield();
    std::this_thread::sleep_for(10ms);
    EXPECT_EQ(got, 1);
    {
        const std::lock_guard guard(m);
        holds = true;
    }
    c.notify_one();
    f.join();
    EXPECT_EQ(got, 2);
}

TEST(crowd_at_locks, LOCK_OWNERS_1_who_waits_for_whom_is_told) {
    weft::runtime rt({.workers = 2, .hooks = true});
    std::mutex a;
    std::timed_mutex b;
    std::atomic<bool> is_over{false}, has_a{false}, has_b{false};
    auto one = start_as_thread(rt, [&] {
        const std::lock_guard guard(a);
        has_a = true;
        while (!has_b) weft::this_fiber::yield();
        while (!is_over)
            if (b.try_lock_for(100ms)) b.unlock();
    });
    auto two = start_as_thread(rt, [&] {
        const std::lock_guard guard(b);
        has_b = true;
        while (!has_a) weft::this_fiber::yield();
        a.lock();
        a.unlock();
    });
    std::string told;
    while (told.find("wait for one another") == std::string::npos) {
        std::ostringstream text;
        for (const auto& d : weft::find_deadlocks()) text << d;
        told = text.str();
    }
    is_over = true;
    one.join();
    two.join();
    const auto has = [&](std::string_view words) { return told.find(words) != std::string::npos; };
    EXPECT_TRUE(has("waits for pthread lock of fiber")) << told;
    EXPECT_TRUE(has("pthread_mutex_lock(0x")) << told;
}

// The owner of a lock, a thread_local and an address of errno stay the fiber's while it moves. With
// WEFT_TORTURE_HAND_OFFS=1 carriers change under it, too.
TEST(crowd_at_locks, under_torture_stress) {
    const auto s = seed();
    std::printf("WEFT_SEED=%u\n", s);
    weft::runtime rt({.workers = 2, .hooks = true, .migration = weft::migration_policy::torture});
    constexpr int lock_count = 4;
    std::recursive_mutex locks[lock_count];
    std::timed_mutex timed;
    std::condition_variable_any changed;
    long counts[lock_count] = {}, timed_count = 0;
    std::atomic<long> expected_timed{0};
    std::vector<weft::fiber<void>> all;
    for (unsigned i = 0; i < 30; ++i)
        all.push_back(start_as_thread(rt, [&, i] {
            std::minstd_rand random(s + i);
            for (int n = 0; n < 100; ++n) {
                const auto k = random() % lock_count;
                std::unique_lock guard(locks[k]);
                const long before = counts[k];
                if (random() % 4 == 0) weft::this_fiber::yield();
                const std::lock_guard again(locks[k]);
                counts[k] = before + 1;
                if (random() % 8 == 0) changed.notify_all();
                if (timed.try_lock_for(std::chrono::microseconds(random() % 300))) {
                    ++timed_count, ++expected_timed;
                    if (random() % 4 == 0) weft::this_fiber::yield();
                    timed.unlock();
                }
            }
        }));
    auto listener = start_as_thread(rt, [&] {
        std::unique_lock guard(locks[0]);
        for (int n = 0; n < 20; ++n) changed.wait_for(guard, 1ms);
    });
    join_all(all);
    listener.join();
    EXPECT_EQ(counts[0] + counts[1] + counts[2] + counts[3], 3'000);
    EXPECT_EQ(timed_count, expected_timed);
}

}  // namespace
