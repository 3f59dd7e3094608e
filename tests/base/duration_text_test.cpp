// duration_text_test.cpp - durations as messages name them.
#include "base/duration_text.hpp"

#include <gtest/gtest.h>

namespace {

using namespace std::chrono_literals;
using weft::detail::duration_text;

TEST(duration_text, names_the_largest_unit_of_which_there_is_one) {
    EXPECT_EQ(duration_text(50ms), "50 ms");
    EXPECT_EQ(duration_text(1500ms), "1.5 s");
    EXPECT_EQ(duration_text(2h), "7200 s");
    EXPECT_EQ(duration_text(1us), "1 us");
    EXPECT_EQ(duration_text(1'002'003ns), "1.002 ms");
    EXPECT_EQ(duration_text(999ns), "999 ns");
    EXPECT_EQ(duration_text(0ns), "0 ns");
    EXPECT_EQ(duration_text(-1s), "-1000000000 ns");
    EXPECT_EQ(duration_text(std::chrono::nanoseconds::max()), "9223372036.854 s");
}

}  // namespace
