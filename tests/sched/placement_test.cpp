// placement_test.cpp - the affinity of a carrier that sleeps, and afterwards.
#include <gtest/gtest.h>

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#include "sched/idle/placement.hpp"

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

void set_affinity(pid_t thread, const cpu_set_t& set) { EXPECT_EQ(sched_setaffinity(thread, sizeof set, &set), 0); }

/// A thread that does nothing, as the monitor in a runtime.
class idle_thread {
public:
    idle_thread() : thread_([this](std::stop_token stop) {
        id_ = ::gettid();
        id_.notify_all();
        while (!stop.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }) {
        id_.wait(0);
    }
    pid_t id() const { return id_; }

private:
    std::atomic<pid_t> id_{0};
    std::jthread thread_;
};

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
    static bool runs_on(const cpu_set_t& these) {
        const auto now = affinity();
        return CPU_EQUAL(&now, &these);
    }
    template <class Body>
    static void on_a_thread(Body body) { std::thread(body).join(); }

    const cpu_set_t all = affinity();
    const idle_thread reference;
    int first = 0;
};

TEST_F(placing, keeps_off_the_others_cpus_and_comes_back) {
    if (!has_cpus(2)) return;
    on_a_thread([&] {
        placement place;
        for (int i = 0; i < 3; ++i) {
            place.stay_off(only(first), reference.id());
            const auto asleep = affinity();
            EXPECT_FALSE(CPU_ISSET(first, &asleep));
            EXPECT_EQ(CPU_COUNT(&asleep), CPU_COUNT(&all) - 1);
            EXPECT_NE(placement::here(), first);
            place.stay_anywhere();
            EXPECT_TRUE(runs_on(all));
        }
    });
}

TEST_F(placing, does_nothing_where_no_cpu_would_be_left) {
    on_a_thread([&] {
        placement place;
        place.stay_off(all, reference.id());
        const auto asleep = affinity();
        EXPECT_TRUE(CPU_EQUAL(&asleep, &all));
        place.stay_anywhere();
        const auto mine = only(first);
        ASSERT_EQ(sched_setaffinity(0, sizeof mine, &mine), 0);
        place.stay_off(mine, reference.id());
        EXPECT_TRUE(runs_on(mine));
        place.stay_anywhere();
        EXPECT_TRUE(runs_on(mine)) << "a thread its user has pinned stays pinned";
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
        place.stay_off(only(second), reference.id());
        place.stay_anywhere();
        EXPECT_TRUE(runs_on(narrow));
    });
}

// What `taskset -acp` does while the thread sleeps, with just the mask that it has given itself.
TEST_F(placing, an_administrators_mask_stays_though_it_is_the_sleepers_own) {
    if (!has_cpus(2)) return;
    on_a_thread([&] {
        placement place;
        for (int i = 0; i < 3; ++i) {
            place.stay_off(only(first), reference.id());
            const auto asleep = affinity();
            set_affinity(reference.id(), asleep);
            set_affinity(0, asleep);
            place.stay_anywhere();
            EXPECT_TRUE(runs_on(asleep));
            place.stay_off(only(first), reference.id());
            EXPECT_TRUE(runs_on(asleep));
            place.stay_anywhere();

            set_affinity(reference.id(), all);  // and takes it back
            set_affinity(0, all);
            place.stay_off(only(first), reference.id());
            place.stay_anywhere();
            EXPECT_TRUE(runs_on(all));
        }
    });
}

// The thread changes its mask between the settings of the reference and of its own, or has just undone it.
TEST_F(placing, an_administrators_mask_is_followed_if_only_the_reference_has_it_yet) {
    if (!has_cpus(2)) return;
    on_a_thread([&] {
        placement place;
        place.stay_off(only(first), reference.id());
        set_affinity(reference.id(), only(first));
        place.stay_anywhere();
        const auto awake = affinity();
        const auto wanted = only(first);
        EXPECT_TRUE(CPU_EQUAL(&awake, &wanted));
        set_affinity(reference.id(), all);
        place.stay_off(only(first), reference.id());
        const auto follows = affinity();
        EXPECT_TRUE(CPU_EQUAL(&follows, &all));
    });
}

TEST_F(placing, does_nothing_without_a_reference) {
    on_a_thread([&] {
        placement place;
        place.stay_off(only(first), 0);
        const auto asleep = affinity();
        EXPECT_TRUE(CPU_EQUAL(&asleep, &all));
        place.stay_anywhere();
    });
}

}  // namespace
}  // namespace weft::detail
