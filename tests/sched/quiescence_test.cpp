// quiescence_test.cpp - looks are due after a second without a dispatch, and then ever more seldom.
#include <gtest/gtest.h>

#include "sched/monitor/quiescence.hpp"

using namespace std::chrono_literals;

namespace weft::detail {
namespace {

constexpr time_point begin{1h};

TEST(quiescence, nothing_is_due_before_anything_has_run) {
    quiescence q;
    EXPECT_FALSE(q.is_due(0, begin));
    EXPECT_EQ(q.due(), never);
}

TEST(quiescence, looks_become_more_seldom_until_something_runs) {
    quiescence q;
    EXPECT_FALSE(q.is_due(5, begin));
    EXPECT_EQ(q.due(), begin + 1s);
    EXPECT_FALSE(q.is_due(5, begin + 999ms));
    EXPECT_TRUE(q.is_due(5, begin + 1s));
    EXPECT_FALSE(q.is_due(5, begin + 1s));
    EXPECT_EQ(q.due(), begin + 11s);
    EXPECT_TRUE(q.is_due(5, begin + 11s));
    EXPECT_EQ(q.due(), begin + 121s);
    EXPECT_FALSE(q.is_due(6, begin + 200s));
    EXPECT_EQ(q.due(), begin + 201s);
}

}  // namespace
}  // namespace weft::detail
