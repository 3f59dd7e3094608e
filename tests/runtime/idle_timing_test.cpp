// idle_timing_test.cpp - a process whose fibers all wait uses no CPU.
#include <gtest/gtest.h>

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include <weft/runtime.hpp>

#include "support/baton.hpp"
#include "support/eventually.hpp"
#include "support/no_leaks.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

std::chrono::nanoseconds cpu_time() {
    rusage used;
    ::getrusage(RUSAGE_SELF, &used);
    const auto as_duration = [](const timeval& t) { return std::chrono::seconds(t.tv_sec) + std::chrono::microseconds(t.tv_usec); };
    return as_duration(used.ru_utime) + as_duration(used.ru_stime);
}

class timing_of_idleness : public no_leaks {};

TEST_F(timing_of_idleness, seed_L8_an_idle_process_uses_under_a_thousandth_of_a_cpu) {
    baton never_posted;  // outlives the fibers that wait in it
    std::vector<std::unique_ptr<watched_runtime>> all;
    for (const unsigned workers : {1u, 2u, 4u}) {
        all.push_back(std::make_unique<watched_runtime>(workers));
        all.back()->run([] { this_fiber::sleep_for(1ms); });
        for (int i = 0; i < 10; ++i) {
            all.back()->spawn_detached([] { this_fiber::sleep_for(1h); });
            all.back()->spawn_detached([&] { never_posted.take(); });
        }
    }
    std::this_thread::sleep_for(100ms);
    // A look lasts two seconds. What else the machine does only adds, so the least of some counts.
    double least = 1;
    for (int looks = 0; looks < 5 && least >= 0.001; ++looks) {
        const auto before = cpu_time();
        const auto start = std::chrono::steady_clock::now();
        std::this_thread::sleep_for(2s);
        const std::chrono::duration<double, std::milli> used = cpu_time() - before, elapsed = std::chrono::steady_clock::now() - start;
        std::printf("%.3f ms of CPU in %.0f ms\n", used.count(), elapsed.count());
        least = std::min(least, used / elapsed);
    }
    EXPECT_LT(least, 0.001);
}

TEST_F(timing_of_idleness, workers_that_wait_for_one_timer_sleep_until_it_is_due) {
    watched_runtime rt(4);
    rt.run([&] {
        this_fiber::sleep_for(50ms);
        const auto before = rt.stats().sleeps;
        this_fiber::sleep_for(500ms);
        EXPECT_LE(rt.stats().sleeps - before, 10u);
    });
}

}  // namespace
}  // namespace weft::test
