// shutdown_stress_test.cpp - runtimes that end under load, and plain threads that spawn, look on and wait meanwhile.
#include <weft/runtime.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <vector>

#include <weft/scope.hpp>

#include "support/eventually.hpp"
#include "support/no_leaks.hpp"
#include "support/random.hpp"
#include "support/scale.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

using steady = std::chrono::steady_clock;

constexpr auto enough = sanitized ? 600ms : 400ms;

class runtime_stress : public on_workers {
protected:
    const seed seed_;
};
WEFT_ON_1_2_4_8_WORKERS(runtime_stress);

TEST_P(runtime_stress, ends_at_a_random_moment_under_load) {
    auto random = seed_.of(0);
    for (const auto end = steady::now() + enough; steady::now() < end;) {
        std::atomic<int> alive{0};
        {
            std::function<void(unsigned)> load = [&](unsigned n) {
                struct counted {
                    std::atomic<int>& count;
                    explicit counted(std::atomic<int>& c) : count(c) { ++count; }
                    ~counted() { --count; }
                } const me(alive);
                auto mine = seed_.of(n);
                for (;;) {
                    switch (below(mine, 5)) {
                        case 0: this_fiber::yield(); break;
                        case 1: this_fiber::sleep_for(up_to(mine, 500us)); break;
                        case 2: spawn([] { this_fiber::sleep_for(30us); }).join(); break;
                        case 3: with_scope([](scope& s) { s.spawn([] { this_fiber::sleep_for(30us); }); }); break;
                        default:
                            if (alive < 200) spawn_detached(load, below(mine, 1u << 30));
                    }
                }
            };
            watched_runtime rt(GetParam());
            for (unsigned i = 0; i < 10; ++i) rt.spawn_detached(load, i);
            std::this_thread::sleep_for(up_to(random, 5ms));
        }
        EXPECT_EQ(alive, 0);
    }
}

TEST_P(runtime_stress, plain_threads_spawn_while_fibers_keep_it_busy) {
    std::atomic<bool> over{false};  // outlives the fibers that read it
    watched_runtime rt(GetParam());
    for (int i = 0; i < 20; ++i)
        rt.spawn_detached([&] {
            while (!over) {
                compute_for(20us);
                this_fiber::yield();
            }
        });
    std::atomic<int> ran{0};
    int expected = 0;
    std::vector<std::thread> threads;
    std::mutex lock;
    for (std::uint64_t t = 0; t < 3; ++t)
        threads.emplace_back([&, t] {
            auto random = seed_.of(t);
            int mine = 0;
            std::vector<fiber<>> held;
            for (const auto end = steady::now() + enough; steady::now() < end && mine < 5000; ++mine) {
                if (below(random, 2))
                    rt.spawn_detached([&] { ++ran; });
                else
                    held.push_back(rt.spawn([&] { ++ran; }));
                if (below(random, 20) == 0) std::this_thread::sleep_for(up_to(random, 100us));
            }
            for (auto& f : held) f.join();
            const std::lock_guard guard(lock);
            expected += mine;
        });
    for (auto& t : threads) t.join();
    EXPECT_TRUE(eventually([&] { return ran == expected; })) << ran << " of " << expected;
    over = true;
}

TEST_P(runtime_stress, a_thread_looks_at_fibers_that_come_and_go) {
    watched_runtime rt(GetParam());
    std::atomic<bool> over{false};
    std::atomic<int> seen{0};
    std::thread looks([&] {
        while (!over) {
            std::size_t bytes = 0;
            rt.for_each_fiber([&](const fiber_info& f) { bytes += f.name.size() + f.state.size() + f.waits_for.size(); });
            const auto s = rt.stats();
            EXPECT_LE(s.fibers, s.spawned);
            seen += bytes != 0;
        }
    });
    rt.run([&] {
        auto random = seed_.of(0);
        for (const auto end = steady::now() + enough; steady::now() < end || seen == 0;) {
            std::vector<fiber<>> all;
            for (int i = 0; i < 20; ++i)
                all.push_back(spawn({.name = i % 2 ? "odd" : "even"}, [d = up_to(random, 100us)] {
                    this_fiber::sleep_for(d);
                    this_fiber::set_name("renamed");
                }));
            for (auto& f : all) f.join();
        }
    });
    over = true;
    looks.join();
}

TEST_P(runtime_stress, starts_and_ends_while_another_works) {
    watched_runtime busy(2);
    std::atomic<bool> over{false};
    auto work = busy.spawn([&] {
        while (!over) with_scope([](scope& s) { s.spawn([] { this_fiber::sleep_for(20us); }); });
    });
    for (const auto end = steady::now() + enough; steady::now() < end;) {
        watched_runtime rt(GetParam());
        EXPECT_EQ(rt.run([&] { return busy.spawn([] { return 1; }).join(); }), 1);
    }
    over = true;
    work.join();
}

}  // namespace
}  // namespace weft::test
