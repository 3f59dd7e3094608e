// few_awake_test.cpp - IDLE_SET-7, WORKER-4: a runtime that may keep fewer workers awake than it
// has goes on with those, and with all when it may again.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <weft/channel.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>

#include "base/cpus.hpp"
#include "sched/scheduler.hpp"
#include "support/eventually.hpp"
#include "support/no_leaks.hpp"
#include "support/own_quota.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

using detail::scheduler;

constexpr unsigned workers = 4;

/// One turn of a fiber, whose class is its own number's if there are several.
struct load {
    const char* name;
    std::function<void()> turn;
    std::vector<priority> classes = {priority::normal};
};

class few_awake : public no_leaks, public ::testing::WithParamInterface<load> {
protected:
    watched_runtime rt{workers};
    std::atomic<std::uint64_t> turns{0};
    std::atomic<bool> over{false};

    /// Calls `look` in a plain thread, with many fibers at their turns.
    void beside_many(const std::function<void(scheduler&)>& look) {
        rt.run([&] {
            with_scope([&](scope& all) {
                for (unsigned i = 0; i < 8 * workers; ++i)
                    all.spawn(attributes{.priority = GetParam().classes[i % GetParam().classes.size()]}, [&] {
                        for (; !over; ++turns) GetParam().turn();
                    });
                std::thread looks([&, s = detail::current_scheduler()] {
                    look(*s);
                    over = true;
                });
                while (!over) this_fiber::sleep_for(1ms);
                looks.join();
            });
        });
    }
    static void allow(scheduler& s, unsigned awake) {
        if (s.idle().allow(awake)) s.wake_searcher();
    }
    static unsigned awake(scheduler& s) { return workers - s.idle().sleeping_count(); }
    /// Of so many looks, how many found more than `most` awake.
    static int looks_that_found_more(scheduler& s, unsigned most, int looks) {
        int n = 0;
        for (int i = 0; i < looks; ++i) {
            n += awake(s) > most;
            std::this_thread::sleep_for(500us);
        }
        return n;
    }
    bool goes_on() {
        const auto before = turns.load();
        return eventually([&] { return turns > before + 8 * workers; });
    }
};

INSTANTIATE_TEST_SUITE_P(loads, few_awake,
                         ::testing::Values(load{"that_yield", [] { this_fiber::yield(); }},
                                           load{"of_high_class_that_yield", [] { this_fiber::yield(); }, {priority::high}},
                                           load{"of_all_classes_that_yield",
                                                [] { this_fiber::yield(); },
                                                {priority::high, priority::normal, priority::low}},
                                           load{"that_compute", [] { compute_for(100us), this_fiber::yield(); }},
                                           load{"that_wait_for_each_other",
                                                [] {
                                                    channel<int> c(1);
                                                    auto answer = spawn([&] { c.send(1); });
                                                    c.receive();
                                                    compute_for(50us);
                                                    answer.join();
                                                }},
                                           load{"with_timers", [] { compute_for(200us), this_fiber::sleep_for(100us); }}),
                         [](const auto& each) { return each.param.name; });

TEST_P(few_awake, IDLE_SET_7_WORKER_4_no_more_than_allowed_until_it_may_again) {
    beside_many([&](scheduler& s) {
        for (const unsigned most : {1u, 2u}) {
            allow(s, most);
            EXPECT_TRUE(eventually([&] { return awake(s) <= most; })) << awake(s) << " of " << most;
            EXPECT_LE(looks_that_found_more(s, most, 100), 50) << "but for moments, in which a timer or the driver wakes one: " << most;
            EXPECT_TRUE(goes_on()) << most;
        }
        allow(s, workers);
        EXPECT_TRUE(eventually([&] { return awake(s) > 2; }));
        EXPECT_TRUE(goes_on());
    });
}

TEST_P(few_awake, IDLE_SET_7_nothing_is_lost_while_it_changes_all_the_time) {
    beside_many([&](scheduler& s) {
        for (unsigned i = 0; i < 300; ++i) {
            allow(s, 1 + i * 7 % workers);
            std::this_thread::sleep_for(std::chrono::microseconds(i * 37 % 1000));
        }
        for (const auto end = std::chrono::steady_clock::now() + 200ms; std::chrono::steady_clock::now() < end;)  // at once again
            for (unsigned i = 0; i < 100; ++i) allow(s, 1 + i % 2 * (workers - 1));
        allow(s, 1);
        EXPECT_TRUE(goes_on());
    });
}

