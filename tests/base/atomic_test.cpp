// atomic_test.cpp - base/atomic.hpp in the normal build: thin names over std::atomic, and nothing added.
#include "base/atomic.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <thread>
#include <type_traits>

namespace weft::detail {
namespace {

enum class state : std::uint8_t { idle, busy };

static_assert(sizeof(atomic<std::uint32_t>) == sizeof(std::uint32_t), "the kernel looks at a futex word");
static_assert(sizeof(atomic<void*>) == sizeof(void*) && sizeof(plain<int>) == sizeof(int), "ATOMIC-3: a plain costs nothing");
static_assert(!std::is_copy_constructible_v<atomic<int>> && !std::is_copy_assignable_v<plain<int>>);

constinit atomic<int> made_before_main{41};

TEST(atomic, begins_with_its_value_and_zero_by_default) {
    EXPECT_EQ(made_before_main.load(relaxed), 41);
    EXPECT_EQ(atomic<std::uint64_t>{}.load(relaxed), 0U);
    EXPECT_EQ(atomic<int*>{}.load(relaxed), nullptr);
}

TEST(atomic, stores_and_exchanges) {
    atomic<state> s{state::idle};
    s.store(state::busy, release);
    EXPECT_EQ(s.exchange(state::idle, acq_rel), state::busy);
    EXPECT_EQ(s.load(acquire), state::idle);
}

TEST(atomic, compare_exchange_reports_what_it_found) {
    atomic<unsigned> a{5};
    unsigned expected = 4;
    EXPECT_FALSE(a.compare_exchange_strong(expected, 9, acq_rel, relaxed));
    EXPECT_EQ(expected, 5U);
    while (!a.compare_exchange_weak(expected, 9, seq_cst, relaxed)) {}
    EXPECT_EQ(a.load(seq_cst), 9U);
}

TEST(atomic, arithmetic_returns_the_old_value_and_wraps) {
    atomic<std::uint8_t> a{250};
    EXPECT_EQ(a.fetch_add(10, relaxed), 250);
    EXPECT_EQ(a.fetch_sub(5, relaxed), 4);
    EXPECT_EQ(a.fetch_and(0x0f, relaxed), 255);
    EXPECT_EQ(a.fetch_or(0x30, relaxed), 0x0f);
    EXPECT_EQ(a.fetch_xor(0xff, relaxed), 0x3f);
    EXPECT_EQ(a.load(relaxed), 0xc0);
}

TEST(plain, holds_any_value) {
    plain<std::string> text{"a"};
    text.set("bc");
    text.write() += 'd';
    EXPECT_EQ(text.get(), "bcd");
    EXPECT_EQ(text.read().size(), 3U);
}

// Dekker's entry by fences. Also shows TSan that fence() synchronises: `inside` is not atomic.
TEST(fence, two_threads_do_not_both_pass_stress) {
    constexpr int rounds = 20'000;
    for (int round = 0; round < rounds; round += 1000) {
        atomic<int> wants[2] = {0, 0};
        int inside = 0, entered[2] = {0, 0};
        const auto run = [&](int me) {
            for (int i = 0; i < 1000; ++i) {
                wants[me].store(1, relaxed);
                fence(seq_cst);
                if (wants[1 - me].load(acquire) == 0) {  // pairs with the release below: the other has left
                    ++inside;
                    ++entered[me];
                }
                wants[me].store(0, release);
                if (i % 64 == 0) thread_yield();
            }
        };
        std::thread other(run, 1);
        run(0);
        other.join();
        ASSERT_EQ(inside, entered[0] + entered[1]);
    }
}

}  // namespace
}  // namespace weft::detail
