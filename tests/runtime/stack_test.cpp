// stack_test.cpp - fibers' stacks: sizes of their own, depth, what remains, and what an overflow says.
#include <weft/event.hpp>
#include <weft/runtime.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <vector>

#include "support/eventually.hpp"
#include "support/no_leaks.hpp"
#include "support/scale.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

constexpr std::size_t kib = 1024, mib = 1024 * kib;

// NOLINTNEXTLINE(misc-no-recursion)
[[gnu::noinline]] int descend(int depth, std::size_t& least) {
    volatile char frame[512];
    frame[depth % 512] = 1;
    least = std::min(least, this_fiber::stack_remaining());
    if (depth == 0) this_fiber::yield();
    const int below = depth == 0 ? 0 : descend(depth - 1, least);
    return below + frame[depth % 512];
}

class stacks : public on_workers {
protected:
    watched_runtime rt{GetParam()};
};
WEFT_ON_1_2_4_8_WORKERS(stacks);

TEST_P(stacks, are_as_large_as_the_runtime_says) {
    rt.run([] {
        EXPECT_GT(this_fiber::stack_remaining(), 240 * kib);
        EXPECT_LE(this_fiber::stack_remaining(), 256 * kib);
    });
    watched_runtime small({.workers = GetParam(), .stack_bytes = 64 * kib});
    small.run([] {
        EXPECT_GT(this_fiber::stack_remaining(), 48 * kib);
        EXPECT_LE(this_fiber::stack_remaining(), 64 * kib);
    });
}

TEST_P(stacks, may_be_of_another_size_for_one_fiber) {
    rt.run([] {
        for (const std::size_t size : {64 * kib, 512 * kib, 4 * mib, 100 * mib})
            for (int i = 0; i < 10; ++i) {
                auto f = spawn({.stack_bytes = size}, [] {
                    const auto fresh = this_fiber::stack_remaining();
                    this_fiber::yield();
                    this_fiber::sleep_for(10us);
                    return fresh;
                });
                const auto remaining = f.join();
                EXPECT_GT(remaining, size * 3 / 4 - 8 * kib);
                EXPECT_LE(remaining, size);
            }
    });
}

TEST_P(stacks, of_many_sizes_mix) {
    rt.run([] {
        std::vector<fiber<>> all;
        for (int i = 0; i < 300; ++i)
            all.push_back(spawn({.stack_bytes = i % 3 == 0 ? 0 : i % 3 * 128 * kib}, [i] {
                for (int j = 0; j < 5; ++j) i % 2 ? this_fiber::yield() : this_fiber::sleep_for(10us);
            }));
        for (auto& f : all) f.join();
    });
}

TEST_P(stacks, hold_a_deep_recursion_and_say_what_remains) {
    rt.run([] {
        auto f = spawn({.stack_bytes = 64 * mib}, [] {
            const auto before = this_fiber::stack_remaining();
            std::size_t least = before;
            EXPECT_EQ(descend(20'000, least), 20'001);
            EXPECT_LT(least, before - 20'000 * 512);
            EXPECT_GT(least, 0u);
            EXPECT_EQ(this_fiber::stack_remaining(), before);
        });
        f.join();
    });
}

TEST_P(stacks, come_back) {
    for (int round = 0; round < 3; ++round)
        rt.run([] {
            std::vector<fiber<>> all;
            event go_on;
            std::atomic<int> waiting{0};
            for (int i = 0; i < 500; ++i)
                all.push_back(spawn([&] {
                    ++waiting;
                    go_on.wait();
                }));
            EXPECT_TRUE(eventually_here([&] { return waiting == 500; }));
            go_on.set();
            for (auto& f : all) f.join();
        });
    EXPECT_TRUE(eventually([&] { return rt.stats().stacks_in_use <= 500; }));  // what the workers' caches and loops keep
    const auto after = rt.stats();
    EXPECT_LT(after.stacks_in_use, 64u * GetParam() + 2 * GetParam());
    EXPECT_GT(after.stacks_idle + after.stacks_in_use, 400u);
}

TEST_P(stacks, are_not_needed_by_fibers_that_never_wait) {
    rt.run([&] {
        const auto before = rt.stats().stacks_in_use;
        std::vector<fiber<>> all;
        for (int i = 0; i < 2000; ++i) all.push_back(spawn([] {}));
        for (auto& f : all) f.join();
        EXPECT_LT(rt.stats().stacks_in_use, before + 40 * GetParam());
    });
}

#if !WEFT_UNDER_ASAN && !WEFT_UNDER_TSAN  // they report an overflow in their own words

// NOLINTNEXTLINE(misc-no-recursion)
[[gnu::noinline]] int overflow(volatile int* sum, int depth) {
    volatile char frame[256];
    frame[depth % 256] = 1;
    *sum = *sum + frame[0];
    if (depth < 0) return 0;  // not before the stack is full
    return overflow(sum, depth + 1) + frame[depth % 256];
}

void run_over(const attributes& a) {
    run([&] {
        spawn(a, [] {
            volatile int sum = 0;
            overflow(&sum, 0);
        }).join();
    }, {.workers = 2});
}

TEST(stack_overflow, names_the_fiber) {
    EXPECT_EXIT(run_over({.name = "too-deep"}), ::testing::KilledBySignal(SIGSEGV),
                "weft: stack overflow in fiber \"too-deep\" \\(stack 256 KiB, ");
    EXPECT_EXIT(run_over({.name = "own-size", .stack_bytes = 64 * kib}), ::testing::KilledBySignal(SIGSEGV),
                "weft: stack overflow in fiber \"own-size\" \\(stack 64 KiB, ");
    EXPECT_EXIT(run_over({}), ::testing::KilledBySignal(SIGSEGV), "weft: stack overflow in fiber \"an unnamed fiber\"");
}

#endif

}  // namespace
}  // namespace weft::test
