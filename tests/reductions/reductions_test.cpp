// reductions_test.cpp - fibers whose calls are counted give way after a budget of them, and only where they may.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <weft/channel.hpp>
#include <weft/mutex.hpp>
#include <weft/reductions.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>

#include "reductions/subjects/subjects.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

constexpr std::uint32_t small_budget = 100;

/// Nobody loses a worker here, so whoever runs at all has been let.
class counted : public testing::Test {
protected:
    counted() { reductions::set_budget(small_budget); }
    ~counted() override { reductions::set_budget(reductions::default_budget); }

    template <class F>
    static void run_alone(F&& f) {
        weft::run(std::forward<F>(f), {.workers = 1, .time_slice = 0ns});
    }
    /// How often fibers give way while f runs in a fiber.
    template <class F>
    static std::uint64_t times_in(F&& f) {
        std::uint64_t times = 0;
        run_alone([&] {
            const auto before = reductions::times_given_way();
            f();
            times = reductions::times_given_way() - before;
        });
        return times;
    }
};

TEST_F(counted, seed_R8_who_makes_calls_lets_others_run) {
    run_alone([] {
        std::atomic<bool> over{false};
        with_scope([&](scope& s) {
            for (int i = 0; i < 3; ++i) s.spawn([&] { return subjects::compute_until(over); });
            for (int i = 0; i < 20; ++i) this_fiber::sleep_for(1ms);  // without giving way it would never come back
            over = true;
        });
    });
}

TEST_F(counted, seed_R8_the_budget_is_kept_to_the_call) {
    EXPECT_EQ(times_in([] { subjects::steps(small_budget); }), 0u);
    EXPECT_EQ(times_in([] { subjects::steps(small_budget + 1); }), 1u);
    EXPECT_EQ(times_in([] { subjects::steps(10 * small_budget + 1); }), 10u);
    reductions::set_budget(7);
    EXPECT_EQ(reductions::budget(), 7u);
    EXPECT_EQ(times_in([] { subjects::steps(700); }), 99u);
}

TEST_F(counted, a_turn_begins_anew_after_another_fiber_has_counted) {
    const auto times = times_in([] {
        auto other = spawn([] {
            for (int i = 0; i < 5; ++i) {
                subjects::steps(small_budget);
                this_fiber::yield();
            }
        });
        for (int i = 0; i < 5; ++i) {
            subjects::steps(small_budget);
            this_fiber::yield();
        }
        other.join();
    });
    EXPECT_EQ(times, 0u);
}

TEST_F(counted, without_a_budget_nobody_gives_way) {
    reductions::set_budget(0);
    EXPECT_EQ(times_in([] { subjects::fib(20); }), 0u);
}

TEST_F(counted, plain_threads_are_left_alone) {
    const auto before = reductions::times_given_way();
    std::jthread([] { subjects::fib(20); }).join();
    EXPECT_EQ(reductions::times_given_way(), before);
}

TEST_F(counted, nobody_gives_way_while_an_exception_unwinds) {
    EXPECT_EQ(times_in([] { subjects::throw_and_take_steps(100 * small_budget, 0); }), 0u);
    EXPECT_GE(times_in([] { subjects::throw_and_take_steps(0, 100 * small_budget); }), 99u) << "but in a handler";
}

TEST_F(counted, who_holds_keeps_its_turn_and_nobody_elses) {
    const auto times = times_in([] {
        const reductions::hold outer;
        {
            const reductions::hold inner;
            subjects::steps(10 * small_budget);
        }
        subjects::steps(10 * small_budget);
    });
    EXPECT_EQ(times, 0u);
    EXPECT_EQ(times_in([] {
                  const reductions::hold mine;
                  spawn([] { subjects::steps(10 * small_budget + 1); }).join();
              }),
              10u);
    EXPECT_GE(times_in([] {
                  { const reductions::hold brief; }
                  subjects::steps(10 * small_budget + 1);
              }),
              9u);
}

TEST_F(counted, a_stop_is_not_noticed_there) {
    EXPECT_GE(times_in([] {
                  auto f = spawn([] { subjects::steps_without_exceptions(10 * small_budget); });
                  f.request_stop();
                  f.join();
              }),
              9u);
}

TEST_F(counted, calls_of_the_runtime_go_on_as_ever_on_many_workers_with_hand_off) {
    std::atomic<long> sum{0};
    weft::run(
        [&] {
            weft::mutex lock;
            long under_lock = 0;
            with_scope([&](scope& s) {
                for (int i = 0; i < 64; ++i)
                    s.spawn([&] {
                        for (int turn = 0; turn < 5; ++turn) {
                            sum += subjects::fib(12);
                            subjects::call([&] {
                                const std::lock_guard hold(lock);
                                under_lock += subjects::steps(300);
                            });
                            subjects::throw_and_take_steps(150, 150);
                        }
                    });
            });
            EXPECT_EQ(under_lock, 64 * 5 * 300);
        },
        {.workers = 4, .time_slice = 1ms});
    EXPECT_EQ(sum, 64 * 5 * 233);
}

// A move that gives way runs on a fiber that holds no lock of the channel, or the partner on the same worker would spin for ever.
TEST_F(counted, values_of_channels_give_way_while_they_are_moved) {
    reductions::set_budget(1);
    for (const std::size_t places : {0u, 1u, 4u})
        EXPECT_GT(times_in([&] {
                      channel<subjects::parcel> parcels(places);
                      long sum = 0;
                      with_scope([&](scope& s) {
                          for (int i = 0; i < 4; ++i)
                              s.spawn([&] {
                                  for (int n = 1; n <= 50; ++n) parcels.send(subjects::parcel(n));
                              });
                          for (int i = 0; i < 200; ++i) sum += parcels.receive()->number();
                      });
                      EXPECT_EQ(sum, 4 * 50 * 51 / 2);
                  }),
                  200u);
}

}  // namespace
}  // namespace weft::test
