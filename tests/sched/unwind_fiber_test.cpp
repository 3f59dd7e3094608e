// unwind_fiber_test.cpp - steps through a worker's life with its fibers and unwinds from every instruction of its switches.
#include <weft/runtime.hpp>

#include <gtest/gtest.h>

#include <chrono>

#include <weft/event.hpp>
#include <weft/fiber.hpp>

#include "support/steps.hpp"

#if WEFT_CAN_STEP

namespace weft::test {
namespace {

using namespace std::chrono_literals;

TEST(unwind_fiber, CONTEXT_4_parks_wakes_yields_and_ends_of_fibers_have_right_callers) {
    stepping steps;
    int rounds = 0;
    runtime rt({.workers = 1, .time_slice = 0ns});  // nobody takes the worker away from this thread
    rt.run([&] {
        event go, gone;
        steps.begin();
        auto parks = spawn([&] {
            go.wait();
            ++rounds;
        });
        auto yields = spawn([&] {
            for (int n = 0; n < 3; ++n) this_fiber::yield();
            ++rounds;
            gone.set();
        });
        for (int n = 0; n < 5; ++n) this_fiber::yield();
        go.set();
        gone.wait();
        parks.join();
        yields.join();
        this_fiber::sleep_for(1ms);  // nobody can run: the worker looks for work on its own
        steps.end();
    });
    EXPECT_EQ(rounds, 2);
    const auto all = steps.passages();
    EXPECT_GE(all.size(), 12u);
    EXPECT_GE(expect_right_callers(all), 8);
}

}  // namespace
}  // namespace weft::test

#endif
