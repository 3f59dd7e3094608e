// as_thread_test.cpp - fibers that are threads to the code they call: what libraries keep per thread follows
// them from OS thread to OS thread.
#include <pthread.h>

#include <stdexcept>
#include <string>
#include <vector>

#include <weft/scope.hpp>

#include "support/random.hpp"
#include "support/scale.hpp"
#include "support/thread_looks.hpp"
#include "torture.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

class as_thread_under_torture : public under_torture {};
INSTANTIATE_TEST_SUITE_P(workers, as_thread_under_torture, ::testing::Values(2u, 4u));

pthread_t self_here() { return thread_looks::self_here(); }

thread_local int number_of_thread = 0;

/// Does what a library in C does: keeps its state by thread, and what it has found by address, across calls
/// that wait.
void looks_after_each_park(int mine, unsigned rounds) {
    thread_looks state(mine);
    for (unsigned round = 0; round < rounds; ++round) {
        park(round);
        ASSERT_EQ(state.count_wrong(), 0);
        try {
            try {
                throw std::runtime_error(std::to_string(mine));
            } catch (const std::exception&) {
                park(round + 1);
                ASSERT_EQ(std::uncaught_exceptions(), 0);
                throw;
            }
        } catch (const std::exception& e) {
            ASSERT_EQ(e.what(), std::to_string(mine));
        }
    }
}

TEST_P(as_thread_under_torture, THREAD_IDENTITY_2_all_state_of_a_thread_follows_the_fiber_stress) {
    rt.run([] {
        with_scope([](scope& s) {
            for (int i = 1; i <= 40; ++i)
                s.spawn({.as_thread = true}, [i] { looks_after_each_park(i, static_cast<unsigned>(scaled(100))); });
        });
    });
}

TEST_P(as_thread_under_torture, THREAD_IDENTITY_2_or_the_call_stress) {
    rt.run([] {
        with_scope([](scope& s) {
            for (int i = 1; i <= 40; ++i)
                s.spawn([i] {
                    for (int n = 0; n < 5; ++n) {
                        this_fiber::as_thread([&] { looks_after_each_park(i, static_cast<unsigned>(scaled(20))); });
                        park(static_cast<unsigned>(n));
                    }
                });
        });
    });
}

#if !WEFT_UNDER_ASAN && !WEFT_UNDER_TSAN  // fibers have an OS thread of their own there
TEST_P(as_thread_under_torture, fibers_move_meanwhile) {
    rt.run([] {
        spawn({.as_thread = true}, [] {
            for (unsigned way = 0; way < 40; ++way) EXPECT_TRUE(park(way)) << way % ways_to_park;
        }).join();
        this_fiber::as_thread([] {
            for (unsigned way = 0; way < 40; ++way) EXPECT_TRUE(park(way)) << way % ways_to_park;
        });
    });
}
#endif

TEST_P(as_thread_under_torture, fibers_spawn_and_join_as_ever) {
    rt.run([] {
        this_fiber::as_thread([] {
            const pthread_t self = self_here();
            for (int i = 0; i < scaled(100); ++i) {
                EXPECT_EQ(spawn([i] { return i; }).join(), i);
                EXPECT_EQ(spawn({.run_now = true}, [i] { return i; }).join(), i);
                EXPECT_FALSE(pthread_equal(spawn({.as_thread = true}, [] { return self_here(); }).join(), self));
                EXPECT_TRUE(pthread_equal(self_here(), self));
            }
        });
    });
}

TEST_P(as_thread_under_torture, THREAD_IDENTITY_4_children_that_are_joined_at_once_are_other_threads) {
    rt.run([] {
        number_of_thread = 0;
        this_fiber::as_thread([] {
            number_of_thread = 7;
            for (int i = 0; i < scaled(200); ++i) {
                auto child = spawn([] { number_of_thread = 1; });
                child.join();
                EXPECT_EQ(number_of_thread, 7);
            }
        });
    });
}

// Of the same fibers some compute for longer than a slice, so that they lose their worker.
TEST(as_thread_beside_hogs, state_follows_fibers_that_lose_their_worker_stress) {
    const seed s;
    watched_runtime rt({.workers = 2, .time_slice = 1ms});
    rt.run([&] {
        with_scope([&](scope& all) {
            for (int i = 1; i <= 12; ++i)
                all.spawn({.as_thread = true}, [i, rng = s.of(static_cast<std::uint64_t>(i))]() mutable {
                    number_of_thread = i;
                    for (int n = 0; n < scaled(20); ++n) {
                        looks_after_each_park(i, 4);
                        const auto until = std::chrono::steady_clock::now() + up_to(rng, 4ms);
                        while (std::chrono::steady_clock::now() < until) {}
                        ASSERT_EQ(number_of_thread, i);
                    }
                });
        });
    });
}

}  // namespace
}  // namespace weft::test
