// hog_nice_test.cpp - threads of hogs weigh less if the user says so: which ones do, and that no worker is left on one that stays so.
#include <gtest/gtest.h>

#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <weft/runtime.hpp>

#include "support/eventually.hpp"
#include "support/nice_privilege.hpp"
#include "support/no_leaks.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

int nice_of(id_t thread) { return ::getpriority(PRIO_PROCESS, thread); }
int nice_here() { return nice_of(0); }

runtime_options nicer_by(int n) {
    return {.workers = 1, .time_slice = 2ms, .on_hog = [](const hog_report&) {}, .hog_nice = n};
}

bool all_threads_are(int nice) {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
        if (nice_of(static_cast<id_t>(std::stoul(task.path().filename()))) != nice) return false;
    return true;
}

/// Computes until it has been seen to be as nice as that, 10 s at most. \returns whether it was.
/// On a loaded machine a fiber may stand still as it begins, and lose its worker as one that blocks:
/// then it is judged anew only after its next call.
bool becomes(int nice) {
    const auto end = std::chrono::steady_clock::now() + 10s;
    auto next_call = std::chrono::steady_clock::now() + 500ms;
    while (nice_here() != nice) {
        const auto now = std::chrono::steady_clock::now();
        if (now > end) return nice_here() == nice;
        if (now < next_call) continue;
        this_fiber::yield();
        next_call = now + 500ms;
    }
    return true;
}

class hog_nice : public no_leaks {};

TEST_F(hog_nice, who_has_lost_its_worker_is_nicer_and_nobody_else) {
    const int usual = nice_here();
    watched_runtime rt(nicer_by(7));
    std::atomic<bool> over{false};
    auto hog = rt.spawn([&] {
        const bool did = becomes(usual + 7);
        over = true;
        return did;
    });
    rt.run([&] {
        while (!over) {
            EXPECT_EQ(nice_here(), usual);
            this_fiber::sleep_for(1ms);
        }
    });
    EXPECT_TRUE(hog.join());
    rt.run([&] { EXPECT_EQ(nice_here(), usual); });
}

TEST_F(hog_nice, a_carrier_of_one_fiber_alone_stays_as_it_is) {
    const int usual = nice_here();
    watched_runtime rt(nicer_by(7));
    auto alone = rt.spawn({.move = migrate::own_carrier}, [&] {
        for (const auto end = std::chrono::steady_clock::now() + 60ms; std::chrono::steady_clock::now() < end;) {}
        return nice_here();
    });
    EXPECT_EQ(alone.join(), usual);
}

TEST_F(hog_nice, zero_leaves_all_as_they_are) {
    const int usual = nice_here();
    watched_runtime rt(nicer_by(0));
    auto sleeper = rt.spawn([] { this_fiber::sleep_for(30ms); });
    auto hog = rt.spawn([&] {
        for (const auto end = std::chrono::steady_clock::now() + 60ms; std::chrono::steady_clock::now() < end;) {}
        return nice_here();
    });
    EXPECT_EQ(hog.join(), usual);
    sleeper.join();
}

[[noreturn]] void end(const char* wrong) {
    if (wrong) std::fprintf(stderr, "%s\n", wrong);
    std::_Exit(wrong ? 1 : 0);
}

[[noreturn]] void live_without_the_privilege() {
    const int usual = nice_here();
    if (!drop_nice_privilege()) end("the privilege cannot be dropped");
    runtime rt(nicer_by(7));
    for (int round = 0; round < 3; ++round) {
        std::atomic<int> to_come{4};
        std::vector<fiber<bool>> hogs;
        for (int i = 0; i < 4; ++i)
            hogs.push_back(rt.spawn([&] {
                const bool did = becomes(usual + 7);
                --to_come;
                return did;
            }));
        bool as_usual = true;
        rt.run([&] {
            while (to_come > 0) {
                as_usual = as_usual && nice_here() == usual;
                this_fiber::sleep_for(1ms);
            }
        });
        for (auto& h : hogs)
            if (!h.join()) end("a hog was not made nicer");
        if (!as_usual) end("a worker was");
        if (!eventually([&] { return all_threads_are(usual); })) end("a nice thread has stayed");
    }
    end(nullptr);
}

TEST(hog_nice_death, threads_that_stay_nice_end_and_no_worker_runs_on_one) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(live_without_the_privilege(), ::testing::ExitedWithCode(0), "");
}

[[noreturn]] void live_in_a_nice_process() {
    if (::setpriority(PRIO_PROCESS, 0, 5) != 0) end("the process cannot be made nice");
    for (const unsigned workers : {8u, 1u}) {
        auto o = nicer_by(19);
        o.workers = workers;
        runtime rt(std::move(o));
        std::atomic<unsigned> arrived{0};
        std::vector<fiber<>> all;
        for (unsigned i = 0; i < workers; ++i) all.push_back(rt.spawn([&] { ++arrived; }));
        for (auto& f : all) f.join();
        if (!eventually([] { return all_threads_are(5); })) end("a thread is as the process was not");
        std::atomic<bool> over{false};
        auto hogs = std::vector<fiber<bool>>();
        for (unsigned i = 0; i < workers; ++i) hogs.push_back(rt.spawn([] { return becomes(19); }));
        auto ticks = rt.spawn([&] {
            while (!over) this_fiber::sleep_for(1ms);
        });
        for (auto& h : hogs)
            if (!h.join()) end("a hog did not become as nice as can be");
        over = true;
        ticks.join();
    }
    end(nullptr);
}

TEST(hog_nice_death, threads_are_as_the_process_was_and_no_nicer_than_can_be) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(live_in_a_nice_process(), ::testing::ExitedWithCode(0), "");
}

TEST_F(hog_nice, that_makes_no_sense_is_refused_by_name) {
    for (const int n : {-1, 20}) {
        try {
            runtime rt(nicer_by(n));
            ADD_FAILURE() << n;
        } catch (const std::invalid_argument& e) {
            EXPECT_EQ(e.what(), "weft: runtime_options::hog_nice must be 0 (as other threads) to 19, not " + std::to_string(n));
        }
    }
}

TEST_F(hog_nice, the_environment_overrides) {
    const int usual = nice_here();
    ::setenv("WEFT_HOG_NICE", "3", 1);
    watched_runtime rt(nicer_by(0));
    ::unsetenv("WEFT_HOG_NICE");
    std::atomic<bool> over{false};
    auto hog = rt.spawn([&] {
        const bool did = becomes(usual + 3);
        over = true;
        return did;
    });
    rt.run([&] {
        while (!over) this_fiber::sleep_for(1ms);
    });
    EXPECT_TRUE(hog.join());
}

}  // namespace
}  // namespace weft::test
