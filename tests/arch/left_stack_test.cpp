// left_stack_test.cpp - reads stacks that somebody has left, from another stack, to their ends.
#include "arch/left_stack.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include "arch/test_stack.hpp"

namespace weft::detail {
namespace {

struct deep_rope : rope {
    std::vector<void*> returns;  // whither each call below returns, outermost first
};

[[gnu::noinline]] int leave_from_below(deep_rope& r, int depth) {
    r.returns.push_back(__builtin_extract_return_addr(__builtin_return_address(0)));
    volatile int below = depth;
    if (depth > 0)
        below = leave_from_below(r, depth - 1) + 1;
    else
        r.to_main();
    return below;
}

void leaves(void* argument) noexcept {
    auto& r = *static_cast<deep_rope*>(argument);
    r.visits = leave_from_below(r, 3);
    r.to_main();
}

/// Whether they are there, one next to the other.
bool shows_calls(std::span<void* const> frames, const deep_rope& r) {
    return r.returns.size() == 4 &&
           std::search(frames.begin(), frames.end(), r.returns.rbegin(), r.returns.rend()) != frames.end();
}

bool is_base(const void* code) {
    const auto at = reinterpret_cast<std::uintptr_t>(code), base = reinterpret_cast<std::uintptr_t>(&weft_context_base);
    return at >= base && at - base < 32;  // a handful of instructions
}

TEST(left_stack, is_read_from_the_switch_to_the_base) {
    deep_rope r;
    r.make(leaves);
    r.to_other();
    std::array<void*, 32> frames;
    const auto n = read_left_stack(r.other, frames);
    ASSERT_LT(n, frames.size());
    ASSERT_GE(n, 6u);
    EXPECT_TRUE(shows_calls(std::span(frames).first(n), r));
    EXPECT_TRUE(is_base(frames[n - 1]));
    r.to_other();
    EXPECT_EQ(r.visits, 3);  // nothing was changed
}

TEST(left_stack, is_read_as_far_as_there_is_room) {
    deep_rope r;
    r.make(leaves);
    r.to_other();
    std::array<void*, 32> frames;
    const auto n = read_left_stack(r.other, frames);
    std::array<void*, 4> some;
    EXPECT_EQ(read_left_stack(r.other, some), some.size());
    EXPECT_TRUE(std::equal(some.begin(), some.end(), frames.begin()));
    EXPECT_EQ(read_left_stack(r.other, {}), 0u);
    EXPECT_GT(n, some.size());
    r.to_other();
}

TEST(left_stack, that_has_not_begun_is_its_base) {
    deep_rope r;
    r.make(leaves);
    std::array<void*, 4> frames;
    ASSERT_EQ(read_left_stack(r.other, frames), 1u);
    EXPECT_EQ(frames[0], reinterpret_cast<void*>(&weft_context_base));
}

TEST(left_stack, is_read_by_another_thread) {
    deep_rope r;
    r.make(leaves);
    r.to_other();
    std::thread([&] {
        std::array<void*, 32> frames;
        const auto n = read_left_stack(r.other, frames);
        EXPECT_TRUE(shows_calls(std::span(frames).first(n), r));
    }).join();
    r.to_other();
}

}  // namespace
}  // namespace weft::detail
