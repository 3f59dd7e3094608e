// scheduler_stress_test.cpp - many fibers, many wakers, moments that coincide: nothing is lost, nothing runs twice.
#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <vector>

#include <weft/runtime.hpp>

#include "support/baton.hpp"
#include "support/eventually.hpp"
#include "support/no_leaks.hpp"
#include "support/random.hpp"
#include "support/scale.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

using steady = std::chrono::steady_clock;

/// Most of a stress test's two seconds are left to slow machines.
constexpr auto enough = sanitized ? 600ms : 400ms;

class stress : public on_workers {
protected:
    watched_runtime rt{GetParam()};
    const seed seed_;
};
WEFT_ON_1_2_4_8_WORKERS(stress);

/// Spawns a tree with random waits and joins it. \returns its leaves.
int tree(const seed& s, std::uint64_t who, int depth) {
    auto random = s.of(who);
    switch (below(random, 6)) {
        case 0: this_fiber::yield(); break;
        case 1: this_fiber::sleep_for(up_to(random, 50us)); break;
        case 2: compute_for(up_to(random, 5us)); break;
        default: break;
    }
    if (depth == 0) return 1;
    auto left = spawn([&s, who, depth] { return tree(s, 2 * who, depth - 1); });
    auto right = spawn([&s, who, depth] { return tree(s, 2 * who + 1, depth - 1); });
    const int r = right.join();
    return left.join() + r;
}

TEST_P(stress, seed_L7_L15_trees_of_fibers_are_joined) {
    rt.run([&] {
        const auto end = steady::now() + enough;
        for (std::uint64_t i = 1; steady::now() < end; ++i) EXPECT_EQ(tree(seed_, i, 7), 128);
    });
}

TEST_P(stress, batons_posted_by_plain_threads_all_arrive) {
    constexpr int fibers = 50, threads = 3;
    std::vector<baton> batons(fibers);
    std::vector<std::atomic<int>> taken(fibers);
    std::atomic<bool> over{false};
    std::vector<fiber<>> all;
    for (std::size_t i = 0; i < fibers; ++i)
        all.push_back(rt.spawn([&, i] {
            auto random = seed_.of(i);
            for (;;) {
                batons[i].take();
                if (over) return;
                ++taken[i];
                if (below(random, 4) == 0) this_fiber::yield();
            }
        }));
    std::vector<int> posted(fibers);
    std::mutex lock;
    std::vector<std::thread> posters;
    for (std::uint64_t t = 0; t < threads; ++t)
        posters.emplace_back([&, t] {
            auto random = seed_.of(1000 + t);
            std::vector<int> mine(fibers);
            for (const auto end = steady::now() + enough; steady::now() < end;) {
                const auto i = below(random, fibers);
                batons[i].post();
                ++mine[i];
                if (below(random, 50) == 0) std::this_thread::sleep_for(up_to(random, 200us));
            }
            const std::lock_guard guard(lock);
            for (std::size_t i = 0; i < fibers; ++i) posted[i] += mine[i];
        });
    for (auto& p : posters) p.join();
    for (std::size_t i = 0; i < fibers; ++i) EXPECT_TRUE(eventually([&] { return taken[i] == posted[i]; })) << i;
    over = true;
    for (auto& b : batons) b.post();
    for (auto& f : all) f.join();
}

TEST_P(stress, fibers_and_threads_pass_a_baton_round_a_ring) {
    constexpr std::size_t parties = 12;  // every third a thread
    std::vector<baton> batons(parties);
    std::atomic<bool> over{false};
    std::atomic<int> steps{0};
    const auto party = [&](std::size_t i) {
        while (!over) {
            batons[i].take();
            ++steps;
            batons[(i + 1) % parties].post();
        }
        batons[(i + 1) % parties].post();
    };
    std::vector<fiber<>> fibers;
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < parties; ++i)
        if (i % 3 == 0)
            threads.emplace_back(party, i);
        else
            fibers.push_back(rt.spawn(party, i));
    batons[0].post();
    batons[5].post();
    std::this_thread::sleep_for(enough);
    over = true;
    for (auto& f : fibers) f.join();
    for (auto& t : threads) t.join();
    EXPECT_GT(steps, 10);
}

TEST_P(stress, a_timer_and_a_post_meet_and_one_of_them_wins) {
    constexpr std::uint64_t pairs = 8;
    std::atomic<long> in_time{0}, late{0};
    std::vector<fiber<>> all;
    for (std::uint64_t p = 0; p < pairs; ++p)
        all.push_back(rt.spawn([&, p] {
            auto random = seed_.of(p);
            const auto end = steady::now() + enough;
            while (steady::now() < end) {
                baton b;
                const auto due = steady::now() + up_to(random, 60us);
                auto poster = spawn([&, due, jitter = up_to(random, 20us)] {
                    this_fiber::sleep_until(due - 10us + jitter);
                    b.post();
                });
                const bool taken = b.take_until(due);
                ++(taken ? in_time : late);
                poster.join();
                EXPECT_TRUE(taken || b.take_until(steady::now() + 10s));  // it was not lost
            }
        }));
    for (auto& f : all) f.join();
    std::printf("%ld in time, %ld late\n", in_time.load(), late.load());
}

TEST_P(stress, a_stop_and_a_post_meet_and_no_post_is_lost) {
    std::vector<fiber<>> all;
    for (std::uint64_t p = 0; p < 8; ++p)
        all.push_back(rt.spawn([&, p] {
            auto random = seed_.of(p);
            const auto end = steady::now() + enough;
            while (steady::now() < end) {
                baton b;
                auto taker = spawn([&] {
                    b.take();
                    return true;
                });
                auto poster = spawn([&] { b.post(); });
                if (below(random, 2)) this_fiber::yield();
                compute_for(up_to(random, 5us));
                taker.request_stop();
                bool taken = false;
                try {
                    taken = taker.join();
                } catch (const fiber_cancelled&) {
                }
                poster.join();
                EXPECT_EQ(b.take_until(steady::now()), !taken);
            }
        }));
    for (auto& f : all) f.join();
}

TEST_P(stress, fibers_with_stacks_of_their_own_come_and_go) {
    rt.run([&] {
        const auto end = steady::now() + enough;
        auto random = seed_.of(0);
        std::vector<fiber<int>> all(64);
        while (steady::now() < end) {
            auto& f = all[below(random, 64)];
            EXPECT_TRUE(!f.joinable() || f.join() == 1);
            const std::size_t bytes = below(random, 3) * 64 * 1024;
            f = spawn({.stack_bytes = bytes}, [park = below(random, 3)] {
                if (park == 1) this_fiber::yield();
                if (park == 2) this_fiber::sleep_for(10us);
                return 1;
            });
        }
        for (auto& f : all)
            EXPECT_TRUE(!f.joinable() || f.join() == 1);
    });
}

TEST_P(stress, exceptions_follow_their_fibers_from_thread_to_thread) {
    rt.run([&] {
        std::vector<fiber<>> all;
        for (std::uint64_t i = 0; i < 32; ++i)
            all.push_back(spawn([&, i] {
                auto random = seed_.of(i);
                for (const auto end = steady::now() + enough; steady::now() < end;) {
                    try {
                        throw i;
                    } catch (const std::uint64_t& caught) {
                        this_fiber::yield();
                        if (below(random, 3) == 0) this_fiber::sleep_for(20us);
                        EXPECT_EQ(caught, i);
                        EXPECT_EQ(std::uncaught_exceptions(), 0);
                    }
                }
            }));
        for (auto& f : all) f.join();
    });
}

}  // namespace
}  // namespace weft::test
