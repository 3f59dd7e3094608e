// context_test.cpp - what a switch keeps, and where a stack begins and ends.
#include "arch/context.hpp"

#include <gtest/gtest.h>

#include <execinfo.h>
#include <array>
#include <cmath>
#include <cstdint>
#include <thread>

#include "arch/test_stack.hpp"
#include "arch/two_threads.hpp"

namespace weft::detail {
namespace {

void counts_visits(void* argument) noexcept {
    auto& r = *static_cast<rope*>(argument);
    for (;;) {
        ++r.visits;
        r.to_main();
    }
}

TEST(context, entry_gets_its_argument_and_goes_on_after_each_switch) {
    rope r;
    r.make(counts_visits);
    EXPECT_EQ(r.visits, 0);
    for (int n = 1; n <= 5; ++n) {
        r.to_other();
        EXPECT_EQ(r.visits, n);
    }
}

struct seen_at_entry {
    rope r;
    std::uintptr_t frame = 0;
    double sum = 0;
};

void looks_at_its_frame(void* argument) noexcept {
    auto& seen = *static_cast<seen_at_entry*>(argument);
    alignas(16) std::array<double, 4> aligned = {1, 2, 3, 4};   // stored by instructions that insist on 16
    asm volatile("" : : "r"(aligned.data()) : "memory");
    seen.frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    for (double const x : aligned) seen.sum += x;
    seen.r.to_main();
}

TEST(context, stack_is_16_aligned_at_entry_whatever_the_initial_top) {
    for (std::size_t below_top : {0U, 1U, 8U, 15U, 16U, 24U, 64U, 100U, 1000U}) {
        seen_at_entry seen;
        seen.r.stack.make(seen.r.other, looks_at_its_frame, &seen, below_top);
        seen.r.to_other();
        EXPECT_EQ(seen.frame % 16, 0U) << below_top;
        EXPECT_TRUE(seen.r.stack.contains(reinterpret_cast<void*>(seen.frame)));
        EXPECT_EQ(seen.sum, 10);
    }
}

// Enough live values, of both kinds, to fill every register that a call preserves.
template <class Switch>
[[gnu::noinline]] double mixes(int seed, int rounds, Switch&& away) {
    std::uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, i = 9, j = 10;
    double p = 1, q = 2, r = 3, s = 4, t = 5, u = 6, v = 7, w = 8, x = seed;
    for (int n = 0; n < rounds; ++n) {
        a += b ^ static_cast<unsigned>(seed), b += c ^ a, c += d ^ b, d += e ^ c, e += f ^ d;
        f += g ^ e, g += h ^ f, h += i ^ g, i += j ^ h, j += a ^ i;
        p += q / 2, q += r / 3, r += s / 4, s += t / 5, t += u / 6, u += v / 7, v += w / 8, w += x / 9, x += p / 1e6;
        away();
    }
    return static_cast<double>((a ^ b ^ c ^ d ^ e ^ f ^ g ^ h ^ i ^ j) % 1000003) +
           std::fmod(p + q + r + s + t + u + v + w + x, 1e9);
}

constexpr int rounds = 60;

struct mixer {
    rope r;
    double result = 0;
};

void mixes_on_its_stack(void* argument) noexcept {
    auto& m = *static_cast<mixer*>(argument);
    m.result = mixes(77, rounds, [&] { m.r.to_main(); });
    for (;;) m.r.to_main();
}

TEST(context, CONTEXT_2_preserved_registers_live_through_switches_on_both_sides) {
    mixer m;
    m.r.make(mixes_on_its_stack);
    double const here = mixes(5, rounds, [&] { m.r.to_other(); });
    m.r.to_other();
    EXPECT_EQ(here, mixes(5, rounds, [] {}));
    EXPECT_EQ(m.result, mixes(77, rounds, [] {}));
}

TEST(context, goes_on_on_another_os_thread) {
    mixer m;
    m.r.make(mixes_on_its_stack);
    for (int n = 0; n <= rounds; ++n) std::thread([&] { m.r.to_other(); }).join();
    EXPECT_EQ(m.result, mixes(77, rounds, [] {}));
}

void jumps_away(void* argument) noexcept {
    auto& r = *static_cast<rope*>(argument);
    ++r.visits;
    jump_context(r.main);
}

TEST(context, a_stack_left_for_good_can_be_made_again) {
    rope r;
    for (int n = 1; n <= 1000; ++n) {
        r.make(jumps_away);
        r.to_other();
        ASSERT_EQ(r.visits, n);
    }
}

void hops_back_what_it_gets(void* argument) noexcept {
    auto& m = *static_cast<mixer*>(argument);
    void* got = nullptr;
    m.result = mixes(77, rounds, [&] { got = hop_context(m.r.other, m.r.main, got); });
    jump_context(m.r.main, &m);
}

TEST(context, a_hop_keeps_registers_and_passes_a_word_each_way) {
    mixer m;
    m.r.stack.make(m.r.other, hops_back_what_it_gets, &m);
    std::array<char, rounds + 1> words{};
    EXPECT_EQ(hop_context(m.r.main, m.r.other, &words[0]), nullptr);   // what starts a stack is told nothing
    std::size_t n = 0;
    bool right = true;
    double const here = mixes(5, rounds - 1, [&] {
        char* const word = &words[++n];
        right &= hop_context(m.r.main, m.r.other, word) == word;
    });
    EXPECT_TRUE(right);
    EXPECT_EQ(switch_context(m.r.main, m.r.other), &m);
    EXPECT_EQ(here, mixes(5, rounds - 1, [] {}));
    EXPECT_EQ(m.result, mixes(77, rounds, [] {}));
}

struct chain {
    std::array<context, 3> at;
    std::array<test_stack, 2> stacks;
    context main;
    int order = 0;
};

void first_of_chain(void* argument) noexcept {
    auto& c = *static_cast<chain*>(argument);
    c.order = c.order * 10 + 1;
    switch_context(c.at[0], c.at[1]);
    c.order = c.order * 10 + 3;
    jump_context(c.main);
}

void second_of_chain(void* argument) noexcept {
    auto& c = *static_cast<chain*>(argument);
    c.order = c.order * 10 + 2;
    switch_context(c.at[1], c.at[0]);
}

TEST(context, made_stacks_switch_directly_to_each_other) {
    chain c;
    c.stacks[0].make(c.at[0], first_of_chain, &c);
    c.stacks[1].make(c.at[1], second_of_chain, &c);
    switch_context(c.main, c.at[0]);
    EXPECT_EQ(c.order, 123);
}

struct traced {
    rope r;
    std::array<void*, 64> frames{};
    int depth = 0;
};

[[gnu::noinline]] int traces_at_depth(traced& t, int depth) {
    if (depth == 0) return t.depth = ::backtrace(t.frames.data(), static_cast<int>(t.frames.size()));
    return traces_at_depth(t, depth - 1) + 1;
}

void traces_itself(void* argument) noexcept {
    auto& t = *static_cast<traced*>(argument);
    traces_at_depth(t, 5);
    t.r.to_main();
}

TEST(context, CONTEXT_4_backtrace_ends_at_the_base) {
    traced t;
    t.r.make(traces_itself);
    t.r.to_other();
    ASSERT_GT(t.depth, 2);
    ASSERT_LT(t.depth, 64);
    auto const base = reinterpret_cast<std::uintptr_t>(&weft_context_base);
    auto const last = reinterpret_cast<std::uintptr_t>(t.frames[static_cast<std::size_t>(t.depth) - 1]);
    EXPECT_GT(last, base);
    EXPECT_LT(last, base + 32);
}

WEFT_DECLARE_THREAD_WORD(weft_word_of_test);
WEFT_DEFINE_THREAD_WORD(weft_word_of_test);

struct word_reader {
    rope r;
    std::array<void*, 2> seen{};
};

void reads_its_word_twice(void* argument) noexcept {
    auto& w = *static_cast<word_reader*>(argument);
    WEFT_READ_THREAD_WORD(w.seen[0], weft_word_of_test);
    w.r.to_main();
    WEFT_READ_THREAD_WORD(w.seen[1], weft_word_of_test);
    w.r.to_main();
}

TEST(context, a_thread_word_is_that_of_the_thread_one_is_on_now) {
    word_reader w;
    int first = 0;
    int second = 0;
    w.r.make(reads_its_word_twice);
    auto const mark_and_go = [&](int& mark) {
        weft_word_of_test = &mark;
        w.r.to_other();
    };
    on_two_threads([&] { mark_and_go(first); }, [&] { mark_and_go(second); });
    EXPECT_EQ(w.seen[0], &first);
    EXPECT_EQ(w.seen[1], &second);
}

}  // namespace
}  // namespace weft::detail
