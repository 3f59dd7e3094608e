// parker_test.cpp - a worker's place to sleep: wakes are never lost, times are kept, on the futex and in the driver.
#include "sched/idle/parker.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "support/scale.hpp"

using namespace std::chrono_literals;

namespace weft::detail {
namespace {

/// A driver without I/O: poll() sleeps until wake() or the time.
class fake_driver final : public driver {
public:
    unsigned poll(time_point until) noexcept override {
        std::unique_lock guard(lock_);
        ++polls;
        changed_.wait_until(guard, until == never ? clock::now() + 10s : until, [&] { return woken_; });
        woken_ = false;
        return 3;
    }
    void wake() noexcept override {
        ++wakes;
        const std::lock_guard guard(lock_);
        woken_ = true;
        changed_.notify_one();
    }
    std::atomic<int> polls{0}, wakes{0};

private:
    std::mutex lock_;
    std::condition_variable changed_;
    bool woken_ = false;
};

TEST(parker, a_wake_before_the_sleep_is_kept) {
    fake_driver io;
    parker p;
    p.wake(io);
    const auto start = clock::now();
    p.sleep(never);
    EXPECT_LT(clock::now() - start, 5s);
    p.wake(io);
    EXPECT_EQ(p.sleep_in(io, never), 0u);
    EXPECT_EQ(io.polls, 0);
    EXPECT_EQ(io.wakes, 0);
}

TEST(parker, several_wakes_count_as_one) {
    fake_driver io;
    parker p;
    for (int i = 0; i < 3; ++i) p.wake(io);
    p.sleep(never);
    const auto start = clock::now();
    p.sleep(start + 5ms);
    EXPECT_GE(clock::now() - start, 5ms);
}

TEST(parker, sleeps_no_shorter_than_asked) {
    fake_driver io;
    parker p;
    for (const auto d : {0ms, 1ms, 20ms}) {
        const auto start = clock::now();
        p.sleep(start + d);
        EXPECT_GE(clock::now() - start, d);
    }
    p.sleep(long_past);
}

TEST(parker, a_timed_out_sleep_leaves_nothing_behind) {
    fake_driver io;
    parker p;
    p.sleep(clock::now() + 1ms);
    EXPECT_EQ(p.sleep_in(io, clock::now() + 1ms), 3u);
    EXPECT_EQ(io.polls, 1);
}

TEST(parker, wakes_a_sleeper_on_the_futex_and_leaves_the_driver_alone) {
    fake_driver io;
    parker p;
    std::thread waker([&] {
        std::this_thread::sleep_for(5ms);
        p.wake(io);
    });
    p.sleep(never);
    waker.join();
    EXPECT_EQ(io.wakes, 0);
}

TEST(parker, wakes_a_sleeper_in_the_driver_through_the_driver) {
    fake_driver io;
    parker p;
    std::thread waker([&] {
        while (io.polls == 0) std::this_thread::yield();
        p.wake(io);
    });
    EXPECT_EQ(p.sleep_in(io, never), 3u);
    waker.join();
    EXPECT_EQ(io.wakes, 1);
}

TEST(parker, PARKER_1_no_wake_is_lost_stress) {
    constexpr int rounds = test::scaled(5'000);
    fake_driver io;
    parker p;
    atomic<int> sent{0}, seen{0};
    std::thread sleeper([&] {
        for (int i = 1; i <= rounds; ++i) {
            while (sent.load(relaxed) < i) {  // relaxed: wake() orders it
                if (i % 3 == 0)
                    p.sleep_in(io, never);
                else
                    p.sleep(never);
            }
            seen.store(i, release);
        }
    });
    for (int i = 1; i <= rounds; ++i) {
        sent.store(i, relaxed);
        p.wake(io);
        while (seen.load(acquire) < i) std::this_thread::yield();
    }
    sleeper.join();
}

}  // namespace
}  // namespace weft::detail
