// late_worker_test.cpp - beside a hog, a worker whose thread comes late for a timer is relieved by one that has slept for longer.
//
// A signal handler that sleeps stands for a kernel that gives the thread no CPU: the thread returns from its sleep when the handler
// has ended, and not when the timer is due.
#include <gtest/gtest.h>

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iostream>
#include <thread>

#include <weft/runtime.hpp>

#include "support/eventually.hpp"
#include "support/no_leaks.hpp"
#include "support/scale.hpp"

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

namespace weft::test {
namespace {

constexpr auto held_for = 400ms;

extern "C" void sleep_in_handler(int) {
    timespec left = {.tv_sec = 0, .tv_nsec = std::chrono::nanoseconds(held_for).count()};
    while (::nanosleep(&left, &left) != 0) {
    }
}

/// \returns how late a sleep of 100 ms ended whose thread was held by the handler from its middle on.
std::chrono::nanoseconds lateness() {
    watched_runtime rt({.workers = 2});
    std::atomic<bool> over = false;
    auto hog = rt.spawn([&] { while (!over) {} });
    rt.run([&] { while (rt.stats().hand_offs == 0) this_fiber::sleep_for(1ms); });  // then the hog computes without a worker
    std::atomic<pthread_t> thread{};
    std::atomic<bool> sleeps = false;
    const auto due = clock_type::now() + 100ms;
    auto sleeper = rt.spawn([&] {
        thread = ::pthread_self();
        sleeps = true;
        this_fiber::sleep_until(due);
        return clock_type::now() - due;
    });
    EXPECT_TRUE(eventually([&] { return sleeps.load(); }));
    std::this_thread::sleep_until(due - 50ms);
    EXPECT_EQ(::pthread_kill(thread, SIGUSR2), 0);
    const auto late = sleeper.join();
    over = true;
    hog.join();
    return late;
}

class late_worker : public no_leaks {};

TEST_F(late_worker, its_timer_is_taken_over_beside_a_hog) {
    if (WEFT_UNDER_TSAN) {
        std::cout << "not shown under tsan, which puts the handler off until the thread is back\n";
        return;
    }
    struct sigaction how = {}, before = {};
    how.sa_handler = sleep_in_handler;
    ASSERT_EQ(::sigaction(SIGUSR2, &how, &before), 0);
    auto least = lateness();
    for (int i = 1; i < 3 && least > held_for / 4; ++i) least = std::min(least, lateness());
    EXPECT_LT(least, held_for / 4);
    ASSERT_EQ(::sigaction(SIGUSR2, &before, nullptr), 0);
}

}  // namespace
}  // namespace weft::test
