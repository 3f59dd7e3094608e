// address_wait_test.cpp - waiting by address, for locks and conditions that are not weft's.
#include "sync/address_wait.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <weft/deadline.hpp>
#include <weft/scope.hpp>
#include <weft/simulation.hpp>

#include <cerrno>

#include "base/foreign_release.hpp"
#include "sync/crew.hpp"

namespace {

using weft::detail::hook_call;
using weft::detail::hook_never;

std::int64_t in(std::chrono::nanoseconds d) { return (weft::detail::clock::now() + d).time_since_epoch().count(); }

std::uint32_t parked_for_locks() { return weft::detail::parked_for_locks.load(std::memory_order_relaxed); }
std::uint32_t parked_for_conditions() { return weft::detail::parked_for_conditions.load(std::memory_order_relaxed); }

/// In a fiber: lets the others run until that many are parked.
void await_parked_for_locks(std::uint32_t n) {
    while (parked_for_locks() != n) weft::this_fiber::yield();
}

/// As a lock of the threads library, with the hooks beside it. A plain thread polls.
class address_lock {
public:
    void lock() {
        if (!try_lock()) {
            EXPECT_EQ(lock_until(hook_never), 0);
        }
    }
    bool try_lock() { return attempt(this) == 0; }
    int lock_until(std::int64_t until) {
        const hook_call call{.name = "lock", .caller = nullptr, .object = this};
        return weft::detail::lock_wait(attempt, this, until, call);
    }
    void unlock() {
        unlock_in_silence();
        if (weft::detail::is_counted_after_release(weft::detail::parked_for_locks)) weft::detail::lock_wake(this);
    }
    void unlock_in_silence() { taken_.exchange(false, std::memory_order_release); }

    /// What an attempt says instead of 0; it takes nothing then.
    void refuse(int error) { refusal_ = error; }
    int attempts() const { return attempts_; }

private:
    static int attempt(void* self) {
        auto& l = *static_cast<address_lock*>(self);
        ++l.attempts_;
        if (l.refusal_ != 0) return l.refusal_;
        return l.taken_.exchange(true, std::memory_order_acquire) ? EBUSY : 0;
    }

