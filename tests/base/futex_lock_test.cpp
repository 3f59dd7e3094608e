// futex_lock_test.cpp - the lock on real threads and the real futex; tests/model has every schedule of a few.
#include "base/futex_lock.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace weft::detail {
namespace {

void expect_free(futex_lock& lock) {
    if (lock.try_lock()) lock.unlock();
    else ADD_FAILURE() << "somebody has left it taken";
}

TEST(futex_lock, FUTEX_LOCK_1_stress_every_update_counts) {
    futex_lock lock;
    constexpr unsigned threads = 8, rounds = 20'000;
    unsigned count = 0;
    {
        std::vector<std::jthread> all;
        for (unsigned i = 0; i < threads; ++i)
            all.emplace_back([&] {
                for (unsigned n = 0; n < rounds; ++n) {
                    const std::lock_guard guard(lock);
                    ++count;
                }
            });
    }
    EXPECT_EQ(count, threads * rounds);
}

// All of them sleep for one that holds it, and the wake of each comes from the one before.
TEST(futex_lock, FUTEX_LOCK_3_all_who_sleep_get_it_in_the_end) {
    futex_lock lock;
    std::atomic<unsigned> about_to_wait{0};
    unsigned count = 0;
    lock.lock();
    {
        std::array<std::jthread, 6> all;
        for (auto& t : all)
            t = std::jthread([&] {
                ++about_to_wait;
                const std::lock_guard guard(lock);
                ++count;
            });
        while (about_to_wait < all.size()) std::this_thread::yield();
        EXPECT_FALSE(lock.try_lock());
        EXPECT_EQ(count, 0U);
        lock.unlock();
    }
    EXPECT_EQ(count, 6U);
    expect_free(lock);
}

TEST(futex_lock, is_four_bytes_and_made_at_compile_time) {
    static constinit futex_lock lock;
    static_assert(sizeof lock == 4);
    expect_free(lock);
}

}  // namespace
}  // namespace weft::detail
