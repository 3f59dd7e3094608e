// bench_figures_test.cpp - what `weft bench` computes from its measurements, on figures that are known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../../tools/weft/bench/scaling.hpp"
#include "../../tools/weft/bench/workloads/curves.hpp"

namespace {

using bench::curve;
using bench::points;
using bench::result;

template <class F>
points over_people(F&& time_of) {
    points all;
    for (std::uint64_t people = 1; people <= 2048; people *= 2) all[people] = time_of(static_cast<double>(people));
    return all;
}

TEST(bench_curves, seed_D15_only_a_straight_line_has_an_r_squared_of_one) {
    EXPECT_NEAR(bench::r_squared(over_people([](double people) { return 3 + 0.25 * people; })), 1, 1e-9);
    EXPECT_LT(bench::r_squared(over_people([](double people) { return people * people; })), 0.98);
    EXPECT_LT(bench::r_squared(over_people([](double people) { return people < 1500 ? people : 10 * people; })), 0.98)
        << "ten times as long from some point on, as threads are";
    EXPECT_NEAR(bench::r_squared({{1, 1}, {2, 2}, {3, 1}}), 0, 1e-9);
}

TEST(bench_curves, seed_D15_sweeps_are_judged_one_by_one_and_by_the_least_time_of_each_point) {
    const curve all{{1, {1, 5, 1}}, {2, {2, 2, 9}}, {3, {9, 3, 3}}};
    EXPECT_EQ(bench::sweep_of(all, 1), (points{{1, 5}, {2, 2}, {3, 3}}));
    EXPECT_EQ(bench::least_of(all), (points{{1, 1}, {2, 2}, {3, 3}}));
    EXPECT_EQ(bench::medians_of(all), (points{{1, 1}, {2, 2}, {3, 3}}));
    EXPECT_EQ(bench::median_of({4, 1, 3, 2}), 2.5);
}

TEST(bench_curves, seed_D16_curves_cross_where_one_is_faster_at_all_points_that_follow) {
    const points fibers{{1, 1}, {2, 2}, {4, 4}, {8, 8}, {16, 16}};
    EXPECT_EQ(bench::faster_from({{1, 5}, {2, 5}, {4, 5}, {8, 5}, {16, 5}}, fibers), 8u);
    EXPECT_EQ(bench::faster_from({{1, 0}, {2, 5}, {4, 5}, {8, 5}, {16, 5}}, fibers), 8u) << "what comes before does not count";
    EXPECT_EQ(bench::faster_from({{1, 0}, {2, 1}, {4, 2}, {8, 5}, {16, 5}}, fibers), 1u);
    EXPECT_EQ(bench::faster_from({{1, 0}, {2, 1}, {4, 2}, {8, 5}, {16, 16}}, fibers), std::nullopt) << "as fast is not faster";
    EXPECT_EQ(bench::faster_from({{1, 9}, {8, 5}}, fibers), 8u) << "points of which one is missing are left out";
}

TEST(bench_curves, seed_D17_the_worst_point_is_found_with_what_each_sweep_says_of_it) {
    const std::vector<curve> others{{{1, {2, 2, 2}}, {2, {8, 8, 8}}, {4, {8, 8, 8}}},     // coroutines
                                    {{1, {9, 9, 9}}, {2, {4, 4, 2}}, {4, {9, 9, 9}}}};    // threads
    const curve hybrid{{1, {2, 2, 20}}, {2, {6, 5, 4}}, {4, {4, 4, 4}}, {8, {99, 99, 99}}};
    const auto top = bench::highest_above(hybrid, others);
    ASSERT_TRUE(top);
    EXPECT_EQ(top->people, 2u) << "neither that of one disturbed sweep, nor the one that nobody else was measured at";
    EXPECT_THAT(top->times_as_long, testing::ElementsAre(1.5, 1.25, 2));

    const auto nowhere_slower = bench::highest_above({{1, {1, 1, 1}}, {4, {4, 4, 4}}}, others);
    ASSERT_TRUE(nowhere_slower);
    EXPECT_EQ(bench::median_of(nowhere_slower->times_as_long), 0.5);
    EXPECT_FALSE(bench::highest_above({{8, {1}}}, others));
}

result time_of(const std::string& variant, unsigned workers, double median) {
    return {.bench = "fibonacci",
            .variant = variant,
            .workers = workers,
            .n = 10,
            .unit = "ms",
            .min = median * 0.5,
            .median = median,
            .max = median * 2,
            .runs = 3};
}

TEST(bench_scaling, seed_L18_speed_ups_are_those_of_one_thread_for_weft_and_of_their_own_for_others) {
    const std::vector all{time_of("threads/total", 1, 80),     time_of("fibers/total", 1, 40),
                          time_of("threads/total", 2, 40),     time_of("fibers/total", 2, 20),
                          time_of("go/total/math-big", 1, 90), time_of("go/total/math-big", 2, 30),
                          time_of("ruby/total", 2, 1)};
    std::vector<std::string> seen;
    for (const auto& r : bench::speed_ups(all)) {
        EXPECT_EQ(r.unit, "x");
        EXPECT_DOUBLE_EQ(r.min, r.median / 4) << "the least that the runs allow";
        EXPECT_DOUBLE_EQ(r.max, r.median * 4);
        seen.push_back(r.variant + ' ' + std::to_string(r.workers) + ' ' + std::to_string(static_cast<int>(r.median * 10)));
    }
    EXPECT_THAT(seen, testing::ElementsAre("threads/total/speed-up 1 10", "fibers/total/speed-up 1 20",
                                           "threads/total/speed-up 2 20", "fibers/total/speed-up 2 40",
                                           "go/total/math-big/speed-up 1 10", "go/total/math-big/speed-up 2 30"));
    EXPECT_THAT(bench::speed_ups(std::vector{time_of("threads/total", 1, 80), time_of("fibers/total", 1, 40)}),
                testing::IsEmpty())
        << "of one number of workers";
}

}  // namespace
