// flatness_test.cpp - what the soak of the service takes for flat, and what not.
#include <gtest/gtest.h>

#include <cmath>

#include "soak/support/flatness.hpp"

namespace soak {
namespace {

template <class F>
series made_of(F&& value_at) {
    series s{.name = "things", .unit = "", .least_allowance = 2, .points = {}};
    for (int second = 5; second < 400; second += 10) s.points.push_back({1.0 * second, value_at(1.0 * second)});
    return s;
}

TEST(flatness, what_stays_is_flat_and_so_is_what_goes_down) {
    EXPECT_TRUE(judge(made_of([](double) { return 7.0; })).flat);
    EXPECT_TRUE(judge(made_of([](double t) { return 1000 - t; })).flat);
}

TEST(flatness, a_warm_up_is_the_first_quarters_own) {
    EXPECT_TRUE(judge(made_of([](double t) { return t < 100 ? 10 * t : 1000.0; })).flat);
    EXPECT_FALSE(judge(made_of([](double t) { return t < 250 ? 10 * t : 2500.0; })).flat);
}

TEST(flatness, swings_are_flat_while_their_peaks_stay) {
    EXPECT_TRUE(judge(made_of([](double t) { return 100 + 30 * std::sin(t); })).flat);
}

TEST(flatness, a_slow_leak_is_not) {
    EXPECT_FALSE(judge(made_of([](double t) { return std::floor(t / 50); })).flat);
    EXPECT_TRUE(judge(made_of([](double t) { return std::floor(t / 250); })).flat) << "within the allowance";
}

TEST(flatness, a_leak_under_swings_is_not) {
    EXPECT_FALSE(judge(made_of([](double t) { return 100 + 3 * std::sin(t) + t / 20; })).flat);
}

TEST(flatness, a_step_at_the_end_is_not) {
    EXPECT_FALSE(judge(made_of([](double t) { return t > 380 ? 10.0 : 7.0; })).flat);
}

TEST(flatness, a_burst_is_flat_where_bursts_are_expected_and_a_step_is_not) {
    auto burst = made_of([](double t) { return t > 320 && t < 350 ? 45.0 : 7.0; });
    EXPECT_FALSE(judge(burst).flat);
    burst.has_bursts = true;
    EXPECT_TRUE(judge(burst).flat) << judge(burst).words;
    auto step = made_of([](double t) { return t > 320 ? 10.0 : 7.0; });
    step.has_bursts = true;
    EXPECT_FALSE(judge(step).flat) << judge(step).words;
}

TEST(flatness, a_step_within_the_allowance_is_flat_wherever_it_is) {
    for (int step = 0; step < 8; ++step) {
        auto s = made_of([&](double t) { return t < 10 * step + 10 ? 8.0 : 10.0; });
        s.points.resize(8);
        EXPECT_TRUE(judge(s).flat) << judge(s).words;
    }
}

TEST(flatness, what_is_not_flat_says_all_its_values) {
    auto s = made_of([](double t) { return t > 60 ? 10.5 : 7.0; });
    s.points.resize(8);
    EXPECT_NE(judge(s).words.find("at the points: 7 7 7 7 7 7 10.5 10.5"), std::string::npos) << judge(s).words;
}

TEST(flatness, the_share_counts_where_it_is_more) {
    auto s = made_of([](double t) { return 1000 + t / 10; });
    EXPECT_FALSE(judge(s).flat);
    s.allowed_share = 0.05;
    EXPECT_TRUE(judge(s).flat);
}

TEST(flatness, nothing_is_flat_at_fewer_than_eight_points) {
    series s = made_of([](double) { return 7.0; });
    s.points.resize(8);
    EXPECT_TRUE(judge(s).flat);
    s.points.pop_back();
    EXPECT_FALSE(judge(s).flat);
}

TEST(flatness, the_slope_ignores_outliers) {
    auto s = made_of([](double t) { return 2 * t; });
    s.points[3].value = 1e9;
    s.points[20].value = -1e9;
    EXPECT_DOUBLE_EQ(theil_sen_slope(s.points), 2);
    EXPECT_DOUBLE_EQ(theil_sen_slope({}), 0);
}

}  // namespace
}  // namespace soak
