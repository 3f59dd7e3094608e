// spin_lock_test.cpp - base/spin_lock.hpp and hot_lock.hpp on real threads; all schedules: tests/model/spin_lock_model.cpp.
#include "base/spin_lock.hpp"
#include "base/hot_lock.hpp"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

namespace weft::detail {
namespace {

template <class Lock>
class spinning : public testing::Test {};
using locks = testing::Types<spin_lock, hot_lock>;
TYPED_TEST_SUITE(spinning, locks);

TYPED_TEST(spinning, try_lock_tells_whether_it_is_held) {
    TypeParam lock;
    ASSERT_TRUE(lock.try_lock());
    EXPECT_FALSE(lock.try_lock());
    lock.unlock();
    EXPECT_TRUE(lock.try_lock());
    lock.unlock();
}

TYPED_TEST(spinning, SPIN_LOCK_1_no_update_is_lost_with_more_threads_than_cores_stress) {
    constexpr int threads = 8, rounds = 5'000;
    TypeParam lock;
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
