// stack_pool_test.cpp - sizes, guards, reuse and return of stack memory.
#include "stack/stack_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "arch/valgrind.hpp"
#include "stack/on_stack.hpp"

namespace weft::detail {
namespace {

constexpr std::size_t KiB = 1024;
constexpr std::size_t MiB = 1024 * KiB;
constexpr std::size_t overhead = sizeof(stack) + (stack_colours - 1) * stack_colour_bytes;

void touch(std::byte* p) { *static_cast<std::byte volatile*>(p) = std::byte{1}; }

void dies_of(std::byte* p) {
    std::signal(SIGSEGV, SIG_DFL);   // a sanitizer has its own
    touch(p);
}

std::size_t mappings() {
    std::ifstream maps("/proc/self/maps");
    return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(maps), {}, '\n'));
}

TEST(stack_pool, sizes_are_rounded_up_to_a_power_of_two) {
    stack_pool pool;
    struct {
        std::size_t asked, got;
    } const cases[] = {{0, 256 * KiB},         {1, 16 * KiB},      {16 * KiB, 16 * KiB}, {16 * KiB + 1, 32 * KiB},
                       {100 * KiB, 128 * KiB}, {1 * MiB, 1 * MiB}, {64 * MiB, 64 * MiB}, {64 * MiB + 1, 64 * MiB + 4 * KiB}};
    for (auto const& c : cases) {
        stack* const s = pool.take(c.asked);
        ASSERT_NE(s, nullptr) << c.asked;
        EXPECT_LE(s->bytes(), c.got) << c.asked;
        EXPECT_GE(s->bytes() + overhead, c.got) << c.asked;
        touch(s->span.low);
        touch(s->span.high - 1);
        pool.give(s);
    }
    EXPECT_EQ(pool.statistics().in_use, 0U);
}

TEST(stack_pool, refuses_what_the_address_space_cannot_hold) {
    stack_pool pool;
    EXPECT_EQ(pool.take(std::size_t{1} << 60), nullptr);
    EXPECT_EQ(pool.take(~std::size_t{0}), nullptr);
    EXPECT_EQ(pool.statistics().in_use, 0U);
}

TEST(stack_pool, a_stack_mapped_alone_is_unmapped_when_given_back) {
    stack_pool pool;
    auto const before = pool.statistics().mapped_bytes;
    stack* const s = pool.take(100 * MiB);
    ASSERT_NE(s, nullptr);
    EXPECT_GT(pool.statistics().mapped_bytes, before + 100 * MiB);
    pool.give(s);
    EXPECT_EQ(pool.statistics().mapped_bytes, before);
}

TEST(stack_pool, neighbours_lie_an_odd_number_of_pages_and_a_colour_apart) {
    stack_pool pool;
    std::vector<stack*> stacks;
    std::set<std::uintptr_t> offsets;
    for (std::size_t n = 0; n < stack_colours; ++n) {
        stacks.push_back(pool.take(0));
        offsets.insert(reinterpret_cast<std::uintptr_t>(stacks.back()->span.high) % page_bytes());
        if (n > 0) {
            auto const stride = static_cast<std::size_t>(std::abs(stacks[n]->span.low - stacks[n - 1]->span.low));
            EXPECT_EQ(stride / page_bytes() % 2, 1U);
        }
    }
    EXPECT_EQ(offsets.size(), stack_colours);
    pool.give_batch(stacks.data(), stacks.size());
}

TEST(stack_pool, the_stack_given_last_is_taken_first) {
    stack_pool pool;
    stack* const a = pool.take(0);
    stack* const b = pool.take(0);
    pool.give(a);
    pool.give(b);
    EXPECT_EQ(pool.take(0), b);
    EXPECT_EQ(pool.take(0), a);
    pool.give(a);
    pool.give(b);
}

