// wait_cycles_test.cpp - who waits for whom, as a graph.
#include "runtime/dump/wait_cycles.hpp"

#include <gtest/gtest.h>

namespace weft::detail {
namespace {

using graph = std::vector<std::vector<std::size_t>>;

TEST(wait_cycles, none_where_nobody_waits_for_himself_by_others) {
    EXPECT_EQ(find_cycles({}), graph());
    EXPECT_EQ(find_cycles({{}, {0}, {0, 1}, {2}}), graph());
    EXPECT_EQ(find_cycles({{1}, {2}, {}}), graph());
}

TEST(wait_cycles, begin_with_their_least_member) {
    EXPECT_EQ(find_cycles({{1}, {2}, {0}}), graph({{0, 1, 2}}));
    EXPECT_EQ(find_cycles({{}, {3}, {1}, {2}}), graph({{1, 3, 2}}));
    EXPECT_EQ(find_cycles({{0}}), graph({{0}}));
}

TEST(wait_cycles, those_who_wait_for_a_member_are_none) {
    EXPECT_EQ(find_cycles({{1}, {2}, {1}, {0}}), graph({{1, 2}}));
    EXPECT_EQ(find_cycles({{1}, {0}, {1}, {3}}), graph({{0, 1}, {3}}));
}

TEST(wait_cycles, one_who_waits_for_several_may_lie_on_several) {
    EXPECT_EQ(find_cycles({{1, 2}, {0}, {0}}), graph({{0, 1}, {0, 2}}));
}

TEST(wait_cycles, long_ones_need_no_stack) {
    constexpr std::size_t n = 100'000;
    graph ring(n);
    for (std::size_t i = 0; i < n; ++i) ring[i] = {(i + 1) % n};
    const auto found = find_cycles(ring);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found.front().size(), n);
}

}  // namespace
}  // namespace weft::detail
