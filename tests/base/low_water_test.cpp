// low_water_test.cpp - a stock's least over a period: reported once, at its end.
#include "base/low_water.hpp"

#include <gtest/gtest.h>

namespace weft::detail {
namespace {

constexpr auto period = low_water::period;

TEST(low_water, says_nothing_before_the_period_has_ended) {
    low_water w;
    EXPECT_EQ(w.ends(), never);
    const auto start = clock::now();
    EXPECT_FALSE(w.look(start, 10));
    EXPECT_EQ(w.ends(), start + period);
    EXPECT_FALSE(w.look(start + period - std::chrono::nanoseconds(1), 10));
    EXPECT_EQ(w.look(start + period, 10), 10u);
    EXPECT_EQ(w.ends(), never);
}

TEST(low_water, is_the_least_since_the_period_began) {
    low_water w;
    const auto start = clock::now();
    w.fell_to(1);  // before the period
    EXPECT_FALSE(w.look(start, 10));
    w.fell_to(7);
    w.fell_to(9);
    EXPECT_EQ(w.look(start + period, 30), 7u);
    EXPECT_FALSE(w.look(start + period, 30));  // the next
    EXPECT_EQ(w.look(start + 2 * period, 30), 30u);
}

}  // namespace
}  // namespace weft::detail
