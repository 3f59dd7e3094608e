// unwind_coroutine_test.cpp - steps through the life of coroutines and unwinds from every instruction of their switches.
#include <weft/coroutine.hpp>

#include <gtest/gtest.h>

#include "support/steps.hpp"

#if WEFT_CAN_STEP

namespace weft::test {
namespace {

TEST(unwind_coroutine, CONTEXT_4_a_call_a_yield_an_end_and_a_destruction_have_right_callers) {
    stepping steps;
    int rounds = 0;
    steps.begin();
    {
        coroutine<> ends([&] {
            coroutine<>::yield();
            ++rounds;
        });
        ends.call();
        ends.call();
        coroutine<> nests([&] {
            coroutine<int()> inner([&](auto& yield) {
                yield(++rounds);
                return 0;
            });
            rounds += inner();
            coroutine<>::yield();
        });
        nests.call();  // and is destroyed with all that lives on its stack
    }
    steps.end();
    EXPECT_EQ(rounds, 4);
    const auto all = steps.passages();
    // Six for `ends` and `nests` each has a beginning; two yields and two calls back; `inner` begins, yields and is destroyed; two ends.
    ASSERT_EQ(all.size(), 12u);
    EXPECT_EQ(expect_right_callers(all), 12 - 3);
}

TEST(unwind_coroutine, CONTEXT_4_a_transfer_has_right_callers) {
    stepping steps;
    int rounds = 0;
    coroutine<> second([&] { ++rounds; });
    coroutine<> first([&] {
        coroutine<>::transfer_to(second);
        ++rounds;
    });
    steps.begin();
    first.call();  // comes back from `second`
    first.call();
    steps.end();
    EXPECT_EQ(rounds, 2);
    const auto all = steps.passages();
    ASSERT_EQ(all.size(), 5u);
    EXPECT_EQ(expect_right_callers(all), 5 - 2);
}

}  // namespace
}  // namespace weft::test

#endif
