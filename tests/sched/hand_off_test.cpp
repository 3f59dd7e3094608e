// hand_off_test.cpp - a fiber that computes or blocks its thread loses its worker, and the others go on; what it may still do then.
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include <weft/channel.hpp>
#include <weft/deadline.hpp>
#include <weft/mutex.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>
#include <weft/wait_group.hpp>

#include "support/eventually.hpp"
#include "support/no_leaks.hpp"
#include "support/random.hpp"
#include "support/scale.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

using steady = std::chrono::steady_clock;

/// No call into the runtime until `over`, or for so long.
void compute_until(const std::atomic<bool>& over, std::chrono::nanoseconds most = 20s) {
    const auto end = steady::now() + most;
    while (!over && steady::now() < end) {}
}
void compute_for(std::chrono::nanoseconds d) {
    for (const auto end = steady::now() + d; steady::now() < end;) {}
}

class hand_off : public no_leaks, public ::testing::WithParamInterface<unsigned> {
protected:
    /// As many hogs as workers, and one more, until `over`.
    std::vector<fiber<>> hogs() {
        std::vector<fiber<>> all;
        for (unsigned i = 0; i <= GetParam(); ++i) all.push_back(rt.spawn([this] { compute_until(over); }));
        return all;
    }

    std::atomic<bool> over{false};
    std::atomic<std::int64_t> ended{0};
    watched_runtime rt{runtime_options{.workers = GetParam(), .time_slice = 2ms}};
};

TEST_P(hand_off, seed_R1_R2_R3_Q15_sleepers_wake_although_every_worker_computes) {
    auto busy = hogs();
    const auto from = steady::now();
    std::vector<fiber<>> sleepers;
    for (int i = 0; i < 10; ++i) sleepers.push_back(rt.spawn([] { this_fiber::sleep_for(50ms); }));
    for (auto& s : sleepers) s.join();
    EXPECT_LT(steady::now() - from, 5s);  // generous: test machines have other things to do
    EXPECT_GE(rt.stats().hand_offs, 1u);
    over = true;
    for (auto& b : busy) b.join();
}

