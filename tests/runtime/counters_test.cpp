// counters_test.cpp - each counter of runtime_stats moves when what it counts happens, and then only.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include <weft/channel.hpp>
#include <weft/runtime.hpp>

#include "support/eventually.hpp"
#include "support/no_leaks.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

class counters : public on_workers {
protected:
    /// The counters once nothing moves any more: all workers sleep.
    runtime_stats at_rest() {
        runtime_stats now = rt.stats();
        EXPECT_TRUE(eventually([&] {
            std::this_thread::sleep_for(10ms);
            const auto before = std::exchange(now, rt.stats());
            const bool all_have_slept = now.sleeps >= GetParam();  // each once, when it has started
            return all_have_slept && before.sleeps == now.sleeps && before.searches == now.searches && now.fibers == 0;
        }));
        return now;
    }
    watched_runtime rt{GetParam()};
};
WEFT_ON_1_2_4_8_WORKERS(counters);

TEST_P(counters, stand_still_while_nothing_happens) {
    const auto nothing_moves = [&] {
        const auto before = at_rest();
        std::this_thread::sleep_for(50ms);
        const auto after = rt.stats();
        EXPECT_GE(after.sleeps, 1u);
        EXPECT_EQ(after.parks + after.steals, 0u);
        return after.switches == before.switches && after.searches == before.searches && after.sleeps == before.sleeps &&
               after.wakes == before.wakes;
    };
    EXPECT_TRUE(eventually(nothing_moves));  // at the second try, if the machine itself was stopped and went on
}

TEST_P(counters, parks_are_waits_that_leave_the_worker) {
    rt.run([&] {
        const auto before = rt.stats();
        for (int i = 0; i < 1000; ++i) spawn([] {}).detach();
        channel<int> full(1);
        full.send(1);
        EXPECT_EQ(full.receive(), 1);
        EXPECT_EQ(rt.stats().parks, before.parks);  // none of that waits
        for (int i = 0; i < 10; ++i) this_fiber::sleep_for(100us);
        EXPECT_EQ(rt.stats().parks, before.parks + 10);
    });
}

TEST_P(counters, switches_are_dispatches) {
    const auto before = at_rest();
    rt.run([] {
        for (int i = 0; i < 10; ++i) this_fiber::sleep_for(100us);
    });
    EXPECT_EQ(at_rest().switches, before.switches + 11);
}

TEST_P(counters, wakes_are_of_sleepers_for_work) {
    const auto before = at_rest();
    rt.spawn_detached([] {});
    const auto after = at_rest();
    EXPECT_GE(after.wakes, before.wakes + 1);
    EXPECT_LE(after.wakes, before.wakes + GetParam());
}

TEST_P(counters, wakes_do_not_count_timers) {
    if (GetParam() > 1) return;  // with more, one may wake another to mind the timers
    rt.run([&] {
        std::uint64_t most = 0;  // a thread that gets no CPU for 2 ms sees that the timer is due, and does not sleep
        for (int look = 0; look < 5 && most < 10; ++look) {
            const auto before = rt.stats();
            for (int i = 0; i < 10; ++i) this_fiber::sleep_for(2ms);
            const auto after = rt.stats();
            EXPECT_EQ(after.wakes, before.wakes);
            EXPECT_LE(after.sleeps, before.sleeps + 10);
            most = std::max(most, after.sleeps - before.sleeps);
        }
        EXPECT_EQ(most, 10u);
    });
}

TEST_P(counters, one_wake_for_each_spawn_that_finds_the_only_worker_asleep) {
    if (GetParam() > 1) return;
    auto before = at_rest();
    for (int i = 1; i <= 5; ++i) {
        rt.spawn_detached([] {});
        const auto after = at_rest();
        EXPECT_EQ(after.wakes, before.wakes + 1);
        EXPECT_EQ(after.sleeps, before.sleeps + 1);
        before = after;
    }
}

TEST_P(counters, steals_and_searches_need_another_worker) {
    rt.run([&] {
        std::atomic<int> left = 64;
        std::atomic<bool> elsewhere = false;
        const auto here = std::this_thread::get_id();
        for (int i = 0; i < 64; ++i)
            spawn_detached([&] {
                if (std::this_thread::get_id() != here) elsewhere = true;
                --left;
            });
        if (GetParam() > 1)
            while (!elsewhere) {}  // keeps its worker: the others must come and take
        while (left > 0) this_fiber::yield();
    });
    const auto after = at_rest();
    if (GetParam() == 1) {
        EXPECT_EQ(after.steals, 0u);
        EXPECT_EQ(after.searches, 0u);
    } else {
        EXPECT_GE(after.steals, 1u);
        EXPECT_GE(after.searches, 1u);
    }
}

}  // namespace
}  // namespace weft::test
