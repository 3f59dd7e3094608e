// block_pool_test.cpp - control blocks are reused, stay where they are, and are never given out twice.
#include "fiber/block_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "support/scale.hpp"

namespace weft::detail {
namespace {

class block_pools : public ::testing::Test {
protected:
    scheduler& nobody = *reinterpret_cast<scheduler*>(this);  // only its address is kept
    block_pool pool{nobody};

    std::size_t made() {
        std::size_t n = 0;
        pool.for_each([&](control_block&) { ++n; });
        return n;
    }
};

TEST_F(block_pools, give_a_block_to_one_taker_at_a_time) {
    block_cache mine(pool), other(pool);
    std::set<control_block*> seen;
    for (int i = 0; i < 1000; ++i) EXPECT_TRUE(seen.insert((i % 3 ? mine : other).take()).second);
    for (auto* b : seen) mine.give(*b);
}

TEST_F(block_pools, seed_L11_BLOCK_POOL_2_reuse_blocks_and_do_not_grow) {
    block_cache cache(pool);
    std::vector<control_block*> blocks(700);
    for (auto& b : blocks) b = cache.take();
    for (auto* b : blocks) cache.give(*b);
    const auto before = made();
    EXPECT_GE(before, blocks.size());
    for (int round = 0; round < 20; ++round) {
        for (auto& b : blocks) b = cache.take();
        for (auto* b : blocks) cache.give(*b);
    }
    EXPECT_EQ(made(), before);
}

TEST_F(block_pools, give_the_block_that_came_back_last_first) {
    block_cache cache(pool);
    auto* const b = cache.take();
    cache.give(*b);
    EXPECT_EQ(cache.take(), b);
    cache.give(*b);
}

TEST_F(block_pools, what_a_cache_gives_back_another_can_take) {
    std::set<control_block*> first;
    {
        block_cache cache(pool);
        for (int i = 0; i < 256; ++i) first.insert(cache.take());
        for (auto* b : first) cache.give(*b);
    }
    block_cache cache(pool);
    std::vector<control_block*> again;
    for (int i = 0; i < 256; ++i) again.push_back(cache.take());
    for (auto* b : again) {
        EXPECT_TRUE(first.contains(b));
        cache.give(*b);
    }
    EXPECT_EQ(made(), 256u);
}

TEST_F(block_pools, BLOCK_POOL_3_chains_are_whole_and_loose_blocks_become_one) {
    auto* const chain = pool.take_chain();
    std::size_t n = 0;
    for (auto* b = chain; b; b = b->link) ++n;
    EXPECT_EQ(n, block_pool::chain_blocks);
    pool.give_chain(chain);
    std::vector<control_block*> loose(256);
    for (auto& b : loose) b = &pool.take_one();
    EXPECT_EQ(std::set<control_block*>(loose.begin(), loose.end()).size(), 256u);
    for (auto* b : loose) pool.give_one(*b);
    std::vector<control_block*> chains(4);
    for (auto& c : chains) c = pool.take_chain();
    for (auto* c : chains) {
        n = 0;
        for (auto* b = c; b; b = b->link) ++n;
        EXPECT_EQ(n, block_pool::chain_blocks);
        pool.give_chain(c);
    }
    EXPECT_EQ(made(), 256u);
}

TEST_F(block_pools, know_the_owner_of_each_block_and_number_them) {
    std::set<std::uint32_t> indices;
    auto& one = pool.take_one();
    pool.for_each([&](control_block& b) {
        EXPECT_EQ(b.owner, &nobody);
        EXPECT_TRUE(indices.insert(b.index).second);
        EXPECT_EQ(state_of(b), fiber_state::free);
    });
    EXPECT_EQ(indices.size(), 256u);
    pool.give_one(one);
}

// ---- giving memory back

constexpr auto period = low_water::period;
constexpr std::size_t all_chains = 1'000'000;

class trimmed_pools : public block_pools {
protected:
    void take(std::size_t chains) {
        while (chains-- > 0) taken.push_back(pool.take_chain());
    }
    void give_all() {
        for (auto* c : taken) pool.give_chain(c);
        taken.clear();
    }
    /// As a worker would: until there is nothing more to do for now.
    time_point trim(time_point at, std::size_t chains = all_chains) {
        time_point again = at;
        while (again <= at) again = pool.trim(at, chains);
        return again;
    }
    std::vector<control_block*> taken;
    const time_point start = clock::now();
};

TEST_F(trimmed_pools, keep_what_is_little) {
    take(10);
    give_all();
    EXPECT_FALSE(pool.has_surplus());
    EXPECT_EQ(trim(start), never);
    EXPECT_EQ(trim(start + period), never);
    EXPECT_EQ(pool.statistics().absent, 0u);
}

TEST_F(trimmed_pools, give_back_what_was_not_needed_for_a_period_and_not_before) {
    take(100);
    give_all();
    EXPECT_TRUE(pool.has_surplus());
    EXPECT_EQ(trim(start), start + period);
    EXPECT_EQ(trim(start + period / 2), start + period);
    EXPECT_EQ(pool.statistics().absent, 0u);
    EXPECT_EQ(trim(start + period), never);
    EXPECT_EQ(pool.statistics().made, 6400u);
    EXPECT_EQ(pool.statistics().absent, (100u - 16u) * 64u);
    EXPECT_FALSE(pool.has_surplus());
}

TEST_F(trimmed_pools, keep_what_was_needed_within_the_period) {
    take(100);
    give_all();
    trim(start);
    for (int burst = 1; burst < 20; ++burst) {
        take(95);
        give_all();
        EXPECT_GT(trim(start + burst * period / 4), start + burst * period / 4);
    }
    EXPECT_EQ(pool.statistics().absent, 0u);
}

TEST_F(trimmed_pools, give_back_a_part_per_call) {
    take(100);
    give_all();
    trim(start);
    const auto end = start + period;
    EXPECT_EQ(pool.trim(end, 20), end);
    EXPECT_EQ(pool.statistics().absent, 4u * 64u);
    auto* const meanwhile = pool.take_chain();  // the pool is open in between
    EXPECT_EQ(trim(end), never);
    EXPECT_EQ(pool.statistics().absent, (99u - 16u) * 64u);
    pool.give_chain(meanwhile);
}

TEST_F(trimmed_pools, BLOCK_POOL_4_BLOCK_POOL_5_blocks_come_back_where_they_were_and_go_on_counting) {
    take(100);
    std::set<control_block*> before;
    std::set<std::uint32_t> indices;
    for (auto* chain : taken)
        for (auto* b = chain; b; b = b->link) {
            b->generation.store(7, relaxed);
            b->waited = waits::before;
            for (int i = 0; i < 3; ++i) {
                const auto ticket = b->cold().word.begin(interruptible::no);
                EXPECT_TRUE(b->cold().word.claim(ticket));
                b->cold().word.end_claimed();
            }
            before.insert(b);
            indices.insert(b->index);
        }
    give_all();
    trim(start);
    trim(start + period);
    std::size_t absent = 0;
    for (auto* b : before) {  // who comes late
        absent += b->generation.load(relaxed) == 0;
        EXPECT_EQ(state_of(*b), fiber_state::free);
        for (wait_ticket t = 1; t < 6; ++t) EXPECT_FALSE(b->cold().word.claim(t));
        EXPECT_FALSE(b->cold().word.interruptible_ticket());
    }
    EXPECT_EQ(absent, pool.statistics().absent);
    std::size_t seen = 0;
    pool.for_each([&](control_block& b) { seen += before.contains(&b); });
    EXPECT_EQ(seen + absent, before.size());

    take(100);
    EXPECT_EQ(pool.statistics().made, 6400u);
    EXPECT_EQ(pool.statistics().absent, 0u);
    for (auto* chain : taken) {
        std::size_t n = 0;
        for (auto* b = chain; b; b = b->link, ++n) {
            EXPECT_EQ(before.erase(b), 1u);
            EXPECT_EQ(indices.erase(b->index), 1u);
            EXPECT_EQ(b->owner, &nobody);
            EXPECT_GE(b->generation.load(relaxed), 7u);
            EXPECT_GE(b->cold().word.begin(interruptible::no), 4u);
            EXPECT_TRUE(b->cold().word.claim(b->cold().word.last_ticket()));
            b->cold().word.end_claimed();
        }
        EXPECT_EQ(n, block_pool::chain_blocks);
    }
    EXPECT_TRUE(before.empty());
    give_all();
}

TEST_F(trimmed_pools, BLOCK_POOL_6_blocks_in_use_keep_their_leaf_only) {
    take(100);
    std::vector<control_block*> kept, rest;
    for (auto* chain : taken)
        for (auto* b = chain; b; b = b->link) (b == chain && kept.size() < 10 ? kept : rest).push_back(b);
    taken.clear();
    std::shuffle(rest.begin(), rest.end(), std::minstd_rand(5));
    for (auto* b : rest) pool.give_one(*b);
    trim(start);
    trim(start + period);
    EXPECT_EQ(pool.statistics().absent, (100u - 10u - 16u) * 64u);
    take(90);  // the ten leaves in part, and all the others but some
    EXPECT_EQ(pool.statistics().made, 6400u);
    for (auto* b : kept) pool.give_one(*b);
    give_all();
}

TEST_F(trimmed_pools, a_cache_is_emptied_out_into_the_leaves) {
    {
        block_cache cache(pool);
        std::vector<control_block*> blocks(100);
        for (auto& b : blocks) b = cache.take();
        for (auto* b : blocks) cache.give(*b);
        cache.empty_out();
        cache.give(*cache.take());
        cache.empty_out();
    }
    EXPECT_EQ(made(), 256u);
}

TEST_F(block_pools, serve_several_threads_stress) {
    constexpr int rounds = test::scaled(20'000);
    const auto work = [&] {
        block_cache cache(pool);
        std::vector<control_block*> held;
        for (int i = 0; i < rounds; ++i) {
            if (held.size() < 300 && i % 7 != 0) {
                held.push_back(cache.take());
                ASSERT_FALSE(std::exchange(held.back()->told, true));  // `told` marks it as taken here
            } else if (!held.empty()) {
                held.back()->told = false;
                cache.give(*held.back());
                held.pop_back();
            }
        }
        for (auto* b : held) {
            b->told = false;
            cache.give(*b);
        }
    };
    std::thread other(work);
    work();
    other.join();
}

TEST_F(block_pools, are_trimmed_while_threads_take_and_give_stress) {
    std::atomic<int> at_work{2};
    const auto work = [&](unsigned seed) {
        std::minstd_rand random(seed);
        block_cache cache(pool);
        for (int burst = 0; burst < test::scaled(40, 4); ++burst) {
            std::vector<control_block*> held;
            for (auto n = random() % 3000; n > 0; --n) {
                held.push_back(cache.take());
                ASSERT_FALSE(std::exchange(held.back()->told, true));  // `told` marks it as taken here
                held.back()->generation.fetch_add(1, relaxed);
            }
            std::shuffle(held.begin(), held.end(), random);
            for (auto* b : held) {
                b->told = false;
                cache.give(*b);
            }
            if (random() % 4 == 0) cache.empty_out();
        }
        --at_work;
    };
    std::thread one(work, 1), two(work, 2);
    auto now = clock::now();
    std::size_t absent = 0;
    while (at_work > 0) {  // time flies
        now += period / 3;
        pool.trim(now, 10);
        absent = std::max(absent, pool.statistics().absent);
        pool.for_each([](control_block& b) { static_cast<void>(state_of(b)); });
    }
    one.join();
    two.join();
    std::printf("%zu of %zu blocks absent at most\n", absent, pool.statistics().made);
}

TEST(fiber_state, names_differ) {
    std::set<std::string_view> names;
    for (int i = 0; i <= static_cast<int>(fiber_state::done); ++i)
        EXPECT_TRUE(names.insert(name(static_cast<fiber_state>(i))).second);
    EXPECT_FALSE(names.contains("?"));
}

TEST_F(block_pools, keep_47_bytes_of_a_name) {
    auto& b = pool.take_one();
    b.set_name(std::string(100, 'x'));
    EXPECT_EQ(b.name(), std::string(47, 'x'));
    b.set_name("short");
    EXPECT_EQ(b.name(), "short");
    b.set_name("");
    EXPECT_EQ(b.name(), "");
    pool.give_one(b);
}

}  // namespace
}  // namespace weft::detail
