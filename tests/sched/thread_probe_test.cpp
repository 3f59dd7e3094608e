// thread_probe_test.cpp - the kernel's answers about a thread that computes, one that sleeps and one that waits for a lock.
#include "sched/monitor/thread_probe.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

#include "support/eventually.hpp"

namespace weft::detail {
namespace {

using namespace std::chrono_literals;

TEST(thread_probe, activity_is_read_behind_any_name) {
    EXPECT_EQ(activity_in("17 (worker/0) R 1 2 3"), thread_activity::runs);
    EXPECT_EQ(activity_in("17 (worker/0) S 1 2 3"), thread_activity::sleeps);
    EXPECT_EQ(activity_in("17 (a) R (b) D 1"), thread_activity::sleeps);
    EXPECT_EQ(activity_in("17 (worker/0) T 1 2 3"), thread_activity::unknown);
    for (const auto* const text : {"", "17", "17 (worker", "17 (worker)", "17 (worker) "})
        EXPECT_EQ(activity_in(text), thread_activity::unknown) << text;
}

/// A thread that does `what` until the test is over.
class subject {
public:
    explicit subject(std::function<void(const std::atomic<bool>& over)> what)
        : thread_([this, what = std::move(what)] {
              probe_ = thread_probe::here();
              ready_.store(true, std::memory_order_release);
              what(over_);
              while (!over_) std::this_thread::sleep_for(1ms);  // asked to the end
          }) {
        while (!ready_.load(std::memory_order_acquire)) std::this_thread::yield();
    }
    ~subject() {
        over_ = true;
        thread_.join();
    }
    const thread_probe& probe() const { return probe_; }

private:
    thread_probe probe_;
    std::atomic<bool> ready_{false}, over_{false};
    std::thread thread_;
};

duration cpu_during(const subject& s, std::chrono::milliseconds time) {
    const auto before = s.probe().cpu();
    std::this_thread::sleep_for(time);
    const auto after = s.probe().cpu();
    EXPECT_TRUE(before && after);
    return before && after ? *after - *before : duration();
}

TEST(thread_probe, a_thread_that_computes_runs_and_uses_cpu_time) {
    const subject s([](const auto& over) {
        while (!over) {}
    });
    EXPECT_EQ(s.probe().activity(), thread_activity::runs);
    EXPECT_TRUE(test::eventually([&] { return cpu_during(s, 10ms) >= 1ms; }));
}

TEST(thread_probe, a_thread_that_sleeps_stands_still) {
    const subject s([](const auto& over) {
        while (!over) ::usleep(300'000);
    });
    EXPECT_TRUE(test::eventually([&] { return s.probe().activity() == thread_activity::sleeps; }));
    EXPECT_LT(cpu_during(s, 20ms), 5ms);
}

TEST(thread_probe, a_thread_that_waits_for_a_lock_or_a_pipe_sleeps) {
    std::mutex held;
    std::unique_lock guard(held);
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    const subject waits([&](const auto&) { const std::lock_guard mine(held); });
    const subject reads([&](const auto&) {
        char c;
        EXPECT_EQ(::read(ends[0], &c, 1), 0);
    });
    EXPECT_TRUE(test::eventually([&] { return waits.probe().activity() == thread_activity::sleeps; }));
    EXPECT_TRUE(test::eventually([&] { return reads.probe().activity() == thread_activity::sleeps; }));
    ::close(ends[1]);
    guard.unlock();
}

TEST(thread_probe, a_thread_that_has_ended_is_unknown) {
    thread_probe gone;
    std::thread([&] { gone = thread_probe::here(); }).join();
    EXPECT_TRUE(test::eventually([&] { return gone.activity() == thread_activity::unknown; }));
}

}  // namespace
}  // namespace weft::detail
