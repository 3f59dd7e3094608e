// order_test.cpp - who runs next on one worker, and that nobody can keep it from the others.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include <weft/runtime.hpp>

#include "support/baton.hpp"
#include "support/eventually.hpp"
#include "support/no_leaks.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

class one_worker : public no_leaks {
protected:
    watched_runtime rt{one_fiber_at_a_time};
};

TEST_F(one_worker, runs_new_fibers_newest_first_and_now_and_then_the_oldest) {
    rt.run([] {
        std::vector<int> ran;
        std::vector<fiber<>> all;
        for (int i = 0; i < 2000; ++i) all.push_back(spawn([&, i] { ran.push_back(i); }));
        for (auto& f : all) f.join();
        ASSERT_EQ(ran.size(), 2000u);
        EXPECT_EQ(ran.front(), 1999);
        EXPECT_LE(std::find(ran.begin(), ran.end(), 0) - ran.begin(), 1024);
        std::sort(ran.begin(), ran.end());
        for (std::size_t i = 0; i < ran.size(); ++i) ASSERT_EQ(ran[i], static_cast<int>(i));
    });
}

TEST_F(one_worker, runs_all_of_a_burst) {
    rt.run([] {
        int ran = 0;
        std::vector<fiber<>> all;
        for (int i = 0; i < 5000; ++i) all.push_back(spawn([&] { ++ran; }));
        for (auto& f : all) f.join();
        EXPECT_EQ(ran, 5000);
    });
}

TEST_F(one_worker, WORKER_1_runs_a_woken_fiber_before_those_in_the_ring) {
    rt.run([] {
        std::vector<char> ran;
        baton wake;
        auto a = spawn([&] {
            wake.take();
            ran.push_back('a');
        });
        this_fiber::yield();  // a waits
        auto b = spawn([&] { ran.push_back('b'); });
        auto c = spawn([&] { ran.push_back('c'); });
        wake.post();
        this_fiber::yield();
        EXPECT_EQ(ran.front(), 'a');
        a.join();
        b.join();
        c.join();
        EXPECT_EQ(ran, (std::vector{'a', 'b', 'c'}));
    });
}

TEST_F(one_worker, WORKER_1_of_two_woken_fibers_the_later_runs_first) {
    rt.run([] {
        std::vector<char> ran;
        baton wake_a, wake_b;
        auto a = spawn([&] {
            wake_a.take();
            ran.push_back('a');
        });
        auto b = spawn([&] {
            wake_b.take();
            ran.push_back('b');
        });
        this_fiber::yield();
        wake_a.post();
        wake_b.post();
        a.join();
        b.join();
        EXPECT_EQ(ran, (std::vector{'b', 'a'}));
    });
}

TEST_F(one_worker, yields_take_turns) {
    rt.run([] {
        std::vector<int> ran;
        std::vector<fiber<>> all;
        for (int i = 0; i < 3; ++i)
            all.push_back(spawn([&, i] {
                for (int round = 0; round < 100; ++round) {
                    ran.push_back(i);
                    this_fiber::yield();
                }
            }));
        for (auto& f : all) f.join();
        ASSERT_EQ(ran.size(), 300u);
        for (std::size_t i = 3; i < ran.size(); ++i) ASSERT_EQ(ran[i], ran[i - 3]) << i;
        EXPECT_EQ(std::set<int>(ran.begin(), ran.begin() + 3).size(), 3u);
    });
}

TEST_F(one_worker, a_park_switches_straight_to_the_next_fiber) {
    rt.run([&] {
        baton ping, pong;
        constexpr std::uint64_t rounds = 1000;
        auto other = spawn([&] {
            for (std::uint64_t i = 0; i < rounds; ++i) {
                ping.take();
                pong.post();
            }
        });
        const auto before = rt.stats();
        for (std::uint64_t i = 0; i < rounds; ++i) {
            ping.post();
            pong.take();
        }
        const auto after = rt.stats();
        EXPECT_LE(after.switches - before.switches, 2 * rounds + 20);  // two dispatches a round trip, no loop in between
        EXPECT_LE(after.sleeps - before.sleeps, 5u);
        other.join();
    });
}

/// Two fibers wake each other without end, through the next slot.
class two_that_wake_each_other {
public:
    two_that_wake_each_other()
        : a_([this] { play(ping_, pong_); }), b_([this] { play(pong_, ping_); }), fa_(spawn(a_)), fb_(spawn(b_)) {
        ping_.post();
    }
    ~two_that_wake_each_other() {
        over_ = true;
        fa_.join();
        fb_.join();
    }
    std::atomic<long> turns{0};

private:
    void play(baton& mine, baton& other) {
        while (!over_) {
            mine.take();
            ++turns;
            other.post();
        }
        other.post();
    }
    std::atomic<bool> over_{false};
    baton ping_, pong_;
    std::function<void()> a_, b_;
    fiber<> fa_, fb_;
};

TEST_F(one_worker, WORKER_1_two_fibers_that_wake_each_other_do_not_starve_a_third) {
    rt.run([] {
        two_that_wake_each_other pair;
        long worst = 0, last = 0;
        for (int i = 0; i < 1000; ++i) {
            this_fiber::yield();
            const long now = pair.turns;
            worst = std::max(worst, now - last);
            last = now;
        }
        EXPECT_GT(last, 100);
        EXPECT_LE(worst, 64 + 2);  // next_budget, and what ran before the count began
    });
}

TEST_F(one_worker, two_fibers_that_wake_each_other_do_not_starve_timers) {
    rt.run([] {
        two_that_wake_each_other pair;
        for (int i = 0; i < 5; ++i) this_fiber::sleep_for(1ms);
    });
}

TEST_F(one_worker, two_fibers_that_wake_each_other_do_not_starve_what_threads_spawn) {
    rt.run([&] {
        two_that_wake_each_other pair;
        std::thread outside([&] {
            for (int i = 0; i < 10; ++i) rt.spawn([] {}).join();
        });
        baton done;
        std::thread waits([&] {
            outside.join();
            done.post();
        });
        done.take();
        waits.join();
    });
}

TEST_F(one_worker, a_fiber_that_yields_without_end_does_not_starve_timers_or_threads) {
    rt.run([&] {
        std::atomic<bool> over{false};
        auto yields = spawn([&] {
            while (!over) this_fiber::yield();
        });
        this_fiber::sleep_for(1ms);
        std::atomic<bool> ran{false};
        std::thread outside([&] { rt.spawn([&] { ran = true; }).join(); });
        EXPECT_TRUE(eventually_here([&] { return ran.load(); }));
        over = true;
        yields.join();
        outside.join();
    });
}

}  // namespace
}  // namespace weft::test
