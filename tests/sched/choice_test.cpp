// choice_test.cpp - free choices are in range, even, and not the same on every thread.
#include "sched/simulate/choice.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace weft::detail {
namespace {

TEST(choose, stays_below_n) {
    for (const std::uint32_t n : {1u, 2u, 3u, 7u, 1024u, 0xffff'ffffu})
        for (int i = 0; i < 1000; ++i) ASSERT_LT(choose(n), n);
}

TEST(choose, is_even) {
    std::vector<int> counts(10);
    for (int i = 0; i < 100'000; ++i) ++counts[choose(10)];
    for (const int c : counts) {
        EXPECT_GT(c, 9'400);  // six standard deviations
        EXPECT_LT(c, 10'600);
    }
}

TEST(choose, differs_from_thread_to_thread) {
    std::vector<std::uint32_t> here, there;
    for (int i = 0; i < 8; ++i) here.push_back(choose(0xffff'ffff));
    std::thread([&] {
        for (int i = 0; i < 8; ++i) there.push_back(choose(0xffff'ffff));
    }).join();
    EXPECT_NE(here, there);
}

}  // namespace
}  // namespace weft::detail