TEST(stack_pool, STACK_POOL_1_statistics_count_every_stack_once) {
    stack_pool pool({.warm_bytes = 4 * 256 * KiB});
    std::vector<stack*> stacks;
    for (int n = 0; n < 200; ++n) stacks.push_back(pool.take(0));
    auto s = pool.statistics();
    EXPECT_EQ(s.in_use, 200U);
    EXPECT_EQ(s.idle, 0U);
    EXPECT_EQ(s.guarded + s.unguarded, 200U);
    EXPECT_EQ(s.mapped_slots, 256U);
    pool.give_batch(stacks.data(), stacks.size());
    s = pool.statistics();
    EXPECT_EQ(s.in_use, 0U);
    EXPECT_EQ(s.idle, 4 + (200 - 4) % 64U);   // closed sixty-four at a time
    EXPECT_EQ(s.guarded + s.unguarded, s.idle);
}

TEST(stack_pool, SLAB_2_beyond_the_warm_ones_every_page_goes_back_and_slots_are_used_again) {
    stack_pool pool({.warm_bytes = 1});
    std::vector<stack*> stacks;
    for (int n = 0; n < 65; ++n) {
        stacks.push_back(pool.take(0));
        std::memset(stacks.back()->span.low, 1, stacks.back()->bytes());
    }
    std::vector<std::byte*> pages;
    for (stack* const s : stacks)
        for (std::byte* page = s->span.low; page < s->span.high; page += page_bytes()) pages.push_back(page);
    auto const resident = [&] { return std::count_if(pages.begin(), pages.end(), page_was_touched); };
    EXPECT_EQ(resident(), std::ptrdiff_t(65 * 64));
    pool.give_batch(stacks.data(), stacks.size());
    EXPECT_EQ(resident(), 64);   // one stack stayed warm
    for (auto& s : stacks) s = pool.take(0);
    EXPECT_EQ(pool.statistics().mapped_slots, 256U);
    EXPECT_EQ(std::set<stack*>(stacks.begin(), stacks.end()).size(), 65U);
    pool.give_batch(stacks.data(), stacks.size());
}

TEST(stack_pool, take_batch_hands_out_warm_stacks_or_one_new) {
    stack_pool pool;
    std::vector<stack*> stacks(10);
    EXPECT_EQ(pool.take_batch(stacks.data(), 10), 1U);
    for (int n = 1; n < 5; ++n) stacks[static_cast<std::size_t>(n)] = pool.take(0);
    pool.give_batch(stacks.data(), 5);
    EXPECT_EQ(pool.take_batch(stacks.data(), 10), 5U);
    EXPECT_EQ(pool.take_batch(stacks.data(), 0), 0U);
    pool.give_batch(stacks.data(), 5);
}

TEST(stack_pool, take_batch_hands_out_stacks_that_are_mapped_alone) {
    stack_pool pool({.default_bytes = 100 * MiB});
    auto const before = pool.statistics().mapped_bytes;
    std::vector<stack*> stacks(10);
    ASSERT_EQ(pool.take_batch(stacks.data(), 10), 1U);
    EXPECT_GE(stacks[0]->bytes() + overhead, 100 * MiB);
    pool.give_batch(stacks.data(), 1);
    EXPECT_EQ(pool.statistics().mapped_bytes, before);
}

TEST(stack_pool, every_kind_of_guard_faults_also_after_its_stack_was_closed) {
    for (auto const choice : {guard_choice::automatic, guard_choice::mprotect}) {
        stack_pool pool({.warm_bytes = 1, .guards = {.choice = choice}});
        std::vector<stack*> stacks;
        for (int n = 0; n < 65; ++n) stacks.push_back(pool.take(0));
        pool.give_batch(stacks.data(), stacks.size());
        for (auto& s : stacks) s = pool.take(0);
        for (std::size_t const n : {std::size_t{0}, std::size_t{40}, std::size_t{64}}) {
            EXPECT_NE(stacks[n]->guard, guard_kind::none);
            touch(stacks[n]->span.low);
            EXPECT_EXIT(dies_of(stacks[n]->span.low - 1), ::testing::KilledBySignal(SIGSEGV), "") << name(stacks[n]->guard);
            EXPECT_EXIT(dies_of(stacks[n]->span.low - page_bytes()), ::testing::KilledBySignal(SIGSEGV), "");
        }
        pool.give_batch(stacks.data(), stacks.size());
    }
}

