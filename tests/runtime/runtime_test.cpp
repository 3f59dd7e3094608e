// runtime_test.cpp - runtimes start, end, coexist and describe themselves; bad options are named.
#include <weft/runtime.hpp>

#include <gtest/gtest.h>

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <weft/scope.hpp>

#include "support/eventually.hpp"
#include "support/no_leaks.hpp"
#include "support/own_quota.hpp"
#include "support/scale.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

class runtimes : public on_workers {};
WEFT_ON_1_2_4_8_WORKERS(runtimes);

TEST_P(runtimes, start_and_stop_many_times) {
    for (int i = 0; i < scaled(200, 5); ++i) {
        watched_runtime rt(GetParam());
        EXPECT_TRUE(i % 2 == 0 || rt.run([i] { return i; }) == i);
    }
}

TEST_P(runtimes, run_returns_or_rethrows) {
    EXPECT_EQ(run([] { return 1; }, {.workers = GetParam()}), 1);
    EXPECT_THROW(run([] { throw std::runtime_error("x"); }, {.workers = GetParam()}), std::runtime_error);
    run([] {}, {.workers = GetParam()});
    EXPECT_EQ(*run([] { return std::make_unique<int>(2); }, {.workers = GetParam()}), 2);
}

TEST_P(runtimes, run_gives_its_main_fiber_the_attributes_asked_for) {
    const auto uses_a_stack_of_4_MiB = [] {
        char deep[4 << 20];
        for (std::size_t i = 0; i < sizeof deep; i += 4096) *static_cast<volatile char*>(deep + i) = 1;
        return std::string(this_fiber::name());
    };
    EXPECT_EQ(run({.stack_bytes = 16 << 20}, uses_a_stack_of_4_MiB, {.workers = GetParam()}), "main");
    EXPECT_EQ(run({.name = "outer", .stack_bytes = 16 << 20}, uses_a_stack_of_4_MiB, {.workers = GetParam()}), "outer");
    watched_runtime rt(GetParam());
    EXPECT_EQ(rt.run({.priority = priority::low},
                     [&] {
                         auto mine = priority::normal;
                         rt.for_each_fiber([&](const fiber_info& f) {
                             if (f.id == this_fiber::id()) mine = f.priority;
                         });
                         return mine;
                     }),
              priority::low);
}

TEST_P(runtimes, several_runs_follow_one_another_and_overlap) {
    watched_runtime rt(GetParam());
    for (int i = 0; i < 20; ++i) EXPECT_EQ(rt.run([i] { return i; }), i);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&rt, i] {
            EXPECT_EQ(rt.run([i] {
                this_fiber::sleep_for(1ms);
                return i;
            }),
                      i);
        });
    for (auto& t : threads) t.join();
}

TEST_P(runtimes, current_is_the_one_whose_fiber_asks) {
    EXPECT_EQ(runtime::current(), nullptr);
    watched_runtime a(GetParam()), b(1);
    EXPECT_EQ(a.run([] { return runtime::current(); }), &a);
    EXPECT_EQ(b.run([] { return runtime::current(); }), &b);
    EXPECT_EQ(a.run([&] { return b.run([] { return runtime::current(); }); }), &b);
}

TEST_P(runtimes, side_by_side_pass_results_to_each_other) {
    watched_runtime a(GetParam()), b(2);
    const int sum = a.run([&] {
        std::vector<fiber<int>> there;
        for (int i = 0; i < 50; ++i)
            there.push_back(b.spawn([&a, i] { return a.spawn([i] { return i; }).join() + 1; }));
        int n = 0;
        for (auto& f : there) n += f.join();
        return n;
    });
    EXPECT_EQ(sum, 49 * 50 / 2 + 50);
}

TEST_P(runtimes, side_by_side_give_different_ids) {
    watched_runtime a(GetParam()), b(GetParam());
    std::set<fiber_id> seen;
    for (int i = 0; i < 20; ++i)
        for (auto* rt : {&a, &b}) EXPECT_TRUE(seen.insert(rt->run([] { return this_fiber::id(); })).second);
    watched_runtime later(1);
    EXPECT_TRUE(seen.insert(later.run([] { return this_fiber::id(); })).second);
}

TEST_P(runtimes, may_be_made_and_ended_inside_a_fiber) {
    watched_runtime outer(GetParam());
    EXPECT_EQ(outer.run([] {
        watched_runtime inner(2);
        return inner.run([] { return spawn([] { return 3; }).join(); });
    }),
              3);
}

TEST_P(runtimes, count_what_happens) {
    watched_runtime rt(GetParam());
    const auto idle = rt.stats();
    EXPECT_EQ(idle.workers, GetParam());
    EXPECT_EQ(idle.fibers, 0u);
    EXPECT_EQ(idle.spawned, 0u);
    rt.run([&] {
        auto f = spawn([] { this_fiber::sleep_for(1h); });
        EXPECT_TRUE(eventually_here([&] { return waiting_for(rt, "sleep") == 1; }));
        EXPECT_TRUE(eventually_here([&] { return rt.stats().parks >= 1; }));  // counted after it is seen to wait
        const auto busy = rt.stats();
        EXPECT_EQ(busy.fibers, 2u);
        EXPECT_EQ(busy.spawned, 2u);
        EXPECT_GE(busy.switches, 2u);
        EXPECT_GE(busy.stacks_in_use, 2u);
    });
    EXPECT_TRUE(eventually([&] { return rt.stats().fibers == 0; }));
}

