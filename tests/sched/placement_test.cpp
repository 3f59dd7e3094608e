// placement_test.cpp - the affinity of a carrier that sleeps, and afterwards.
#include <gtest/gtest.h>

#include <cstdio>
#include <thread>

#include "sched/placement.hpp"

namespace weft::detail {
namespace {

cpu_set_t only(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    return set;
}

cpu_set_t affinity() {
    cpu_set_t set;
    EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
    return set;
}

/// Each test changes the affinity of a thread of its own.
class placing : public ::testing::Test {
protected:
    void SetUp() override {
        while (!CPU_ISSET(first, &all)) ++first;
    }
    /// Says so where there are too few to test with.
    bool has_cpus(int n) const {
        const bool enough = CPU_COUNT(&all) >= n;
        if (!enough) std::printf("needs %d CPUs, there are %d: nothing tested\n", n, CPU_COUNT(&all));
        return enough;
    }
    template <class Body>
    static void on_a_thread(Body body) { std::thread(body).join(); }

    const cpu_set_t all = affinity();
    int first = 0;
};

TEST_F(placing, keeps_off_the_others_cpus_and_comes_back) {
    if (!has_cpus(2)) return;
    on_a_thread([&] {
        placement place;
        for (int i = 0; i < 3; ++i) {
            place.stay_off(only(first));
            const auto asleep = affinity();
            EXPECT_FALSE(CPU_ISSET(first, &asleep));
            EXPECT_EQ(CPU_COUNT(&asleep), CPU_COUNT(&all) - 1);
            EXPECT_NE(placement::here(), first);
            place.stay_anywhere();
            const auto after = affinity();
            EXPECT_TRUE(CPU_EQUAL(&after, &all));
        }
    });
}

TEST_F(placing, does_nothing_where_no_cpu_would_be_left) {
    on_a_thread([&] {
        placement place;
        place.stay_off(all);
        const auto asleep = affinity();
        EXPECT_TRUE(CPU_EQUAL(&asleep, &all));
        place.stay_anywhere();
        const auto mine = only(first);
        ASSERT_EQ(sched_setaffinity(0, sizeof mine, &mine), 0);
        place.stay_off(mine);
        const auto pinned = affinity();
        EXPECT_TRUE(CPU_EQUAL(&pinned, &mine));
        place.stay_anywhere();
        const auto after = affinity();
        EXPECT_TRUE(CPU_EQUAL(&after, &mine)) << "a thread its user has pinned stays pinned";
    });
}

TEST_F(placing, a_narrowed_thread_gets_its_own_affinity_back_not_more) {
    if (!has_cpus(3)) return;
    on_a_thread([&] {
        auto narrow = all;
        CPU_CLR(first, &narrow);
        ASSERT_EQ(sched_setaffinity(0, sizeof narrow, &narrow), 0);
        int second = first + 1;
        while (!CPU_ISSET(second, &narrow)) ++second;
        placement place;
        place.stay_off(only(second));
        place.stay_anywhere();
        const auto after = affinity();
        EXPECT_TRUE(CPU_EQUAL(&after, &narrow));
    });
}

}  // namespace
}  // namespace weft::detail