TEST(stack_pool, past_the_limit_of_mprotect_guards_stacks_are_unguarded_and_counted) {
    stack_pool pool({.guards = {.choice = guard_choice::mprotect, .mprotect_limit = 3}});
    std::vector<stack*> stacks;
    for (int n = 0; n < 5; ++n) stacks.push_back(pool.take(0));
    EXPECT_EQ(pool.statistics().guarded, 3U);
    EXPECT_EQ(pool.statistics().unguarded, 2U);
    EXPECT_EQ(stacks[4]->guard, guard_kind::none);
    pool.give_batch(stacks.data(), stacks.size());
}

TEST(stack_pool, mprotect_guards_are_counted_off_when_their_pool_ends) {
    for (int n = 0; n < 3; ++n) {
        stack_pool pool({.guards = {.choice = guard_choice::mprotect, .mprotect_limit = 1}});
        stack* const s = pool.take(0);
        EXPECT_EQ(s->guard, guard_kind::mprotect);
        pool.give(s);
    }
}

TEST(stack_pool, an_unguarded_overflow_stops_the_program_when_the_stack_is_given_back) {
    stack_pool pool({.guards = {.choice = guard_choice::none}});
    stack* const s = pool.take(0);
    std::memset(s->span.low, 1, s->bytes());   // full, but not over
    pool.give(s);
    stack* const again = pool.take(0);
    EXPECT_DEATH(
        {
            touch(again->span.low - 1);
            pool.give(again);
        },
        "ran over its end");
    pool.give(again);
}

TEST(stack_pool, a_pool_ends_after_its_stacks) {
    EXPECT_DEATH(
        {
            stack_pool pool;
            static_cast<void>(pool.take(0));
        },
        "its last stack");
}

