#include "sched/idle/preempted.hpp"

#include <gtest/gtest.h>

#include <sched.h>

#include <atomic>
#include <thread>
#include <vector>

#include "support/eventually.hpp"

namespace weft::test {
namespace {

void stay_on_this_cpu(const cpu_set_t& here) { ASSERT_EQ(::sched_setaffinity(0, sizeof here, &here), 0); }

cpu_set_t this_cpu() {
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(::sched_getcpu(), &here);
    return here;
}

// A thread that wakes gets the CPU of one that computes.
TEST(preempted, is_often_beside_others_that_wake_often_on_the_same_cpu) {
    const auto here = this_cpu();
    std::atomic<bool> over{false};
    std::vector<std::thread> others;
    for (int i = 0; i < 2; ++i)
        others.emplace_back([&] {
            stay_on_this_cpu(here);
            for (; !over; compute_for(std::chrono::microseconds(100)))
                std::this_thread::sleep_for(std::chrono::microseconds(300));
        });
    bool found = false;
    std::thread([&] {
        stay_on_this_cpu(here);
        detail::preempted loses;
        found = eventually([&] {
            compute_for(detail::preempted::window);
            return loses.is_often(detail::clock::now());
        });
    }).join();
    over = true;
    for (auto& other : others) other.join();
    EXPECT_TRUE(found);
}

TEST(preempted, is_not_often_where_the_thread_gives_the_cpu_up_by_itself) {
    std::thread([&] {
        detail::preempted loses;
        static_cast<void>(loses.is_often(detail::clock::now()));
        EXPECT_TRUE(eventually([&] {
            std::this_thread::sleep_for(2 * detail::preempted::window);
            return !loses.is_often(detail::clock::now());
        }));
    }).join();
}

}  // namespace
}  // namespace weft::test