TEST_P(runtimes, describe_their_fibers) {
    watched_runtime rt(GetParam());
    rt.run([&] {
        auto sleeper = spawn({.name = "sleeper", .priority = priority::low}, [] { this_fiber::sleep_for(1h); });
        auto joiner = spawn({.name = "joiner"}, [&] { static_cast<void>(sleeper.join_for(1h)); });
        std::set<std::string> seen;
        const auto described = [&] {
            seen.clear();
            rt.for_each_fiber([&](const fiber_info& f) {
                EXPECT_EQ(f.priority, f.name == "sleeper" ? priority::low : priority::normal);
                seen.insert(std::string(f.name) + ": " + std::string(f.state) + ", " + std::string(f.waits_for));
                if (f.name == "sleeper") {
                    EXPECT_EQ(f.id, sleeper.id());
                    EXPECT_NE(std::string(f.site.file_name()).find("runtime_test"), std::string::npos);
                    EXPECT_FALSE(f.detached);
                }
            });
            return seen.contains("sleeper: waiting, sleep") && seen.contains("joiner: waiting, join");
        };
        EXPECT_TRUE(eventually_here(described));
    });
}

TEST(runtime_options, that_make_no_sense_are_named) {
    const auto complaint = [](runtime_options o) -> std::string {
        try {
            runtime rt(std::move(o));
        } catch (const std::invalid_argument& e) {
            return e.what();
        }
        return "none";
    };
    EXPECT_NE(complaint({.workers = 100'000}).find("workers"), std::string::npos);
    EXPECT_NE(complaint({.workers = 1, .stack_bytes = 100}).find("stack_bytes"), std::string::npos);
    EXPECT_NE(complaint({.workers = 1, .stack_bytes = std::size_t{1} << 40}).find("stack_bytes"), std::string::npos);
    EXPECT_EQ(complaint({.workers = 1}), "none");
}

/// The CPUs that the caller may use; all of them again at the end.
class affinity {
public:
    affinity() { ::sched_getaffinity(0, sizeof all_, &all_); }
    ~affinity() { ::sched_setaffinity(0, sizeof all_, &all_); }
    affinity(const affinity&) = delete;
    affinity& operator=(const affinity&) = delete;

    unsigned cpus() const { return static_cast<unsigned>(CPU_COUNT(&all_)); }
    /// The first n of them.
    void keep(unsigned n) const {
        cpu_set_t some;
        CPU_ZERO(&some);
        for (unsigned cpu = 0; n > 0 && cpu < CPU_SETSIZE; ++cpu)
            if (CPU_ISSET(cpu, &all_)) CPU_SET(cpu, &some), --n;
        ASSERT_EQ(::sched_setaffinity(0, sizeof some, &some), 0);
    }

private:
    cpu_set_t all_{};
};

TEST(runtime_options, seed_L4_workers_default_to_the_cpus_that_affinity_and_quota_leave) {
    const own_quota quota;
    const affinity allowed;
    const auto most = std::min(allowed.cpus(), 4u);
    for (unsigned n = 1; n <= most; ++n) {
        allowed.keep(n);
        EXPECT_EQ(runtime().stats().workers, n);
    }
    quota.set("150000 100000");
    EXPECT_EQ(runtime().stats().workers, std::min(most, 2u)) << "a quota of one and a half";
    quota.set("50000 100000");
    EXPECT_EQ(runtime().stats().workers, 1u);
    EXPECT_EQ(runtime({.workers = 12}).stats().workers, 12u) << "as the program says";
}

TEST(runtime_options, workers_are_as_many_as_the_environment_says) {
    ::setenv("WEFT_WORKERS", "3", 1);
    EXPECT_EQ(runtime({.workers = 1}).stats().workers, 3u);
    for (const char* const bad : {"0", "x", "3x", "-1", "99999", "+3", " 3", "3 ", "-18446744073709551613", "18446744073709551619"}) {
        ::setenv("WEFT_WORKERS", bad, 1);
        EXPECT_THROW(runtime(), std::invalid_argument) << bad;
    }
    ::setenv("WEFT_WORKERS", "", 1);
    EXPECT_EQ(runtime({.workers = 2}).stats().workers, 2u);
    ::unsetenv("WEFT_WORKERS");
}

TEST(runtime_threads, are_named) {
    watched_runtime rt({.workers = 1, .name = "a-long-name-of-a-runtime"});
    char name[16];
    rt.run([&] { pthread_getname_np(pthread_self(), name, sizeof name); });
    EXPECT_STREQ(name, "a-long-nam/0");
}

}  // namespace
}  // namespace weft::test
