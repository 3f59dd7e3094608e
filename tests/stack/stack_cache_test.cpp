// stack_cache_test.cpp - which stacks a cache keeps and which it gives away.
#include "stack/stack_cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "stack/on_stack.hpp"

namespace weft::detail {
namespace {

TEST(stack_cache, the_stack_given_last_is_taken_first) {
    stack_pool pool;
    stack_cache cache(pool);
    stack* const a = cache.take();
    stack* const b = cache.take();
    cache.give(a);
    cache.give(b);
    EXPECT_EQ(cache.take(), b);
    EXPECT_EQ(cache.take(), a);
    cache.give(a);
    cache.give(b);
}

TEST(stack_cache, STACK_CACHE_2_spills_the_oldest_and_never_the_last) {
    stack_pool pool;
    stack_cache cache(pool);
    std::vector<stack*> given;
    for (int n = 0; n < 1000; ++n) given.push_back(pool.take(0));
    for (stack* const s : given) {
        cache.give(s);
        ASSERT_LE(cache.size(), 64U);
        ASSERT_EQ(cache.take(), s);
        cache.give(s);
    }
    EXPECT_EQ(pool.statistics().in_use, cache.size());
    std::vector<stack*> kept;
    for (auto n = cache.size(); n > 0; --n) kept.push_back(cache.take());
    EXPECT_TRUE(std::equal(kept.begin(), kept.end(), given.rbegin()));
    for (stack* const s : kept) cache.give(s);
}

TEST(stack_cache, takes_several_warm_stacks_at_once) {
    stack_pool pool;
    std::vector<stack*> stacks(40);
    for (auto& s : stacks) s = pool.take(0);
    pool.give_batch(stacks.data(), stacks.size());
    stack_cache cache(pool);
    stack* const s = cache.take();
    EXPECT_EQ(cache.size(), 15U);
    cache.give(s);
}

TEST(stack_cache, gives_everything_back_at_its_end) {
    stack_pool pool;
    {
        stack_cache cache(pool);
        cache.give(cache.take());
        EXPECT_EQ(pool.statistics().in_use, 1U);
    }
    EXPECT_EQ(pool.statistics().in_use, 0U);
}

TEST(stack_cache, STACK_CACHE_2_a_stack_may_be_given_while_one_is_still_on_it) {
    stack_pool pool;
    stack_cache cache(pool);
    for (int n = 0; n < 200; ++n) {
        stack* const s = cache.take();
        run_on(*s, [&] { cache.give(s); });
    }
    EXPECT_EQ(cache.size(), 1U);
}

TEST(stack_cache, an_unguarded_overflow_stops_the_program_when_the_stack_is_given_back) {
    stack_pool pool({.guards = {.choice = guard_choice::none}});
    stack_cache cache(pool);
    stack* const s = cache.take();
    EXPECT_DEATH(
        {
            *static_cast<std::byte volatile*>(s->span.low - 1) = std::byte{1};
            cache.give(s);
        },
        "ran over its end");
    cache.give(s);
}

}  // namespace
}  // namespace weft::detail