    std::atomic<bool> taken_{false};
    std::atomic<int> refusal_{0}, attempts_{0};
};

class address_condition {
public:
    int wait(address_lock& l, std::int64_t until = hook_never) {
        const hook_call call{.name = "wait", .caller = nullptr, .object = this};
        const int r = weft::detail::condition_wait([](void* m) { static_cast<address_lock*>(m)->unlock(); }, &l, until, call);
        l.lock();
        return r;
    }
    void wake_one() { weft::detail::condition_wake(this, false); }
    void wake_all() { weft::detail::condition_wake(this, true); }
};

void poll_for(address_lock& l) {
    while (!l.try_lock()) std::this_thread::yield();
}

TEST(address_wait, PARKING_LOT_1_PARKING_LOT_2_excludes_stress) {
    for (const unsigned workers : {1u, 2u, 4u}) {
        address_lock locks[3];
        long counts[3] = {};
        crew all(workers);
        for (int i = 0; i < 6; ++i)
            all.start(party::fiber, [&] {
                for (int n = 0; n < 2'000; ++n) {
                    const std::lock_guard guard(locks[n % 3]);
                    ++counts[n % 3];
                    if (n % 16 == 0) weft::this_fiber::yield();
                }
            });
        all.start(party::thread, [&] {
            for (int n = 0; n < 2'000; ++n) {
                poll_for(locks[n % 3]);
                ++counts[n % 3];
                locks[n % 3].unlock();
            }
        });
        all.finish();
        EXPECT_EQ(counts[0] + counts[1] + counts[2], 14'000);
        EXPECT_EQ(parked_for_locks(), 0u);
    }
}

TEST(address_wait, PARKING_LOT_4_the_oldest_is_first_also_after_it_was_overtaken) {
    weft::run(
        [] {
            address_lock l;
            std::string order;
            l.lock();
            weft::with_scope([&](weft::scope& s) {
                for (char c = 'a'; c < 'd'; ++c) {
                    s.spawn([&, c] {
                        l.lock();
                        order += c;
                        l.unlock();
                    });
                    await_parked_for_locks(static_cast<std::uint32_t>(c - 'a' + 1));
                }
                const int before = l.attempts();
                l.unlock();  // wakes the first one, which cannot run yet
                ASSERT_TRUE(l.try_lock());
                while (l.attempts() < before + 3) weft::this_fiber::yield();  // it has looked in vain, and again from its place
                l.unlock();
            });
            EXPECT_EQ(order, "abc");
        },
        {.workers = 1});
}

TEST(address_wait, a_wake_up_for_another_address_wakes_nobody) {
    weft::run([] {
        address_lock l, other;
        l.lock();
        weft::with_scope([&](weft::scope& s) {
            auto waits = s.spawn([&] { return l.lock_until(in(50ms)); });
            await_parked_for_locks(1);
            for (int i = 0; i < 100; ++i) weft::detail::lock_wake(&other + i);
            EXPECT_EQ(waits.join(), ETIMEDOUT);
        });
    });
}

TEST(address_wait, an_attempt_that_fails_for_good_ends_the_wait) {
    weft::run([] {
        address_lock l;
        l.lock();
        weft::with_scope([&](weft::scope& s) {
            auto waits = s.spawn([&] { return l.lock_until(hook_never); });
            await_parked_for_locks(1);
            l.refuse(EDEADLK);
            l.unlock();
            EXPECT_EQ(waits.join(), EDEADLK);
        });
    });
}

TEST(address_wait, a_limit_of_time_ends_the_wait_and_not_before) {
    weft::run([] {
        address_lock l;
        l.lock();
        const auto from = weft::now();
        EXPECT_EQ(l.lock_until(in(30ms)), ETIMEDOUT);
        EXPECT_GE(weft::now() - from, 30ms);
        EXPECT_EQ(l.lock_until(in(-1ms)), ETIMEDOUT);
        l.unlock();
    });
}

TEST(address_wait, neither_a_stop_nor_a_deadline_ends_the_wait) {
    weft::run([] {
        address_lock l;
        l.lock();
        bool has_it = false;
        weft::fiber<void> waits = weft::spawn([&] {
            weft::with_timeout(1ms, [&] { l.lock(); });
            has_it = true;
        });
        await_parked_for_locks(1);
        waits.request_stop();
        weft::this_fiber::sleep_for(20ms);
        EXPECT_FALSE(has_it);
        l.unlock();
        try {
            waits.join();
        } catch (const weft::fiber_cancelled&) {}
        EXPECT_FALSE(l.try_lock()) << "it has the lock all the same";
    });
}

TEST(address_wait, PARKING_LOT_5_a_release_that_nobody_tells_of_is_noticed) {
    weft::run([] {
        address_lock l;
        l.lock();
        weft::with_scope([&](weft::scope& s) {
            auto waits = s.spawn([&] { return l.lock_until(hook_never); });
            await_parked_for_locks(1);
            l.unlock_in_silence();
            EXPECT_EQ(waits.join(), 0);
        });
    });
}

TEST(address_wait, PARKING_LOT_6_a_signal_wakes_the_oldest_and_a_broadcast_all) {
    weft::run(
        [] {
            address_lock l;
            address_condition c;
            std::string order;
            int turns = 0;
            weft::with_scope([&](weft::scope& s) {
                for (char name = 'a'; name < 'e'; ++name) {
                    s.spawn([&, name] {
                        const std::lock_guard guard(l);
                        while (turns == 0) EXPECT_EQ(c.wait(l), 0);
                        --turns;
                        order += name;
                    });
                    while (parked_for_conditions() != static_cast<std::uint32_t>(name - 'a' + 1)) weft::this_fiber::yield();
                }
                turns = 1;
                c.wake_one();
                while (order.empty()) weft::this_fiber::yield();
                turns = 3;
                c.wake_all();
            });
            EXPECT_EQ(order.size(), 4u);
            EXPECT_EQ(parked_for_conditions(), 0u);
        },
        {.workers = 1});
}

TEST(address_wait, PARKING_LOT_6_producers_and_consumers_stress) {
    constexpr int items = 4'000, each = 8;
    address_lock l;
    address_condition not_empty, not_full;
    int waiting_items = 0, taken = 0;
    crew all(2);
    for (int i = 0; i < each; ++i) {
        all.start(party::fiber, [&] {
            for (int n = 0; n < items / each; ++n) {
                l.lock();
                while (waiting_items == 3) not_full.wait(l);
                ++waiting_items;
                l.unlock();
                not_empty.wake_one();
            }
        });
        all.start(party::fiber, [&] {
            for (int n = 0; n < items / each; ++n) {
                l.lock();
                while (waiting_items == 0) not_empty.wait(l);
                --waiting_items, ++taken;
                not_full.wake_one();
                l.unlock();
            }
        });
    }
    all.finish();
    EXPECT_EQ(taken, items);
}

TEST(address_wait, a_condition_has_a_limit_of_time) {
    weft::run([] {
        address_lock l;
        address_condition c;
        const std::lock_guard guard(l);
        const auto until = in(250ms);
        const auto from = weft::now();
        int looks = 0;
        while (c.wait(l, until) == 0) ++looks;  // for nothing, from time to time
        EXPECT_GE(weft::now() - from, 250ms);
        EXPECT_GE(looks, 1);
        EXPECT_EQ(c.wait(l, in(-1ms)), ETIMEDOUT);
    });
}

TEST(address_wait, PARKING_LOT_5_takes_virtual_time_in_a_simulation) {
    const auto from_system = std::chrono::steady_clock::now();
    const weft::runtime_options simulated{.simulate = weft::simulation{.seed = 1}};
    weft::run(
        [] {
            address_lock l;
            address_condition c;
            l.lock();
            const auto from = weft::now();
            EXPECT_EQ(l.lock_until(in(1h)), ETIMEDOUT);
            EXPECT_EQ(c.wait(l, in(1h)), ETIMEDOUT);  // nothing wakes it before
            EXPECT_GE(weft::now() - from, 2h);
            l.unlock();
        },
        simulated);
    EXPECT_LT(std::chrono::steady_clock::now() - from_system, 1h);
    EXPECT_THROW(weft::run(
                     [] {
                         address_lock l;
                         l.lock();
                         l.lock();  // no look keeps it from being found
                     },
                     simulated),
                 weft::simulation_failed);
}

TEST(address_wait, is_told_in_dumps) {
    weft::runtime rt({.workers = 2});
    rt.run([&] {
        address_lock l;
        l.lock();
        weft::with_scope([&](weft::scope& s) {
            s.spawn([&] { l.lock_until(hook_never); });
            await_parked_for_locks(1);
            bool is_told = false;
            while (!is_told) {
                weft::this_fiber::yield();
                rt.for_each_fiber([&](const weft::fiber_info& f) { is_told = is_told || f.waits_for == "pthread lock"; });
            }
            l.unlock();
        });
    });
}

TEST(address_wait, who_forks_leaves_nobody_to_wake) {
    weft::run([] {
        address_lock l;
        l.lock();
        weft::with_scope([&](weft::scope& s) {
            s.spawn([&] { l.lock_until(hook_never); });
            await_parked_for_locks(1);
            const pid_t child = fork();
            if (child == 0) {
                l.unlock();
                _exit(parked_for_locks() == 0 ? 7 : 1);
            }
            int status = 0;
            EXPECT_EQ(waitpid(child, &status, 0), child);
            EXPECT_EQ(WEXITSTATUS(status), 7);
            l.unlock();
        });
    });
}

}  // namespace