// A worker whose thief's call was answered only when it had found something else: what it had found ran on the account of the loot's class, and if it
// never parked, fibers of that class had no turn any more.
TEST(few_awake_of_low_class, CLASS_TURNS_4_have_their_turns_however_often_workers_come_and_go) {
    watched_runtime rt(runtime_options{.workers = 2, .time_slice = 0ns});
    scheduler& s = *rt.run([] { return detail::current_scheduler(); });
    std::atomic<bool> over{false};
    std::array<std::atomic<std::uint64_t>, 6> turns{};
    std::vector<fiber<>> all;
    all.push_back(rt.spawn([&] {
        while (!over) this_fiber::yield();
    }));
    for (auto& mine : turns)
        all.push_back(rt.spawn(attributes{.priority = priority::low}, [&] {
            for (; !over; ++mine) this_fiber::yield();
        }));
    const auto allow = [&](unsigned awake) {
        if (s.idle().allow(awake)) s.wake_searcher();
    };
    bool goes_on = true;
    for (int round = 0; goes_on && round < 300; ++round) {
        for (int i = 0; i < 500; ++i) {
            allow(1 + static_cast<unsigned>(i) % 2);
            for (int polls = 0; polls < i % 7; ++polls)
                for (const unsigned w : {0u, 1u}) s.worker_at(w).poll_soon();  // as the monitor does
        }
        allow(1);
        for (auto& each : turns) goes_on = goes_on && eventually([&, before = each.load()] { return each > before; });
        EXPECT_TRUE(goes_on) << "round " << round;
        allow(2);
    }
    over = true;
    allow(2);
    for (auto& f : all) f.join();
}

class quota_followed : public ::testing::Test, protected own_quota {};

TEST_F(quota_followed, down_and_up_again_while_fibers_compute) {
    const auto cpus = detail::usable_cpus();
    if (cpus == 1) return static_cast<void>(std::puts("left out, one CPU: there is nothing to take away"));
    runtime rt;
    rt.run([&] {
        auto& s = *detail::current_scheduler();
        const auto awake = [&] { return cpus - s.idle().sleeping_count(); };
        std::atomic<bool> over{false};
        with_scope([&](scope& all) {
            for (unsigned i = 0; i < 4 * cpus; ++i)
                all.spawn([&] {
                    while (!over) compute_for(100us), this_fiber::yield();
                });
            EXPECT_TRUE(eventually_here([&] { return awake() == cpus; }));
            set("100000 100000");
            EXPECT_TRUE(eventually_here([&] { return s.the_monitor().cpus() == 1 && awake() == 1; }));
            set("max 100000");
            EXPECT_TRUE(eventually_here([&] { return s.the_monitor().cpus() == cpus && awake() == cpus; }));
            over = true;
        });
    });
}

// It uses no CPU, or has it to itself, and nobody can take its worker.
TEST_F(quota_followed, beside_a_fiber_that_keeps_its_worker_another_is_awake) {
    if (detail::usable_cpus() == 1) return static_cast<void>(std::puts("left out, one CPU: such a fiber has the only worker"));
    set("100000 100000");
    runtime rt({.on_hog = [](const hog_report&) {}});
    EXPECT_EQ(rt.stats().workers, 1u);
    set("max 100000");
    runtime more({.on_hog = [](const hog_report&) {}});
    more.run([&] {
        set("100000 100000");
        auto& s = *detail::current_scheduler();
        EXPECT_TRUE(eventually_here([&] { return s.the_monitor().cpus() == 1; }));
        std::atomic<bool> over{false};
        auto keeps = spawn(attributes{.preempt = false}, [&] {
            while (!over) std::this_thread::sleep_for(1ms);
        });
        int ticks = 0;
        for (const auto end = std::chrono::steady_clock::now() + 10s; ticks < 200 && std::chrono::steady_clock::now() < end; ++ticks)
            this_fiber::sleep_for(1ms);
        over = true;
        EXPECT_EQ(ticks, 200);
    });
}

TEST_F(quota_followed, not_by_a_runtime_whose_workers_were_chosen) {
    set("100000 100000");
    runtime rt({.workers = 2});
    rt.run([&] {
        auto& s = *detail::current_scheduler();
        std::atomic<bool> over{false};
        with_scope([&](scope& all) {
            for (int i = 0; i < 8; ++i)
                all.spawn([&] {
                    while (!over) compute_for(100us), this_fiber::yield();
                });
            this_fiber::sleep_for(1500ms);  // required: more than the monitor takes to look
            EXPECT_TRUE(eventually_here([&] { return s.idle().sleeping_count() == 0; }));
            over = true;
        });
    });
}

}  // namespace
}  // namespace weft::test
