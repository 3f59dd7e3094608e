// fiber_test.cpp - a fiber's result, its handle, and its identity.
#include <weft/fiber.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include <weft/deadline.hpp>

#include "support/eventually.hpp"
#include "support/no_leaks.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

class fibers : public on_workers {
protected:
    watched_runtime rt{GetParam()};
};
WEFT_ON_1_2_4_8_WORKERS(fibers);

TEST_P(fibers, seed_Q1_join_returns_the_value) {
    rt.run([] {
        EXPECT_EQ(spawn([] { return 7; }).join(), 7);
        EXPECT_EQ(spawn([](int a, const std::string& b) { return b + std::to_string(a); }, 4, "x").join(), "x4");
    });
}

TEST_P(fibers, seed_Q1_join_of_a_void_body_waits_for_its_end) {
    rt.run([] {
        bool ended = false;
        auto f = spawn([&] {
            this_fiber::sleep_for(2ms);
            ended = true;
        });
        f.join();
        EXPECT_TRUE(ended);
    });
}

TEST_P(fibers, seed_Q1_join_returns_a_reference) {
    rt.run([] {
        int value = 1;
        auto f = spawn([&]() -> int& { return value; });
        static_assert(std::is_same_v<decltype(f), fiber<int&>>);
        EXPECT_EQ(&f.join(), &value);
    });
}

TEST_P(fibers, arguments_and_result_may_be_move_only) {
    rt.run([] {
        auto f = spawn([p = std::make_unique<int>(3)](std::unique_ptr<int> q) { return std::make_unique<int>(*p + *q); },
                       std::make_unique<int>(4));
        EXPECT_EQ(*f.join(), 7);
    });
}

TEST_P(fibers, arguments_are_copied_and_references_take_std_ref) {
    rt.run([] {
        int n = 1;
        spawn([](int& mine) { mine = 2; }, std::ref(n)).join();
        EXPECT_EQ(n, 2);
        std::string s = "a";
        auto f = spawn([](const std::string& mine) { return mine; }, s);
        s = "b";
        EXPECT_EQ(f.join(), "a");
    });
}

TEST_P(fibers, member_functions_can_be_spawned) {
    rt.run([] {
        struct counter {
            int n = 0;
            int add(int d) { return n += d; }
        } c;
        EXPECT_EQ(spawn(&counter::add, &c, 5).join(), 5);
        EXPECT_EQ(c.n, 5);
    });
}

TEST_P(fibers, join_rethrows_what_the_body_threw) {
    rt.run([] {
        auto f = spawn([]() -> int { throw std::runtime_error("no"); });
        EXPECT_THROW(f.join(), std::runtime_error);
        EXPECT_FALSE(f.joinable());
    });
}

TEST_P(fibers, join_empties_the_handle) {
    rt.run([] {
        auto f = spawn([] {});
        EXPECT_TRUE(f.joinable());
        f.join();
        EXPECT_FALSE(f.joinable());
        EXPECT_FALSE(f.done());
        EXPECT_FALSE(f.request_stop());
        EXPECT_EQ(f.id(), fiber_id());
    });
}

TEST_P(fibers, join_for_waits_only) {
    rt.run([] {
        auto f = spawn([] {
            this_fiber::sleep_for(30ms);
            return 5;
        });
        EXPECT_FALSE(f.join_for(1ms));
        EXPECT_TRUE(f.joinable());
        EXPECT_TRUE(f.join_for(10s));
        EXPECT_TRUE(f.done());
        EXPECT_TRUE(f.join_until(std::chrono::steady_clock::now()));
        EXPECT_EQ(f.join(), 5);
    });
}

TEST_P(fibers, several_can_wait_for_one_end) {
    rt.run([] {
        auto f = spawn([] { this_fiber::sleep_for(5ms); });
        std::vector<fiber<bool>> waiting;
        for (int i = 0; i < 20; ++i) waiting.push_back(spawn([&] { return f.join_for(10s); }));
        for (auto& w : waiting) EXPECT_TRUE(w.join());
        f.join();
    });
}

TEST_P(fibers, a_plain_thread_can_join) {
    auto f = rt.spawn([] {
        this_fiber::sleep_for(2ms);
        return 9;
    });
    EXPECT_TRUE(f.join_for(10s));
    EXPECT_EQ(f.join(), 9);
}

TEST_P(fibers, a_fiber_of_another_runtime_can_join) {
    watched_runtime other(1);
    auto f = rt.spawn([] {
        this_fiber::sleep_for(2ms);
        return 9;
    });
    EXPECT_EQ(other.run([&] { return f.join(); }), 9);
}

TEST_P(fibers, what_the_body_did_happens_before_join_returns) {
    rt.run([] {
        for (int i = 0; i < 200; ++i) {
            std::vector<int> seen;  // unprotected
            auto f = spawn([&] { seen.push_back(1); });
            f.join();
            EXPECT_EQ(seen.size(), 1u);
        }
    });
}

TEST_P(fibers, a_detached_one_goes_on) {
    std::atomic<bool> ended{false};
    rt.run([&] {
        auto f = spawn([&] {
            this_fiber::sleep_for(2ms);
            ended = true;
        });
        f.detach();
        EXPECT_FALSE(f.joinable());
        spawn([] { return 1; }).detach();
    });
    EXPECT_TRUE(eventually([&] { return ended.load(); }));
}

