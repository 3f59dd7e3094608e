// ring_test.cpp - the ring keeps order, loses nothing and gives nothing twice, also where its positions wrap.
#include "sched/ring.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "support/random.hpp"
#include "support/scale.hpp"

namespace weft::detail {
namespace {

struct item {
    std::atomic<int> taken{0};
};

using small_ring = ring<item, 4>;

/// Positions before the wrap at 2^32 by 0, 1, ... 5, and far from it.
class ring_from : public ::testing::TestWithParam<std::uint32_t> {
protected:
    small_ring r{GetParam()};
    small_ring::owner mine{r};
    small_ring::thief other{r};
    std::array<item, 8> items;
    std::array<item*, 8> out{};
};

INSTANTIATE_TEST_SUITE_P(ring, ring_from, ::testing::Values(0u, 1u, 0u - 1, 0u - 2, 0u - 3, 0u - 4, 0u - 5, 0x8000'0000u - 2));

TEST_P(ring_from, keeps_order_of_arrival) {
    for (int round = 0; round < 3; ++round) {
        for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(mine.push(items[i]));
        for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(mine.pop(), &items[i]);
        EXPECT_EQ(mine.pop(), nullptr);
    }
}

TEST_P(ring_from, Q2_refuses_more_than_its_capacity_and_has_room_after_a_pop) {
    for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(mine.push(items[i]));
    EXPECT_FALSE(mine.push(items[4]));
    EXPECT_EQ(r.size(), 4u);
    EXPECT_EQ(mine.pop(), &items[0]);
    EXPECT_TRUE(mine.push(items[4]));
    EXPECT_FALSE(mine.push(items[5]));
}

TEST_P(ring_from, Q3_size_counts_what_is_inside) {
    EXPECT_TRUE(r.empty());
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(r.size(), i);
        EXPECT_TRUE(mine.push(items[i]));
    }
    for (std::size_t i = 4; i > 0; --i) {
        EXPECT_EQ(r.size(), i);
        EXPECT_NE(mine.pop(), nullptr);
    }
    EXPECT_TRUE(r.empty());
}

TEST_P(ring_from, a_thief_takes_the_older_half_rounded_up) {
    for (std::size_t n = 1; n <= 4; ++n) {
        for (std::size_t i = 0; i < n; ++i) ASSERT_TRUE(mine.push(items[i]));
        const auto k = other.steal(out.data(), 8);
        EXPECT_EQ(k, (n + 1) / 2);
        for (std::size_t i = 0; i < k; ++i) EXPECT_EQ(out[i], &items[i]);
        for (std::size_t i = k; i < n; ++i) EXPECT_EQ(mine.pop(), &items[i]);
    }
    EXPECT_EQ(other.steal(out.data(), 8), 0u);
}

TEST_P(ring_from, a_thief_takes_no_more_than_it_has_room_for) {
    for (std::size_t i = 0; i < 4; ++i) ASSERT_TRUE(mine.push(items[i]));
    EXPECT_EQ(other.steal(out.data(), 1), 1u);
    EXPECT_EQ(r.size(), 3u);
}

TEST_P(ring_from, the_owner_takes_the_oldest_to_make_room) {
    for (std::size_t i = 0; i < 4; ++i) ASSERT_TRUE(mine.push(items[i]));
    EXPECT_EQ(mine.take(out.data(), 2), 2u);
    EXPECT_EQ(out[0], &items[0]);
    EXPECT_EQ(out[1], &items[1]);
    EXPECT_TRUE(mine.push(items[4]));
    EXPECT_EQ(mine.take(out.data(), 8), 3u);
    EXPECT_EQ(out[0], &items[2]);
    EXPECT_EQ(mine.take(out.data(), 8), 0u);
}

/// One owner, three thieves, each item marked by whoever takes it.
void every_item_is_taken_once(std::uint32_t first) {
    constexpr int count = test::scaled(200'000);
    const test::seed seed;
    std::vector<item> items(count);
    ring<item, 16> r(first);
    std::atomic<bool> over{false};
    std::atomic<int> taken{0};
    const auto mark = [&](item& i) {
        EXPECT_EQ(i.taken.fetch_add(1), 0);
        ++taken;
    };
    std::vector<std::thread> thieves;
    for (unsigned t = 0; t < 3; ++t)
        thieves.emplace_back([&, t] {
            auto random = seed.of(t + 1);
            std::array<item*, 8> loot{};
            while (!over) {
                const auto k = ring<item, 16>::thief(r).steal(loot.data(), 1 + test::below(random, 8));
                for (std::uint32_t i = 0; i < k; ++i) mark(*loot[i]);
                if (k == 0) std::this_thread::yield();
            }
        });
    ring<item, 16>::owner mine(r);
    auto random = seed.of(0);
    for (int i = 0; i < count;) {
        for (auto n = test::below(random, 20); n > 0 && i < count && mine.push(items[static_cast<std::size_t>(i)]); --n) ++i;
        for (auto n = test::below(random, 6); n > 0; --n)
            if (auto* const f = mine.pop()) mark(*f);
    }
    while (auto* const f = mine.pop()) mark(*f);
    while (taken != count) std::this_thread::yield();
    over = true;
    for (auto& t : thieves) t.join();
    EXPECT_TRUE(r.empty());
}

TEST(ring, Q4_one_winner_per_slot_stress) { every_item_is_taken_once(0); }
TEST(ring, Q4_one_winner_per_slot_across_the_wrap_stress) { every_item_is_taken_once(0u - test::scaled(100'000)); }

}  // namespace
}  // namespace weft::detail
