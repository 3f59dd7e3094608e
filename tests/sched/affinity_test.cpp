// affinity_test.cpp - an administrator's `taskset -acp` on a running program stays, whatever carriers do with their own masks meanwhile.
#include <gtest/gtest.h>

#include <sched.h>
#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <weft/fiber.hpp>
#include <weft/runtime.hpp>

#include "support/eventually.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

cpu_set_t mask_of(pid_t thread) {
    cpu_set_t set;
    CPU_ZERO(&set);
    ::sched_getaffinity(thread, sizeof set, &set);
    return set;
}

std::vector<pid_t> threads() {
    std::vector<pid_t> all;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) all.push_back(std::stoi(entry.path().filename()));
    return all;  // in the order of the system, which lists the oldest first
}

// As taskset does: the oldest thread first, and again where threads have begun meanwhile.
void put_all_on(const cpu_set_t& set) {
    std::vector<pid_t> done;
    for (auto now = threads(); now != done; now = threads()) {
        for (const pid_t t : now) ::sched_setaffinity(t, sizeof set, &set);
        done = now;
    }
}

bool is_within(const cpu_set_t& some, const cpu_set_t& all) {
    cpu_set_t common;
    CPU_AND(&common, &some, &all);
    return CPU_EQUAL(&common, &some) != 0;
}

bool all_are_on(const cpu_set_t& set) {
    for (const pid_t t : threads())
        if (!is_within(mask_of(t), set)) return false;
    return true;
}

// A carrier that was about to set its own mask undoes the new one for as long as it takes to look
// again (PLACEMENT-3), longer if it loses its CPU there. What stays is seen in four looks in a row.
bool all_stay_on(const cpu_set_t& set) {
    int in_a_row = 0;
    return eventually([&] {
        std::this_thread::sleep_for(1ms);
        in_a_row = all_are_on(set) ? in_a_row + 1 : 0;
        return in_a_row == 4;
    });
}

TEST(affinity, E_of_all_threads_set_from_outside_stays) {
    const cpu_set_t all = mask_of(0);
    if (CPU_COUNT(&all) < 2) {
        std::printf("needs 2 CPUs: nothing tested\n");
        return;
    }
    std::vector<int> cpus;
    for (int i = 0; i < CPU_SETSIZE; ++i)
        if (CPU_ISSET(i, &all)) cpus.push_back(i);
    runtime rt({.workers = static_cast<unsigned>(std::min<std::size_t>(cpus.size(), 4))});
    std::atomic<bool> over{false};
    std::vector<fiber<>> busy;
    for (int i = 0; i < 6; ++i)
        busy.push_back(rt.spawn([&over, i] {
            while (!over) {
                this_fiber::sleep_for(std::chrono::microseconds(200 + 300 * i));
                if (i % 2 == 0) compute_for(50us);
            }
        }));
    int undone = 0;
    for (int round = 0; round < 30 && undone == 0; ++round) {
        std::this_thread::sleep_for(std::chrono::microseconds(1500 + 137 * round));
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpus[static_cast<std::size_t>(round) % cpus.size()], &one);
        put_all_on(one);
        undone += !all_stay_on(one);
        put_all_on(all);
    }
    EXPECT_EQ(undone, 0);
    std::this_thread::sleep_for(5ms);
    over = true;
    for (auto& b : busy) b.join();
    for (int i = 0; i < 100; ++i) {  // what was taken back is back: nobody is left on one CPU but to sleep
        int narrow = 0;
        rt.run([&] {
            narrow += CPU_COUNT(&all) != [] {
                const auto now = mask_of(0);
                return CPU_COUNT(&now);
            }();
        });
        EXPECT_EQ(narrow, 0);
    }
}

}  // namespace
}  // namespace weft::test