TEST_P(fibers, spawn_detached_runs) {
    std::atomic<int> ended{0};
    rt.run([&] {
        spawn_detached([&] { ++ended; });
        spawn_detached({.name = "named"}, [&](int n) { ended += n; }, 10);
    });
    rt.spawn_detached([&] { ended += 100; });
    EXPECT_TRUE(eventually([&] { return ended == 111; }));
}

TEST_P(fibers, what_a_body_captured_does_not_outlive_it) {
    rt.run([] {
        const auto shared = std::make_shared<int>(0);
        auto f = spawn([shared](std::shared_ptr<int>) {}, shared);
        ASSERT_TRUE(f.join_for(10s));
        EXPECT_EQ(shared.use_count(), 1);
        f.join();
    });
}

TEST_P(fibers, a_result_nobody_takes_is_destroyed) {
    const auto shared = std::make_shared<int>(0);
    rt.run([&] {
        { auto dropped = spawn([=] { return shared; }); }
        EXPECT_EQ(shared.use_count(), 1);
        spawn([=] { return shared; }).detach();
        EXPECT_TRUE(eventually_here([&] { return shared.use_count() == 1; }));
        auto ended = spawn([=] { return shared; });
        EXPECT_TRUE(ended.join_for(10s));
        ended.detach();
        EXPECT_TRUE(eventually_here([&] { return shared.use_count() == 1; }));
    });
}

TEST_P(fibers, move_assignment_stops_and_joins_what_was_there) {
    rt.run([] {
        bool stopped = false;
        auto f = spawn([&] {
            try {
                this_fiber::sleep_for(1h);
            } catch (const cancelled&) {
                stopped = true;
            }
        });
        f = spawn([] {});
        EXPECT_TRUE(stopped);
        f.join();
    });
}

TEST_P(fibers, ids_are_unique_among_living_and_dead) {
    rt.run([] {
        std::unordered_set<fiber_id> seen{fiber_id()};
        for (int i = 0; i < 500; ++i) {
            auto f = spawn([] { return this_fiber::id(); });
            const auto id = f.id();
            EXPECT_TRUE(seen.insert(id).second);
            EXPECT_EQ(f.join(), id);
        }
    });
}

TEST_P(fibers, have_names) {
    rt.run([] {
        EXPECT_EQ(this_fiber::name(), "main");
        spawn({.name = "worker-1"}, [] {
            EXPECT_EQ(this_fiber::name(), "worker-1");
            this_fiber::set_name("renamed");
            EXPECT_EQ(this_fiber::name(), "renamed");
        }).join();
        const attributes unnamed;
        EXPECT_EQ(spawn(unnamed, [] { return std::string(this_fiber::name()); }).join(), "");
    });
}

TEST(plain_thread, has_no_identity_but_can_sleep_and_yield) {
    EXPECT_EQ(this_fiber::id(), fiber_id());
    EXPECT_EQ(this_fiber::name(), "");
    this_fiber::set_name("ignored");
    EXPECT_EQ(this_fiber::stack_remaining(), 0u);
    EXPECT_FALSE(this_fiber::stop_token().stop_possible());
    this_fiber::yield();
    const auto start = std::chrono::steady_clock::now();
    this_fiber::sleep_for(2ms);
    EXPECT_GE(std::chrono::steady_clock::now() - start, 2ms);
}

/// On a fiber and on a plain thread.
TEST(this_fiber_sleeps, until_a_time_point_of_any_clock) {
    const auto naps = [] {
        using std::chrono::steady_clock, std::chrono::system_clock;
        const auto start = steady_clock::now();
        this_fiber::sleep_until(system_clock::now() + 5ms);
        EXPECT_GE(steady_clock::now() - start, 4ms) << "the other clock may be set meanwhile";
        const auto until = std::chrono::ceil<std::chrono::milliseconds>(steady_clock::now() + 2ms);
        this_fiber::sleep_until(until);
        EXPECT_GE(steady_clock::now(), until);
        this_fiber::sleep_until(steady_clock::now() + std::chrono::duration<double, std::milli>(0.5));
        this_fiber::sleep_until(system_clock::time_point::min());
        this_fiber::sleep_until(std::chrono::sys_days(std::chrono::January / 1 / 2000));
        EXPECT_THROW(with_timeout(5ms, [] { this_fiber::sleep_until(system_clock::time_point::max()); }), timeout_error);
    };
    naps();
    run(naps);
}

TEST(empty_handle, names_no_fiber) {
    fiber<> none;
    EXPECT_FALSE(none.joinable());
    EXPECT_FALSE(none.done());
    EXPECT_EQ(none.id(), fiber_id());
    EXPECT_FALSE(none.request_stop());
    EXPECT_DEATH(none.join(), "joinable");
    EXPECT_DEATH(none.detach(), "joinable");
    EXPECT_DEATH(static_cast<void>(none.join_for(1ms)), "joinable");
}

TEST(spawn_death, on_a_plain_thread_names_run) { EXPECT_DEATH(static_cast<void>(spawn([] {})), "weft::run"); }

TEST(spawn_death, a_fiber_cannot_join_itself) {
    EXPECT_DEATH(run([] {
                     fiber<> self;
                     std::atomic<bool> is_named{false};
                     self = spawn([&] {
                         while (!is_named) this_fiber::yield();
                         self.join();
                     });
                     is_named = true;
                     this_fiber::sleep_for(10s);
                 }),
                 "cannot join itself");
}

}  // namespace
}  // namespace weft::test
