// planted_test.cpp - the three bugs of examples/planted are found, seen again, and gone when mended.
#include <gtest/gtest.h>

#include <weft/explore.hpp>

#include <string>

#include "../../examples/planted/planted.hpp"

namespace {

using planted::version;

constexpr std::uint64_t seeds = 300;

/// What the failure says; the seed is printed.
std::string find(void (*program)(version)) {
    const auto found = weft::find_failure(seeds, [&] { program(version::broken); });
    if (!found) return "nothing";
    std::printf("found with seed %llu: %s\n", static_cast<unsigned long long>(found->seed), found->what.c_str());
    for (int i = 0; i < 3; ++i) {
        const auto again = weft::replay(found->seed, [&] { program(version::broken); });
        EXPECT_TRUE(again.failure);
        EXPECT_EQ(again.what, found->what);
        EXPECT_EQ(again.trace, found->trace);
    }
    return found->what;
}

}  // namespace

TEST(planted, a_lost_wake_up_is_found) {
    const auto what = find(planted::hand_over);
    EXPECT_NE(what.find("nobody can run"), std::string::npos) << what;
    EXPECT_NE(what.find("\"taker\""), std::string::npos) << what;
    EXPECT_NE(what.find("waits for condition variable"), std::string::npos) << what;
}

TEST(planted, a_queue_without_it_has_none) {
    EXPECT_EQ(weft::explore(seeds, [] { planted::hand_over(version::mended); }).seeds, seeds);
}

TEST(planted, a_deadlock_by_lock_order_is_found) {
    const auto what = find(planted::pay_each_other);
    EXPECT_NE(what.find("\"ann pays bob\""), std::string::npos) << what;
    EXPECT_NE(what.find("\"bob pays ann\""), std::string::npos) << what;
    EXPECT_NE(what.find("waits for mutex #2"), std::string::npos) << what;
    EXPECT_NE(what.find("waits for mutex #3"), std::string::npos) << what;
}

TEST(planted, locks_in_order_do_not_deadlock) {
    EXPECT_EQ(weft::explore(seeds, [] { planted::pay_each_other(version::mended); }).seeds, seeds);
}

TEST(planted, a_retry_that_pays_twice_is_found) {
    const auto what = find(planted::pay_for_sure);
    EXPECT_NE(what.find("instead of 100"), std::string::npos) << what;
}

TEST(planted, an_order_with_a_number_is_paid_once) {
    EXPECT_EQ(weft::explore(seeds, [] { planted::pay_for_sure(version::mended); }).seeds, seeds);
}
