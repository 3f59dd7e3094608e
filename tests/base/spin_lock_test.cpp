// spin_lock_test.cpp - base/spin_lock.hpp on real threads; every schedule of a few is tests/model/spin_lock_model.cpp.
#include "base/spin_lock.hpp"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

namespace weft::detail {
namespace {

TEST(spin_lock, try_lock_tells_whether_it_is_held) {
    spin_lock lock;
    ASSERT_TRUE(lock.try_lock());
    EXPECT_FALSE(lock.try_lock());
    lock.unlock();
    EXPECT_TRUE(lock.try_lock());
    lock.unlock();
}

TEST(spin_lock, L1_no_update_is_lost_with_more_threads_than_cores_stress) {
    constexpr int threads = 8, rounds = 5'000;
    spin_lock lock;
    long count = 0;
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t)
        all.emplace_back([&] {
            for (int i = 0; i < rounds; ++i) {
                const std::lock_guard guard(lock);
                ++count;
            }
        });
    for (auto& t : all) t.join();
    EXPECT_EQ(count, long{threads} * rounds);
}

}  // namespace
}  // namespace weft::detail
