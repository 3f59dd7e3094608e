// feed_test.cpp - the feed program of examples/feed: its arguments, its output, and that everybody is fed.
#include "../../examples/feed/program.hpp"
#include "../../examples/feed/ring_feeding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <initializer_list>
#include <string>
#include <vector>

namespace {

int run_feed(std::initializer_list<char const*> arguments) {
    std::vector<char const*> argv{"feed"};
    argv.insert(argv.end(), arguments);
    return feed_program(static_cast<int>(argv.size()), argv.data());
}

void expect_refused(std::initializer_list<char const*> arguments, char const* message) {
    EXPECT_EXIT(std::exit(run_feed(arguments)), ::testing::ExitedWithCode(2), message);
}

TEST(feed, seed_D7_D13_everybody_ends_with_three_counters_equal_to_the_count) {
    for (int const nutrients : {0, 1, 10, 1000}) {
        for (auto* const feed : {&feed_with_fibers, &feed_with_threads}) {
            people all = make_people(50, nutrients);
            feed(all);
            for (auto const& p : all) {
                EXPECT_EQ(p->eaten.fiber, nutrients);
                EXPECT_EQ(p->eaten.calcium, nutrients);
                EXPECT_EQ(p->eaten.iron, nutrients);
            }
        }
    }
}

TEST(feed, seed_D7_nobody_is_a_crowd_too) {
    people none = make_people(0, 10);
    feed_with_fibers(none);
    EXPECT_TRUE(all_satisfied(none));
}

TEST(feed, seed_D10_a_ring_without_a_central_loop_feeds_everybody_the_same) {
    for (int const how_many : {0, 1, 2, 50}) {
        for (int const nutrients : {0, 1, 10, 1000}) {
            people by_loop = make_people(how_many, nutrients);
            people by_ring = make_people(how_many, nutrients);
            feed_with_fibers(by_loop);
            feed_in_ring(by_ring);
            for (std::size_t n = 0; n < by_loop.size(); ++n) EXPECT_EQ(by_ring[n]->eaten, by_loop[n]->eaten);
            EXPECT_TRUE(all_satisfied(by_ring));
        }
    }
}

TEST(feed, seed_D10_who_is_fed_leaves_the_ring_and_the_others_go_on) {
    people unequal;
    for (int const nutrients : {3, 0, 7, 1, 5}) unequal.push_back(std::make_unique<person>(nutrients));
    feed_in_ring(unequal);
    EXPECT_TRUE(all_satisfied(unequal));
}

TEST(feed, seed_D11_a_wrong_count_of_arguments_is_refused_with_a_stack_trace) {
    expect_refused({}, "^feed: needs two arguments, PEOPLE and NUTRIENTS, but got 0\n.*\\[0x");
    expect_refused({"5"}, "but got 1\n.*\\[0x");
    expect_refused({"5", "6", "7"}, "but got 3\n.*\\[0x");
}

TEST(feed, seed_D11_what_is_not_a_whole_number_is_refused) {
    expect_refused({"ten", "6"}, "^feed: PEOPLE is not a whole number: \"ten\"\n.*\\[0x");
    expect_refused({"5", "6x"}, "^feed: NUTRIENTS is not a whole number: \"6x\"\n");
    expect_refused({"5", ""}, "^feed: NUTRIENTS is not a whole number: \"\"\n");
    expect_refused({"1.5", "6"}, "PEOPLE is not a whole number: \"1.5\"\n");
    expect_refused({"99999999999", "6"}, "PEOPLE is out of range");
}

TEST(feed, seed_D11_negative_numbers_are_refused) {
    expect_refused({"-1", "6"}, "^feed: PEOPLE must not be negative: \"-1\"\n");
    expect_refused({"5", "-6"}, "^feed: NUTRIENTS must not be negative: \"-6\"\n");
}

TEST(feed, seed_D12_prints_one_csv_line_threads_then_fibers) {
    ::testing::internal::CaptureStdout();
    EXPECT_EQ(run_feed({"3", "10"}), 0);
    EXPECT_THAT(::testing::internal::GetCapturedStdout(), ::testing::MatchesRegex("[0-9]+, [0-9]+\n"));
}

}  // namespace
