// stealing_test.cpp - idle workers take runnable fibers from busy ones, started ones too, and sleep when there are none.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <vector>

#include <weft/barrier.hpp>
#include <weft/runtime.hpp>

#include "support/baton.hpp"
#include "support/eventually.hpp"
#include "support/no_leaks.hpp"
#include "support/thread_places.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

class several_workers : public no_leaks, public ::testing::WithParamInterface<unsigned> {
protected:
    watched_runtime rt{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(workers, several_workers, ::testing::Values(2u, 4u, 8u),
                         [](const auto& each) { return std::to_string(each.param); });

TEST_P(several_workers, new_fibers_are_stolen) {
    rt.run([&] {
        places seen;
        std::vector<fiber<>> all;
        const auto patience = std::chrono::steady_clock::now() + 10s;  // on a loaded machine a thief waits for its CPU
        for (int i = 0; i < 20; ++i)
            all.push_back(spawn([&] {
                seen.note();
                do compute_for(2ms);
                while (seen.count() < 2 && std::chrono::steady_clock::now() < patience);
            }));
        for (auto& f : all) f.join();
        EXPECT_GE(seen.count(), 2u);
    });
    EXPECT_GT(rt.stats().steals, 0u);
}

TEST_P(several_workers, started_fibers_are_stolen) {
    rt.run([&] {
        constexpr int crowd = 8;
        std::atomic<int> moved{0};
        barrier<> meeting(crowd);
        std::vector<fiber<>> all;
        const auto patience = std::chrono::steady_clock::now() + 20s;  // on a loaded machine a thief waits for its CPU
        for (int i = 0; i < crowd; ++i)
            all.push_back(spawn([&] {
                places mine;
                while (moved == 0 && std::chrono::steady_clock::now() < patience) {
                    mine.note();
                    moved += mine.count() >= 2;
                    compute_for(100us);
                    meeting.arrive_and_wait();  // the last one has all of them in its worker's queue
                }
                meeting.arrive_and_drop();
            }));
        for (auto& f : all) f.join();
        EXPECT_GE(moved, 1);
    });
}

TEST_P(several_workers, a_fiber_in_the_next_slot_is_stolen_from_one_that_computes) {
    rt.run([&] {
        baton wake;
        std::atomic<bool> ran{false};
        auto sleeper = spawn([&] {
            wake.take();
            ran = true;
        });
        EXPECT_TRUE(eventually_here([&] { return waiting_for(rt, "baton") == 1; }));
        wake.post();
        const auto start = std::chrono::steady_clock::now();
        while (!ran && std::chrono::steady_clock::now() - start < 10s) {}  // computes; whoever runs it is another worker
        EXPECT_TRUE(ran);
        sleeper.join();
    });
}

TEST_P(several_workers, WORKER_2_one_idle_worker_empties_the_next_slots_of_all_that_compute) {
    const auto hogs = GetParam() - 1;
    rt.run([&] {
        for (int round = 0; round < 5; ++round) {
            std::vector<baton> wake(hogs);
            std::vector<std::atomic<bool>> ran(hogs);
            std::vector<fiber<>> all;
            for (std::size_t i = 0; i < hogs; ++i)
                all.push_back(spawn([&, i] {
                    wake[i].take();
                    ran[i] = true;
                }));
            EXPECT_TRUE(eventually_here([&] { return waiting_for(rt, "baton") == static_cast<int>(hogs); }));
            for (std::size_t i = 0; i < hogs; ++i)
                all.push_back(spawn([&, i] {
                    wake[i].post();  // into this worker's next slot
                    const auto start = std::chrono::steady_clock::now();
                    while (!ran[i] && std::chrono::steady_clock::now() - start < 10s) {}
                    EXPECT_TRUE(ran[i]);
                }));
            for (auto& f : all) f.join();
        }
    });
}

TEST_P(several_workers, a_fiber_in_the_ring_is_stolen_from_one_that_computes) {
    rt.run([] {
        for (int i = 0; i < 20; ++i) {
            std::atomic<bool> ran{false};
            auto f = spawn([&] { ran = true; });
            const auto start = std::chrono::steady_clock::now();
            while (!ran && std::chrono::steady_clock::now() - start < 10s) {}
            EXPECT_TRUE(ran);
            f.join();
        }
    });
}

TEST_P(several_workers, a_timer_of_one_that_computes_is_fired_by_another) {
    rt.run([] {
        for (int i = 0; i < 10; ++i) {
            std::atomic<bool> slept{false};
            std::atomic<bool> computes{false};
            auto sleeper = spawn([&] {
                this_fiber::sleep_for(1ms);
                slept = true;
            });
            auto hog = spawn([&] {
                computes = true;
                const auto start = std::chrono::steady_clock::now();
                while (!slept && std::chrono::steady_clock::now() - start < 10s) {}
                EXPECT_TRUE(slept);
            });
            hog.join();
            sleeper.join();
        }
    });
}

TEST_P(several_workers, seed_L6_N10_all_of_them_get_work_while_there_is_enough) {
    const auto workers = GetParam();
    rt.run([&] {
        places seen;
        std::atomic<bool> over{false};
        std::vector<fiber<>> all;
        for (unsigned i = 0; i < 4 * workers; ++i)
            all.push_back(spawn([&] {
                while (!over) {
                    seen.note();
                    compute_for(50us);
                    this_fiber::yield();
                }
            }));
        EXPECT_TRUE(eventually_here([&] { return seen.count() >= workers; })) << seen.count();  // more if one was handed on
        over = true;
        for (auto& f : all) f.join();
    });
}

TEST_P(several_workers, woken_by_plain_threads_all_find_work) {
    const auto workers = static_cast<int>(GetParam());
    std::atomic<int> inside{0}, most{0};
    std::vector<fiber<>> all;
    for (int i = 0; i < workers; ++i)
        all.push_back(rt.spawn([&] {
            const int now = ++inside;
            int seen = most;
            while (seen < now && !most.compare_exchange_weak(seen, now)) {}
            const auto start = std::chrono::steady_clock::now();
            while (most < workers && std::chrono::steady_clock::now() - start < 10s) {}  // each needs a worker of its own
            --inside;
        }));
    for (auto& f : all) f.join();
    EXPECT_EQ(most, workers);
}

}  // namespace
}  // namespace weft::test
