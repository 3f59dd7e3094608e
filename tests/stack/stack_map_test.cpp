// stack_map_test.cpp - which addresses are in a guard page.
#include "stack/stack_map.hpp"

#include <gtest/gtest.h>

#include "stack/stack_pool.hpp"

namespace weft::detail {
namespace {

TEST(stack_map, knows_guard_pages_and_the_size_of_their_stacks) {
    stack_pool pool;
    stack* const small = pool.take(16 * 1024);
    stack* const normal = pool.take(0);
    EXPECT_EQ(stack_bytes_of_guard(small->span.low - 1), 16U * 1024);
    EXPECT_EQ(stack_bytes_of_guard(normal->span.low - 1), 256U * 1024);
    EXPECT_EQ(stack_bytes_of_guard(normal->span.low - page_bytes()), 256U * 1024);
    EXPECT_EQ(stack_bytes_of_guard(normal->span.low), 0U);
    EXPECT_EQ(stack_bytes_of_guard(normal->span.high), 0U);
    EXPECT_EQ(stack_bytes_of_guard(nullptr), 0U);
    int local = 0;
    EXPECT_EQ(stack_bytes_of_guard(&local), 0U);
    pool.give(small);
    pool.give(normal);
}

TEST(stack_map, STACK_MAP_1_forgets_a_range_and_uses_its_entry_again) {
    std::byte* guard = nullptr;
    for (int n = 0; n < 1000; ++n) {
        stack_pool pool;
        stack* const s = pool.take(0);
        guard = s->span.low - 1;
        ASSERT_NE(stack_bytes_of_guard(guard), 0U);
        pool.give(s);
    }
    EXPECT_EQ(stack_bytes_of_guard(guard), 0U);
}

}  // namespace
}  // namespace weft::detail
