// stack_census_test.cpp - what fibers needed of their stacks, by the place where they were spawned; and what waiting ones give back.
#include <weft/runtime.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>
#include <vector>

#include <weft/channel.hpp>
#include <weft/coroutine.hpp>
#include <weft/scope.hpp>

#include "support/eventually.hpp"
#include "support/no_leaks.hpp"
#include "support/random.hpp"
#include "support/scale.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

constexpr std::size_t kib = 1024;

/// Uses about `bytes` of the caller's stack and lets go of them.
[[gnu::noinline]] unsigned dig(std::size_t bytes) {
    auto* const room = static_cast<volatile char*>(__builtin_alloca(bytes));
    for (std::size_t i = 0; i < bytes; i += 64) room[i] = 1;
    return static_cast<unsigned>(room[bytes / 2]);
}

class stack_census : public on_workers {};
WEFT_ON_1_2_4_8_WORKERS(stack_census);

#if !WEFT_UNDER_ASAN  // whose frames are larger, and may lie on the heap

const stack_use* find(const std::vector<stack_use>& all, unsigned line) {
    const auto at = std::find_if(all.begin(), all.end(), [=](const stack_use& u) { return u.site.line() == line; });
    return at == all.end() ? nullptr : &*at;
}

TEST_P(stack_census, ask_A6_tells_most_and_mean_of_each_spawn_site) {
    watched_runtime rt({.workers = GetParam(), .stack_census = true});
    unsigned shallow = 0, deep = 0;
    rt.run([&] {
        for (std::size_t i = 0; i < 10; ++i) {
            auto a = spawn({.name = "shallow"}, [] { this_fiber::yield(); });
            shallow = __LINE__ - 1;
            auto b = spawn({.name = "deep", .stack_bytes = 512 * kib}, [i] {
                dig((i + 1) * 20 * kib);
                this_fiber::sleep_for(100us);
            });
            deep = __LINE__ - 4;
            a.join();
            b.join();
        }
    });
    const auto all = rt.stack_census();
    const auto* const s = find(all, shallow);
    const auto* const d = find(all, deep);
    ASSERT_TRUE(s && d);
    EXPECT_EQ(s->fibers, 10u);
    EXPECT_EQ(d->fibers, 10u);
    EXPECT_LT(s->most_bytes, 16 * kib);
    EXPECT_GT(s->most_bytes, 128u);
    EXPECT_GE(d->most_bytes, 200 * kib);
    EXPECT_LT(d->most_bytes, 216 * kib);
    EXPECT_GE(d->mean_bytes, 110 * kib);
    EXPECT_LT(d->mean_bytes, 126 * kib);
    EXPECT_GT(d->stack_bytes, 508 * kib);
    EXPECT_GT(s->stack_bytes, 252 * kib);
    EXPECT_LT(s->stack_bytes, 257 * kib);
    EXPECT_TRUE(std::is_sorted(all.begin(), all.end(), [](auto& a, auto& b) { return a.most_bytes > b.most_bytes; }));
}

TEST_P(stack_census, ask_A6_a_stack_that_was_used_before_counts_from_nothing) {
    watched_runtime rt({.workers = GetParam(), .stack_census = true});
    unsigned second = 0;
    for (int i = 0; i < 20; ++i) {
        rt.spawn([] { dig(100 * kib); }).join();
        rt.spawn({.name = "second"}, [] {}).join();
        second = __LINE__ - 1;
    }
    const auto all = rt.stack_census();
    const auto* const s = find(all, second);
    ASSERT_TRUE(s);
    EXPECT_EQ(s->fibers, 20u);
    EXPECT_LT(s->most_bytes, 16 * kib);
}

#endif

struct with_arguments_alone {
    void operator()(int) const { this_fiber::yield(); }
};

TEST_P(stack_census, ask_A6_those_without_a_site_are_told_apart_by_what_they_run) {
    watched_runtime rt({.workers = GetParam(), .stack_census = true});
    for (int i = 0; i < 5; ++i) rt.spawn(with_arguments_alone(), i).join();
    const auto all = rt.stack_census();
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].fibers, 5u);
    EXPECT_NE(all[0].body.find("with_arguments_alone"), std::string::npos) << all[0].body;
}

TEST_P(stack_census, ask_A6_those_of_one_place_are_told_apart_by_what_they_run) {
    watched_runtime rt({.workers = GetParam(), .stack_census = true});
    const auto start = [&](auto body) { rt.spawn(std::move(body)).join(); };
    start([] { this_fiber::yield(); });
    start([] { this_fiber::yield(), this_fiber::yield(); });
    const auto all = rt.stack_census();
    ASSERT_EQ(all.size(), 2u);
    EXPECT_NE(all[0].body, all[1].body);
}

TEST_P(stack_census, is_empty_unless_asked_for) {
    watched_runtime rt(GetParam());
    rt.run([] { spawn([] {}).join(); });
    EXPECT_TRUE(rt.stack_census().empty());
}

