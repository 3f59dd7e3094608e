// alarm_test.cpp - a sleeper whose time others may set: it never sleeps past a ring, nor past the time set last.
#include "sched/monitor/alarm.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "support/random.hpp"
#include "support/scale.hpp"

using namespace std::chrono_literals;

namespace weft::detail {
namespace {

TEST(alarm, rings_at_the_time_set_last) {
    alarm a;
    const auto from = clock::now();
    a.set(from + 1h);
    a.set(from + 20ms);
    a.wait();
    EXPECT_GE(clock::now() - from, 20ms);
    EXPECT_LT(clock::now() - from, 30min);
}

TEST(alarm, a_time_that_has_passed_rings_at_once) {
    alarm a;
    a.set(clock::now() - 1s);
    a.wait();
    a.set(time_point());
    a.wait();
}

TEST(alarm, may_be_set_while_somebody_sleeps_for_ever) {
    alarm a;
    a.set(never);
    std::thread other([&] {
        std::this_thread::sleep_for(10ms);
        a.set(clock::now() + 10ms);
    });
    a.wait();
    other.join();
}

TEST(alarm, a_ring_before_the_sleep_is_kept_whatever_is_set_after) {
    alarm a;
    a.ring();
    a.set(never);
    a.wait();
    a.ring();
    a.ring();
    a.set(clock::now() + 1h);
    a.wait();
    const auto from = clock::now();
    a.set(from + 10ms);  // the rings are gone
    a.wait();
    EXPECT_GE(clock::now() - from, 10ms);
}

// A ring that were lost would leave the sleeper for ever; one whose effects it did not see would leave a number unread.
TEST(alarm, stress_no_ring_is_lost) {
    const test::seed seed;
    auto numbers = seed.of(0);
    alarm a;
    std::atomic<int> asked{0}, seen{0};
    const int rounds = test::scaled(20'000);
    std::thread sleeper([&] {
        while (seen.load() < rounds) {
            a.set(never);
            if (asked.load(std::memory_order_relaxed) == seen.load()) a.wait();
            seen.store(asked.load(std::memory_order_relaxed));
        }
    });
    std::thread setter([&] {  // others set it, too
        while (seen.load() < rounds) a.set(clock::now() + 1ms);
    });
    for (int i = 1; i <= rounds; ++i) {
        asked.store(i, std::memory_order_relaxed);
        a.ring();
        for (auto n = test::below(numbers, 200); n > 0; --n) cpu_relax();
        if (test::below(numbers, 4) == 0)
            while (seen.load() < i) std::this_thread::yield();
    }
    sleeper.join();
    setter.join();
    EXPECT_EQ(seen.load(), rounds);
}

}  // namespace
}  // namespace weft::detail