TEST(stack_pool, many_guarded_stacks_need_few_mappings_where_madvise_guards) {
    bool const sanitized = WEFT_UNDER_ASAN || WEFT_UNDER_TSAN;
    std::size_t const n = sanitized ? 2'000 : 40'000;   // mprotect ends at 32,765
    stack_pool pool;
    std::vector<stack*> stacks(n);
    auto const before = mappings();
    for (auto& s : stacks) ASSERT_NE(s = pool.take(0), nullptr);
    auto const added = mappings() - before;
    if (madvise_guards_work()) {
        EXPECT_EQ(pool.statistics().guarded, n);
        EXPECT_LT(added, 200U);
    } else {
        std::size_t const most = running_on_valgrind() ? mprotect_guards_on_valgrind : default_mprotect_guards;
        EXPECT_EQ(pool.statistics().guarded, std::min(n, most));
        EXPECT_LT(added, 65'000U);
    }
    pool.give_batch(stacks.data(), n);
}

TEST(stack_pool, functions_run_on_its_stacks_deep_and_again) {
    stack_pool pool;
    for (int n = 0; n < 10; ++n) {
        stack* const s = pool.take(64 * KiB);
        bool on_it = false;
        run_on(*s, [&] {
            std::byte deep[48 * KiB];
            std::memset(deep, n, sizeof deep);
            auto* const frame = static_cast<std::byte*>(__builtin_frame_address(0));   // ASan may put `deep` elsewhere
            on_it = frame > s->span.low && frame < s->span.high && deep[1000] == std::byte(n);
        });
        EXPECT_TRUE(on_it);
        pool.give(s);
    }
}

// ---- giving memory back

constexpr auto period = low_water::period;

/// As a worker would: until there is nothing more to do for now.
time_point trim(stack_pool& pool, time_point at, std::size_t n = 7) {
    time_point again = at;
    while (again <= at) again = pool.trim(at, n);
    return again;
}

TEST(stack_pool, closes_warm_stacks_that_nobody_needed_for_a_period) {
    auto const start = clock::now();
    stack_pool pool;
    std::vector<stack*> all(100);
    for (auto& s : all) s = pool.take(0);
    EXPECT_EQ(trim(pool, start), never);
    for (auto* s : all) pool.give(s);
    EXPECT_EQ(trim(pool, start), start + period);
    all.resize(30);
    for (auto& s : all) s = pool.take(0);   // thirty were needed meanwhile
    for (auto* s : all) pool.give(s);
    EXPECT_EQ(trim(pool, start + period / 2), start + period);
    EXPECT_EQ(pool.statistics().idle, 100U);
    auto const again = trim(pool, start + period);
    EXPECT_EQ(pool.statistics().idle, 46U);   // of the seventy others sixteen stay
    EXPECT_EQ(again, start + 2 * period);
    EXPECT_EQ(trim(pool, again), never);
    EXPECT_EQ(pool.statistics().idle, 16U);
    EXPECT_FALSE(pool.has_surplus());
    stack* const next = pool.take(0);
    EXPECT_EQ(next, all.back());   // the warmest have stayed
    pool.give(next);
}

TEST(stack_pool, STACK_POOL_4_closes_those_that_a_period_did_not_need_and_no_others) {
    auto const start = clock::now();
    stack_pool pool;
    std::vector<stack*> all(100);
    for (auto& s : all) s = pool.take(0);
    for (auto* s : all) pool.give(s);
    EXPECT_EQ(trim(pool, start), start + period);
    std::set<stack*> needed;
    for (int round = 0; round < 3; ++round) {
        std::vector<stack*> some(40);
        for (auto& s : some) s = pool.take(0), needed.insert(s);
        for (auto* s : some) pool.give(s);
    }
    EXPECT_EQ(needed.size(), 40U) << "the same each time";
    EXPECT_EQ(needed, std::set(all.begin() + 60, all.end())) << "those given last";
    trim(pool, start + period);
    std::set<stack*> warm;
    for (auto left = pool.statistics().idle; left > 0; --left) warm.insert(pool.take(0));
    EXPECT_EQ(warm, std::set(all.begin() + 44, all.end())) << "and the sixteen warmest of the others";
    for (auto* s : warm) pool.give(s);
}

TEST(stack_pool, STACK_POOL_3_unmaps_slabs_that_nobody_needed_for_a_period) {
    auto const start = clock::now();
    stack_pool pool({.warm_bytes = 1});
    std::vector<stack*> all(2000);
    for (auto& s : all) s = pool.take(16 * KiB);
    for (auto& s : all) touch(s->span.high - 1);
    auto const mapped = pool.statistics();
    EXPECT_GE(mapped.mapped_slots, 2000U);
    std::vector<stack*> const kept(all.end() - 3, all.end());
    all.resize(1997);
    pool.give_batch(all.data(), all.size());
    EXPECT_GT(trim(pool, start), start);
    EXPECT_EQ(pool.statistics().mapped_slots, mapped.mapped_slots);
    trim(pool, start + period);
    trim(pool, start + 2 * period);
    EXPECT_EQ(trim(pool, start + 3 * period), never);
    EXPECT_LE(pool.statistics().mapped_slots, 3 * 256U);
    EXPECT_LE(pool.statistics().mapped_bytes, mapped.mapped_bytes / 2);
    for (auto* s : kept) {
        touch(s->span.high - 1);
        pool.give(s);
    }
    for (auto& s : all) ASSERT_NE(s = pool.take(16 * KiB), nullptr);   // and maps again
    EXPECT_EQ(std::set<stack*>(all.begin(), all.end()).size(), all.size());
    pool.give_batch(all.data(), all.size());
}

TEST(stack_pool, what_is_idle_can_be_closed_at_once) {
    auto const start = clock::now();
    stack_pool pool({.warm_bytes = 1024 * KiB});
    std::vector<stack*> all(1000);
    for (auto& s : all) s = pool.take(16 * KiB);
    stack* const large = pool.take(256 * KiB);
    std::vector<stack*> const kept(all.end() - 3, all.end());
    all.resize(997);
    pool.give_batch(all.data(), all.size());
    EXPECT_GT(trim(pool, start), start);   // a period is under way
    pool.close_idle();
    auto const left = pool.statistics();
    EXPECT_EQ(left.in_use, 4U);
    EXPECT_EQ(left.idle, 0U);
    EXPECT_EQ(left.mapped_slots, 2 * 256U);   // the last three are of one slab
    EXPECT_FALSE(pool.has_surplus());
    for (auto* s : kept) {
        touch(s->span.high - 1);
        pool.give(s);
    }
    pool.give(large);
    trim(pool, start + period);   // of what there is now
    pool.close_idle();
    EXPECT_EQ(pool.statistics().mapped_slots, 0U);
    EXPECT_EQ(pool.statistics().mapped_bytes, 0U);
    stack* const again = pool.take(0);
    touch(again->span.high - 1);
    pool.give(again);
}

TEST(stack_pool, keeps_slabs_that_bursts_come_back_to) {
    auto const start = clock::now();
    stack_pool pool({.warm_bytes = 1});
    std::vector<stack*> all(2000);
    std::size_t mapped = 0;
    for (int burst = 0; burst < 20; ++burst) {
        for (auto& s : all) s = pool.take(16 * KiB);
        pool.give_batch(all.data(), all.size());
        if (burst == 0) mapped = pool.statistics().mapped_slots;
        trim(pool, start + burst * period / 4);
    }
    EXPECT_EQ(pool.statistics().mapped_slots, mapped);
}

TEST(stack_pool, stress_trimmed_while_threads_take_and_give) {
    stack_pool pool({.warm_bytes = 32 * 16 * KiB});
    std::atomic<int> at_work{2};
    auto const work = [&](unsigned seed) {
        std::minstd_rand random(seed);
        for (int burst = 0; burst < 20; ++burst) {
            std::vector<stack*> mine(random() % 700);
            for (auto& s : mine) {
                ASSERT_NE(s = pool.take(16 * KiB), nullptr);
                touch(s->span.high - 1);
                s->next = s;   // ours to write (STACK-1)
            }
            std::shuffle(mine.begin(), mine.end(), random);
            for (auto* s : mine) {
                ASSERT_EQ(s->next, s);
                pool.give(s);
            }
        }
        --at_work;
    };
    std::thread one(work, 1), two(work, 2);
    for (auto now = clock::now(); at_work > 0; now += period / 3) pool.trim(now, 10);   // time flies
    one.join();
    two.join();
    EXPECT_EQ(pool.statistics().in_use, 0U);
}

TEST(stack_pool, stress_threads_take_and_give_each_others_stacks) {
    stack_pool pool({.warm_bytes = 32 * 256 * KiB});
    auto const churn = [&](unsigned seed) {
        std::vector<stack*> mine;
        for (int n = 0; n < 5'000; ++n) {
            seed = seed * 1664525 + 1013904223;
            if (mine.size() < 100 && (seed >> 16) % 2 == 0) {
                stack* const s = pool.take((seed >> 20) % 3 == 0 ? 16 * KiB : 0);
                ASSERT_NE(s, nullptr);
                s->next = s;   // ours to write (STACK-1)
                touch(s->span.high - 1);
                mine.push_back(s);
            } else if (!mine.empty()) {
                std::swap(mine[(seed >> 8) % mine.size()], mine.back());
                ASSERT_EQ(mine.back()->next, mine.back());
                pool.give(mine.back());
                mine.pop_back();
            }
        }
        pool.give_batch(mine.data(), mine.size());
    };
    std::vector<std::thread> threads;
    for (unsigned n = 1; n <= 4; ++n) threads.emplace_back(churn, n);
    for (auto& t : threads) t.join();
    EXPECT_EQ(pool.statistics().in_use, 0U);
}

}  // namespace
}  // namespace weft::detail
