// block_pool_test.cpp - control blocks are reused, stay where they are, and are never given out twice.
#include "fiber/block_pool.hpp"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

#include "support/scale.hpp"

namespace weft::detail {
namespace {

void never_ready(wait_cell&) noexcept { std::abort(); }

class block_pools : public ::testing::Test {
protected:
    scheduler& nobody = *reinterpret_cast<scheduler*>(this);  // only its address is kept
    block_pool pool{nobody, never_ready};

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

TEST_F(block_pools, B2_reuse_blocks_and_do_not_grow) {
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

TEST_F(block_pools, B3_chains_are_whole_and_loose_blocks_become_one) {
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

TEST(fiber_state, names_differ) {
    std::set<std::string_view> names;
    for (int i = 0; i <= static_cast<int>(fiber_state::done); ++i)
        EXPECT_TRUE(names.insert(name(static_cast<fiber_state>(i))).second);
    EXPECT_FALSE(names.contains("?"));
}

TEST(control_block, keeps_47_bytes_of_a_name) {
    control_block b(never_ready);
    b.set_name(std::string(100, 'x'));
    EXPECT_EQ(b.name(), std::string(47, 'x'));
    b.set_name("short");
    EXPECT_EQ(b.name(), "short");
    b.set_name("");
    EXPECT_EQ(b.name(), "");
}

}  // namespace
}  // namespace weft::detail
