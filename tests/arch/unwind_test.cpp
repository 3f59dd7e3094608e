// unwind_test.cpp - steps through switches one instruction at a time and unwinds from every one of them.
#include <gtest/gtest.h>

#include "support/steps.hpp"

#if WEFT_CAN_STEP

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "arch/left_stack.hpp"
#include "arch/test_stack.hpp"

// This file keeps frame pointers (tests/CMakeLists.txt).
namespace weft::detail {
extern "C" [[gnu::visibility("hidden")]] void weft_call_from_context(void* sp, void (*function)(void*), void* argument) noexcept;

namespace {

using test::callers;
using test::expect_right_callers;
using test::frame_chain;
using test::passage;
using test::step;
using test::stepping;

using codes = std::vector<std::uintptr_t>;

/// Two made stacks, so that both have an end; the test itself is the third.
struct journey {
    context test;
    context main;
    context other;
    test_stack main_stack;
    test_stack other_stack;
    stepping steps{test::frame_pointers::kept};
    void (*scene)(journey&) = nullptr;
    codes main_returns;  // as the functions themselves know them, innermost first
    codes other_returns;
    int visits = 0;

    void to_other() { switch_context(main, other); }
    void to_main() { switch_context(other, main); }
    void hop_to_other() { hop_context(main, other); }
    void hop_to_main() { hop_context(other, main); }
};

#define RETURN_OF_THIS_FUNCTION reinterpret_cast<std::uintptr_t>(__builtin_extract_return_addr(__builtin_return_address(0)))

[[gnu::noinline]] void leaves_thrice_from(journey& j, int depth) {
    j.other_returns.insert(j.other_returns.begin(), RETURN_OF_THIS_FUNCTION);
    if (depth > 0) {
        leaves_thrice_from(j, depth - 1);
    } else {
        j.to_main();
        j.hop_to_main();
        j.to_main();
    }
    ++j.visits;
}

void on_other(void* argument) noexcept {
    auto& j = *static_cast<journey*>(argument);
    leaves_thrice_from(j, 3);
    jump_context(j.main);
}

[[gnu::noinline]] void goes_there_from(journey& j, int depth) {
    j.main_returns.insert(j.main_returns.begin(), RETURN_OF_THIS_FUNCTION);
    if (depth > 0) {
        goes_there_from(j, depth - 1);
    } else {
        j.steps.begin();
        j.scene(j);
        j.steps.end();
    }
    ++j.visits;
}

void on_main(void* argument) noexcept {
    auto& j = *static_cast<journey*>(argument);
    goes_there_from(j, 2);
    jump_context(j.test);
}

std::vector<passage> passages_of(journey& j, void (*scene)(journey&)) {
    j.scene = scene;
    j.main_stack.make(j.main, on_main, &j);
    j.other_stack.make(j.other, on_other, &j);
    switch_context(j.test, j.main);
    return j.steps.passages();
}

bool contains(const codes& in, const codes& what) {
    return std::search(in.begin(), in.end(), what.begin(), what.end()) != in.end();
}
codes of(const callers& c) { return {c.code.begin(), c.code.begin() + static_cast<std::ptrdiff_t>(c.count)}; }
codes of(const frame_chain& c) { return {c.code.begin(), c.code.begin() + static_cast<std::ptrdiff_t>(c.count)}; }
bool ends_in_base(const codes& c) {
    const auto base = reinterpret_cast<std::uintptr_t>(&weft_context_base);
    return !c.empty() && c.back() >= base && c.back() < base + 32;
}

void all_kinds(journey& j) {
    j.to_other();      // the first time
    j.hop_to_other();  // left by a switch
    j.to_other();      // left by a hop
    j.to_other();      // it jumps back
}

TEST(unwind, CONTEXT_4_every_instruction_of_a_switch_has_right_callers) {
    journey j;
    const auto all = passages_of(j, all_kinds);
    ASSERT_EQ(j.visits, 4 + 3);
    ASSERT_EQ(all.size(), 8u);
    EXPECT_EQ(expect_right_callers(all), 7);  // all but the first time
    for (const auto& p : all) {
        EXPECT_GE(p.leaving.size(), 2u);
        EXPECT_GE(p.arriving.size(), 8u);
        const bool from_main = (&p - all.data()) % 2 == 0;
        const bool jumps = &p == &all.back();
        const auto mine = of(p.leaving.front().by_tables), theirs = of(p.arriving.back().by_tables);
        EXPECT_TRUE(ends_in_base(mine));
        EXPECT_TRUE(jumps || contains(mine, from_main ? j.main_returns : j.other_returns));
        if (&p == all.data()) continue;
        EXPECT_TRUE(ends_in_base(theirs));
        EXPECT_TRUE(contains(theirs, from_main ? j.other_returns : j.main_returns));
    }
}

/// The switch has no frame of its own, so its caller is not in the chain; those above are.
codes without_innermost(const callers& c) {
    const auto all = of(c);
    return all.empty() ? all : codes(all.begin() + 1, all.end());
}

TEST(unwind, CONTEXT_4_frame_pointers_lead_from_every_instruction_to_the_callers_of_one_side) {
    journey j;
    for (const auto& p : passages_of(j, all_kinds)) {
        const auto before = without_innermost(p.leaving.front().by_tables);
        const auto after = without_innermost(p.arriving.back().by_tables);
        EXPECT_EQ(of(p.leaving.front().by_frames), before);
        EXPECT_EQ(of(p.arriving.back().by_frames), after);
        bool changed = false;
        for (const auto& part : {p.leaving, p.arriving})
            for (const auto& s : part) {
                changed = changed || of(s.by_frames) == after;
                EXPECT_EQ(of(s.by_frames), changed ? after : before);
            }
        EXPECT_TRUE(changed);
    }
}

void leaves_it_and_looks(journey& j) {
    j.to_other();
    std::array<void*, 32> room;
    static_cast<void>(read_left_stack(j.other, room));
}

TEST(unwind, CONTEXT_4_a_call_on_behalf_of_a_left_stack_has_the_callers_of_that_stack) {
    journey j;
    const auto all = passages_of(j, leaves_it_and_looks);
    ASSERT_EQ(all.size(), 4u);  // there; back; as far as the call; after it
    const auto& left = all[1].leaving.front().by_tables;
    const auto& call = all[2].leaving;
    const auto& own = call.front().by_tables;
    EXPECT_FALSE(own == left);
    const auto changes = std::find_if(call.begin(), call.end(), [&](const step& s) { return !(s.by_tables == own); });
    EXPECT_LE(changes - call.begin(), 3);
    ASSERT_GE(call.end() - changes, 2);
    for (auto s = changes; s != call.end(); ++s) {
        EXPECT_TRUE(s->by_tables.complete);
        EXPECT_EQ(of(s->by_tables), of(left));
        EXPECT_EQ(s->by_tables.stack, left.stack);
        EXPECT_EQ(s->by_tables.registers, left.registers);
    }
    EXPECT_TRUE(contains(of(left), j.other_returns));
    for (const auto& s : all[3].leaving) EXPECT_TRUE(s.by_tables == own);
}

}  // namespace
}  // namespace weft::detail

#endif