TEST_P(hand_off, ask_C2_fibers_that_block_their_thread_delay_nobody) {
    auto other_took = std::chrono::nanoseconds::max(), all_took = other_took;
    for (int tries = 0; tries < 10 && (other_took > 250ms || all_took > 2s); ++tries) {
        const auto from = steady::now();
        std::vector<fiber<>> blocked;
        for (unsigned i = 0; i < GetParam() + 8; ++i) blocked.push_back(rt.spawn([] { ::usleep(300'000); }));
        rt.spawn([] { this_fiber::sleep_for(10ms); }).join();
        other_took = std::min<std::chrono::nanoseconds>(other_took, steady::now() - from);
        for (auto& b : blocked) b.join();
        all_took = std::min<std::chrono::nanoseconds>(all_took, steady::now() - from);
    }
    EXPECT_LE(other_took, 250ms);
    EXPECT_LE(all_took, 2s) << "one after the other would be 2.4 s and more";
    EXPECT_GE(rt.stats().blocked, 1u);
}

TEST_P(hand_off, seed_L13_CARRIER_POOL_3_threads_that_nobody_wants_any_more_end_and_come_again) {
    for (int burst = 0; burst < 3; ++burst) {
        std::vector<fiber<>> blocked;
        for (int i = 0; i < 20; ++i) blocked.push_back(rt.spawn([] { ::usleep(100'000); }));
        for (auto& b : blocked) b.join();
        EXPECT_LE(rt.stats().carriers, GetParam() + 25);
        EXPECT_TRUE(eventually([&] { return rt.stats().carriers <= 2 * GetParam(); })) << rt.stats().carriers;
    }
    EXPECT_GE(rt.stats().hand_offs, 10u);
}

TEST_P(hand_off, one_that_has_lost_its_worker_does_all_that_fibers_do) {
    const auto lose_the_worker = [] { compute_for(6ms); };
    auto f = rt.spawn([&] {
        channel<int> numbers(1);
        weft::mutex m;
        for (int round = 0; round < 5; ++round) {
            lose_the_worker();
            auto child = spawn([] { return 7; });
            EXPECT_EQ(child.join(), 7);
            lose_the_worker();
            auto sender = spawn([&] { numbers.send(round); });
            EXPECT_EQ(numbers.receive(), round);
            lose_the_worker();
            numbers.send(1);  // need not wait
            EXPECT_EQ(numbers.try_receive(), 1);
            lose_the_worker();
            this_fiber::yield();
            lose_the_worker();
            this_fiber::sleep_for(1ms);
            lose_the_worker();
            {
                const std::lock_guard guard(m);
                lose_the_worker();
            }
            lose_the_worker();
            with_scope([&](scope& s) {
                for (int i = 0; i < 3; ++i) s.spawn([&] { lose_the_worker(); });
            });
            lose_the_worker();
            spawn_detached([&] { lose_the_worker(); });
        }
    });
    auto busy = hogs();
    f.join();
    over = true;
    for (auto& b : busy) b.join();
}

TEST_P(hand_off, seed_L9_one_that_spawns_for_ever_is_handed_off_too) {
    auto spawner = rt.spawn([&] {
        for (std::int64_t n = 0; !over; ++n) {
            spawn_detached([&] { ++ended; });
            while (n - ended > 10'000 && !over) {}  // whoever has the worker now is to run them
        }
    });
    auto other = rt.spawn([] { this_fiber::sleep_for(20ms); });
    other.join();
    EXPECT_TRUE(eventually([&] { return ended > 20'000; }));
    over = true;
    spawner.join();
}

TEST_P(hand_off, bursts_of_demoted_fibers_are_all_served) {
    std::atomic<int> bursts{0};
    std::vector<fiber<>> all;
    for (unsigned i = 0; i < 2 * GetParam() + 2; ++i)
        all.push_back(rt.spawn([&] {
            for (int n = 0; n < 4; ++n) {
                compute_for(15ms);
                ++bursts;
                if (n % 2) this_fiber::yield();
                else this_fiber::sleep_for(1ms);
            }
        }));
    for (auto& f : all) f.join();
    EXPECT_EQ(bursts, static_cast<int>(4 * (2 * GetParam() + 2)));
}

TEST_P(hand_off, a_stop_reaches_one_that_waits_without_a_worker) {
    auto waits = rt.spawn([&] {
        compute_for(30ms);
        channel<int> never(0);
        never.receive();
    });
    auto busy = hogs();
    std::this_thread::sleep_for(60ms);
    waits.request_stop();
    EXPECT_THROW(waits.join(), fiber_cancelled);
    over = true;
    for (auto& b : busy) b.join();
}

TEST_P(hand_off, the_runtime_ends_while_fibers_are_without_a_worker) {
    for (int i = 0; i < 5; ++i) {
        runtime short_lived({.workers = GetParam()});
        for (unsigned k = 0; k < GetParam() + 2; ++k) short_lived.spawn_detached([] { compute_for(15ms); });
        short_lived.spawn_detached([] { this_fiber::sleep_for(1ms); });
    }
}

/// Computes so long, and yields, so often that it is demoted.
void be_demoted() {
    for (int i = 0; i < 3; ++i) {
        compute_for(10ms);
        this_fiber::yield();
    }
}

// Among the demoted too, although all workers sleep and nobody else stirs.
TEST(hand_off_alone, a_demoted_fiber_does_not_wait_for_ever_behind_another) {
    runtime rt({.workers = 1, .time_slice = 2ms});
    std::atomic<bool> over{false};
    std::atomic<int> demoted{0};
    auto ticker = rt.spawn([&] {
        while (demoted < 2) this_fiber::sleep_for(1ms);
    });
    auto hog = rt.spawn([&] {
        be_demoted();
        ++demoted;
        compute_until(over);
    });
    auto punctual = rt.spawn([&] {
        be_demoted();
        ++demoted;
        for (int i = 0; i < 3; ++i) this_fiber::sleep_for(5ms);
    });
    EXPECT_TRUE(punctual.join_for(5s));
    over = true;
    ticker.join();
    hog.join();
}

// F waits in the kernel for what G writes, and G, which is demoted, has no thread but the worker's.
TEST(hand_off_alone, a_demoted_fiber_runs_on_a_worker_if_there_is_no_other_thread) {
    runtime rt({.workers = 1, .time_slice = 2ms, .max_carriers = 2});
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    std::atomic<bool> ready{false};
    auto f = rt.spawn([&] {
        while (!ready) this_fiber::sleep_for(1ms);
        char c;
        EXPECT_EQ(::read(ends[0], &c, 1), 1);
    });
    auto g = rt.spawn([&] {
        be_demoted();
        ready = true;
        this_fiber::sleep_for(50ms);
        EXPECT_EQ(::write(ends[1], "x", 1), 1);
    });
    if (!g.join_for(5s)) {
        ADD_FAILURE() << "it never ran";
        EXPECT_EQ(::write(ends[1], "x", 1), 1);
    }
    f.join();
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST_P(hand_off, seed_R10_limits_of_time_hold_although_every_worker_computes) {
    auto busy = hogs();
    rt.run([] {
        channel<int> nothing(1);
        mutex held;
        const std::lock_guard guard(held);
        const auto from = steady::now();
        EXPECT_THROW(with_timeout(20ms, [&] { nothing.receive(); }), timeout_error);
        auto other = spawn([&] { EXPECT_FALSE(held.try_lock_for(20ms)); });
        other.join();
        EXPECT_GE(steady::now() - from, 40ms);
        EXPECT_LT(steady::now() - from, 5s);  // generous: test machines have other things to do
    });
    over = true;
    for (auto& f : busy) f.join();
}

// Seed R5: each goes on as soon as it has lost its worker. Seed R17: so those that began on one
// worker run on threads of their own.
TEST(hand_off_alone, seed_R5_R17_R19_hogs_that_began_on_one_worker_run_all_at_once) {
    constexpr int hogs = 6;
    runtime rt({.workers = 2, .time_slice = 2ms});
    std::atomic<int> running{0};
    rt.run([&] {
        std::vector<fiber<>> all;
        for (int i = 0; i < hogs; ++i)
            all.push_back(spawn([&] {
                ++running;
                for (const auto end = steady::now() + 20s; running < hogs && steady::now() < end;) {}
                EXPECT_EQ(running, hogs);
            }));
        for (auto& f : all) f.join();
    });
    EXPECT_GE(rt.stats().hand_offs, hogs - 2u);
}

// By dispatches alone a worker would look at what comes from outside after 256 of them, until it has learnt how long bodies last.
TEST_F(no_leaks, what_comes_from_outside_does_not_wait_for_hundreds_of_long_bodies) {
    watched_runtime rt(runtime_options{.workers = 1});
    std::atomic<int> bodies{0}, at_start{-1};
    std::vector<fiber<>> busy;
    for (int i = 0; i < 4; ++i)
        busy.push_back(rt.spawn([&] {
            while (at_start < 0 && bodies < 1000) {
                compute_for(3ms);
                ++bodies;
                this_fiber::yield();
            }
        }));
    while (bodies < 2) std::this_thread::sleep_for(1ms);
    const int before = bodies;
    rt.spawn([&] { at_start = bodies.load(); }).join();
    EXPECT_LT(at_start - before, 100);
    for (auto& f : busy) f.join();
}

INSTANTIATE_TEST_SUITE_P(workers, hand_off, ::testing::Values(1u, 2u, 4u));

std::atomic<bool> may_go{false};
/// What a program keeps for each thread, and takes its time to clean up.
struct slow_to_go {
    int touched = 0;
    ~slow_to_go() { eventually([] { return may_go.load(); }); }
};
thread_local slow_to_go kept_by_thread;
void touch_what_is_kept() { ++kept_by_thread.touched; }

TEST(hand_off_threads, CARRIER_POOL_3_one_that_takes_long_to_end_holds_up_nobody) {
    may_go = false;
    runtime rt({.workers = 1, .time_slice = 2ms});
    const auto burst = [&] {
        std::vector<fiber<>> blocked;
        for (int i = 0; i < 10; ++i)
            blocked.push_back(rt.spawn([] {
                touch_what_is_kept();
                ::usleep(50'000);
            }));
        for (auto& b : blocked) b.join();
    };
    burst();
    ASSERT_TRUE(eventually([&] { return rt.stats().carriers <= 2; })) << rt.stats().carriers;
    const auto before = rt.stats().hand_offs;
    burst();
    EXPECT_GE(rt.stats().hand_offs - before, 4u);  // of ten; two of them find a spare thread, the others need new ones
    may_go = true;
}

TEST(hand_off_options, seed_R6_R13_without_a_slice_there_is_no_monitor_and_no_hand_off) {
    runtime rt({.workers = 1, .time_slice = 0ns});
    auto sleeper = rt.spawn([] { this_fiber::sleep_for(1ms); });
    rt.spawn([] { compute_for(40ms); }).join();
    sleeper.join();
    EXPECT_EQ(rt.stats().hand_offs, 0u);
    EXPECT_EQ(rt.stats().carriers, 1u);
}

TEST(hand_off_options, no_more_carriers_than_allowed) {
    runtime rt({.workers = 1, .max_carriers = 2});
    std::vector<fiber<>> hogs;
    for (int i = 0; i < 4; ++i) hogs.push_back(rt.spawn([] { compute_for(60ms); }));
    auto sleeper = rt.spawn([] { this_fiber::sleep_for(1ms); });
    for (auto& h : hogs) h.join();
    sleeper.join();
    EXPECT_LE(rt.stats().carriers, 2u);
}

TEST(hand_off_options, bad_ones_are_named) {
    const auto message_of = [](runtime_options o) -> std::string {
        try {
            runtime rt(std::move(o));
        } catch (const std::invalid_argument& e) {
            return e.what();
        }
        return "none";
    };
    EXPECT_EQ(message_of({.workers = 1, .time_slice = -1ns}),
              "weft: runtime_options::time_slice must be 0 (no preemption) or 100 us to 10 s, not -1 ns");
    EXPECT_EQ(message_of({.workers = 1, .max_carriers = 0}), "weft: runtime_options::max_carriers must be 1 to 65536, not 0");
}

}  // namespace
}  // namespace weft::test
