// feed_test.cpp - the feed program of examples/feed: its arguments, its output, and that everybody is fed.
#include "../../examples/feed/program.hpp"

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

TEST(feed, D7_D13_everybody_ends_with_three_counters_equal_to_the_count) {
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

TEST(feed, D7_nobody_is_a_crowd_too) {
    people none = make_people(0, 10);
    feed_with_fibers(none);
    EXPECT_TRUE(all_satisfied(none));
}

TEST(feed, D11_a_wrong_count_of_arguments_is_refused_with_a_stack_trace) {
    expect_refused({}, "^feed: needs two arguments, PEOPLE and NUTRIENTS, but got 0\n.*\\[0x");
    expect_refused({"5"}, "but got 1\n.*\\[0x");
    expect_refused({"5", "6", "7"}, "but got 3\n.*\\[0x");
}

TEST(feed, D11_what_is_not_a_whole_number_is_refused) {
    expect_refused({"ten", "6"}, "^feed: PEOPLE is not a whole number: \"ten\"\n.*\\[0x");
    expect_refused({"5", "6x"}, "^feed: NUTRIENTS is not a whole number: \"6x\"\n");
    expect_refused({"5", ""}, "^feed: NUTRIENTS is not a whole number: \"\"\n");
    expect_refused({"1.5", "6"}, "PEOPLE is not a whole number: \"1.5\"\n");
    expect_refused({"99999999999", "6"}, "PEOPLE is out of range");
}

TEST(feed, D11_negative_numbers_are_refused) {
    expect_refused({"-1", "6"}, "^feed: PEOPLE must not be negative: \"-1\"\n");
    expect_refused({"5", "-6"}, "^feed: NUTRIENTS must not be negative: \"-6\"\n");
}

TEST(feed, D12_prints_one_csv_line_threads_then_fibers) {
    ::testing::internal::CaptureStdout();
    EXPECT_EQ(run_feed({"3", "10"}), 0);
    EXPECT_THAT(::testing::internal::GetCapturedStdout(), ::testing::MatchesRegex("[0-9]+, [0-9]+\n"));
}

}  // namespace