TEST_P(stack_census, changes_nothing_else) {
    watched_runtime rt({.workers = GetParam(), .stack_census = true});
    rt.run([] {
        channel<int> numbers(3);
        with_scope([&](scope& s) {
            s.spawn([&] {
                for (int i = 0; i < 500; ++i) numbers.send(i);
                numbers.close();
            });
            int sum = 0;
            for (const int n : numbers) sum += n;
            EXPECT_EQ(sum, 124'750);
            std::vector<child<int>> all;
            for (int i = 0; i < 200; ++i) all.push_back(s.spawn({.priority = priority::low}, [i] { return i; }));
            for (int i = 0; i < 200; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)].join(), i);
        });
    });
}

TEST(stack_census_report, is_printed_at_the_end_if_the_environment_asks_for_it) {
    ::setenv("WEFT_STACK_CENSUS", "1", 1);
    ::testing::internal::CaptureStderr();
    run([] { spawn({.name = "one"}, [] {}).join(); });
    const auto printed = ::testing::internal::GetCapturedStderr();
    ::unsetenv("WEFT_STACK_CENSUS");
    EXPECT_NE(printed.find("weft: stacks of runtime \"weft\""), std::string::npos) << printed;
    EXPECT_NE(printed.find("stack_census_test.cpp:"), std::string::npos) << printed;
}

// ---- trimming

class trimmed_stacks : public on_workers {};
WEFT_ON_1_2_4_8_WORKERS(trimmed_stacks);

/// Fibers that have gone deep and now wait.
class divers {
public:
    divers(runtime& rt, int n, std::size_t depth) : rt_(rt) {
        for (int i = 0; i < n; ++i)
            all_.push_back(rt.spawn([this, depth] {
                dig(depth);
                int local = 17;
                asm volatile("" : "+m"(local));
                const bool went_on = !go_.receive();
                return went_on ? local : 0;
            }));
        EXPECT_TRUE(eventually([&] { return waiting_for(rt_, "channel receive") == n; }));
    }
    void surface() {
        go_.close();
        for (auto& f : all_) EXPECT_EQ(f.join(), 17) << "its frames were kept";
    }

private:
    runtime& rt_;
    channel<int> go_{0};
    std::vector<fiber<int>> all_;
};

TEST_P(trimmed_stacks, ask_A5_a_deep_call_is_given_back_while_its_fiber_waits) {
    watched_runtime rt(GetParam());
    divers d(rt, 40, 100 * kib);
    const auto bytes = rt.trim_stacks();
    if (!WEFT_UNDER_ASAN) {
        EXPECT_GE(bytes, 40 * 92 * kib);
        EXPECT_LE(bytes, 40 * 128 * kib);
    }
    EXPECT_LT(rt.trim_stacks(), 40 * 8 * kib) << "the second time there is nothing left";
    d.surface();
}

TEST_P(trimmed_stacks, ask_A5_by_one_of_the_fibers_itself) {
    watched_runtime rt(GetParam());
    divers d(rt, 10, 60 * kib);
    rt.run([&] {
        dig(100 * kib);
        EXPECT_GE(rt.trim_stacks(), WEFT_UNDER_ASAN ? 0 : 10 * 52 * kib);
    });
    d.surface();
}

TEST_P(trimmed_stacks, ask_A5_a_fiber_that_waits_inside_a_coroutine_is_left_alone) {
    watched_runtime rt(GetParam());
    channel<int> go;
    auto f = rt.spawn([&] {
        coroutine<int(int)> c([&](auto& yield, int x) {
            dig(20 * kib);
            while (auto n = go.receive()) x = yield(x + *n);
            return x;
        });
        return c(1);
    });
    EXPECT_TRUE(eventually([&] { return waiting_for(rt, "channel receive") == 1; }));
    static_cast<void>(rt.trim_stacks());
    go.close();
    EXPECT_EQ(f.join(), 1);
}

// WAIT_WORD-7: fibers that wait, wake and go deep, while others trim without pause; a page taken
// too late loses a frame.
TEST_P(trimmed_stacks, ask_A5_WAIT_WORD_7_while_fibers_wake_and_sleep_stress) {
    const seed chosen;
    watched_runtime rt(GetParam());
    std::atomic<bool> over{false};
    std::atomic<std::uint64_t> turns{0};
    std::vector<fiber<>> all;
    for (int i = 0; i < 32; ++i)
        all.push_back(rt.spawn([&over, &turns, random = chosen.of(static_cast<unsigned>(i))]() mutable {
            while (!over) {
                volatile unsigned kept[64];
                const unsigned mark = below(random, 1'000'000) + 1;
                for (auto& k : kept) k = mark;
                dig(below(random, 50) * kib + 64);
                if (below(random, 3) == 0)
                    this_fiber::yield();
                else
                    this_fiber::sleep_for(up_to(random, 200us));
                for (auto& k : kept) ASSERT_EQ(k, mark);
                ++turns;
            }
        }));
    std::size_t bytes = 0;
    const auto end = std::chrono::steady_clock::now() + 400ms;
    while (std::chrono::steady_clock::now() < end) bytes += rt.trim_stacks();
    over = true;
    for (auto& f : all) f.join();
    EXPECT_GT(turns, 100u);
    if (!WEFT_UNDER_ASAN) {
        EXPECT_GT(bytes, 0u);
    }
}

}  // namespace
}  // namespace weft::test
