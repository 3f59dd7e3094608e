// shutdown_test.cpp - a runtime ends though its fibers sleep, wait, start others or take their time.
#include <weft/runtime.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <vector>

#include <weft/scope.hpp>

#include "support/baton.hpp"
#include "support/eventually.hpp"
#include "support/no_leaks.hpp"
#include "support/scale.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

using steady = std::chrono::steady_clock;

class ending_runtimes : public on_workers {
protected:
    ~ending_runtimes() override { EXPECT_LT(steady::now() - start, 4s) << "nobody had to wait for the second request"; }
    const steady::time_point start = steady::now();
};
WEFT_ON_1_2_4_8_WORKERS(ending_runtimes);

TEST_P(ending_runtimes, stop_sleepers) {
    std::atomic<int> unwound{0};
    {
        watched_runtime rt(GetParam());
        for (int i = 0; i < 100; ++i)
            rt.spawn_detached([&] {
                struct at_end {
                    std::atomic<int>& n;
                    ~at_end() { ++n; }
                } const guard{unwound};
                this_fiber::sleep_for(1h);
            });
    }
    EXPECT_EQ(unwound, 100);
}

TEST_P(ending_runtimes, stop_fibers_that_wait_for_each_other) {
    watched_runtime rt(GetParam());
    rt.spawn_detached([] {
        auto a = spawn([] { this_fiber::sleep_for(1h); });
        auto b = spawn([&] { static_cast<void>(a.join_for(1h)); });
        with_scope([&](scope& s) { s.spawn([&] { b.join(); }); });
    });
    rt.spawn_detached([] {
        baton never_posted;
        never_posted.take();
    });
    std::this_thread::sleep_for(2ms);
}

TEST_P(ending_runtimes, run_bodies_that_have_not_begun) {
    std::atomic<int> ran{0};
    {
        watched_runtime rt(GetParam());
        for (int i = 0; i < 500; ++i) rt.spawn_detached([&] { ++ran; });
    }
    EXPECT_EQ(ran, 500);
}

TEST_P(ending_runtimes, stop_fibers_that_are_born_meanwhile) {
    std::atomic<int> late{0};
    {
        watched_runtime rt(GetParam());
        for (int i = 0; i < 20; ++i)
            rt.spawn_detached([&] {
                try {
                    this_fiber::sleep_for(1h);
                } catch (const cancelled&) {
                    spawn_detached([&] {
                        ++late;
                        this_fiber::sleep_for(1h);
                    });
                }
            });
        std::this_thread::sleep_for(2ms);
    }
    EXPECT_EQ(late, 20);
}

TEST_P(ending_runtimes, stop_chains_of_fibers_that_start_their_successors) {
    std::function<void()> link = [&] {
        this_fiber::yield();  // ends the chain, once stopped
        spawn_detached(link);
    };
    watched_runtime rt(GetParam());
    for (int i = 0; i < 10; ++i) rt.spawn_detached(link);
    std::this_thread::sleep_for(3ms);
    EXPECT_TRUE(rt.shutdown(10s));
}

TEST_P(ending_runtimes, wait_for_fibers_that_clean_up) {
    std::atomic<bool> cleaned{false};
    {
        watched_runtime rt(GetParam());
        rt.spawn_detached([&] {
            try {
                this_fiber::sleep_for(1h);
            } catch (const cancelled&) {
                const shield while_cleaning;
                this_fiber::sleep_for(20ms);
                cleaned = true;
            }
        });
        std::this_thread::sleep_for(2ms);
    }
    EXPECT_TRUE(cleaned);
}

TEST_P(ending_runtimes, shutdown_tells_whether_all_have_ended_and_names_stragglers) {
    watched_runtime rt({.workers = GetParam(), .name = "tests"});
    std::atomic<bool> go{false};
    rt.spawn_detached({.name = "straggler"}, [&] {
        const shield stubborn;
        while (!go) this_fiber::sleep_for(1ms);
    });
    ::testing::internal::CaptureStderr();
    EXPECT_FALSE(rt.shutdown(10ms));
    const auto printed = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(printed.find("\"tests\""), std::string::npos) << printed;
    EXPECT_NE(printed.find("straggler"), std::string::npos) << printed;
    EXPECT_NE(printed.find("shutdown_test"), std::string::npos) << printed;
    go = true;
    EXPECT_TRUE(rt.shutdown(10s));
    EXPECT_TRUE(rt.shutdown(0s));
}

TEST_P(ending_runtimes, joiners_on_plain_threads_go_on) {
    watched_runtime rt(GetParam());
    std::vector<std::thread> joiners;
    for (int i = 0; i < 5; ++i)
        joiners.emplace_back([f = rt.spawn([] { this_fiber::sleep_for(1h); })]() mutable { EXPECT_THROW(f.join(), fiber_cancelled); });
    std::this_thread::sleep_for(1ms);
    EXPECT_TRUE(rt.shutdown(10s));
    for (auto& t : joiners) t.join();
}

TEST_P(ending_runtimes, are_not_kept_by_handles_that_were_joined) {
    fiber<int> moved;
    watched_runtime rt(GetParam());
    moved = rt.spawn([] { return 1; });
    EXPECT_EQ(moved.join(), 1);
}

TEST(ending_death, a_fiber_does_not_end_its_own_runtime) {
    EXPECT_DEATH(
        {
            auto rt = std::make_unique<runtime>(runtime_options{.workers = 1});
            rt->run([&] { rt.reset(); });
        },
        "by one of its own fibers");
    EXPECT_DEATH(run([] { static_cast<void>(runtime::current()->shutdown(10s)); }), "by one of its own fibers");
}

}  // namespace
}  // namespace weft::test
