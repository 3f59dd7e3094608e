// join_in_place_test.cpp - a join that runs the child on the joiner's stack: the same results, whatever the child does.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <weft/runtime.hpp>
#include <weft/scope.hpp>
#include <weft/select.hpp>

#include "support/baton.hpp"
#include "support/eventually.hpp"
#include "support/no_leaks.hpp"
#include "support/random.hpp"
#include "support/scale.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

/// Whether the body runs on the stack of its joiner: then that frame of the joiner is near. Frames
/// are compared, since AddressSanitizer keeps locals elsewhere.
bool near(const void* frame_of_joiner) {
    const auto distance = static_cast<const char*>(__builtin_frame_address(0)) - static_cast<const char*>(frame_of_joiner);
    return std::abs(distance) < 16384;
}

class join_in_place : public no_leaks {
protected:
    watched_runtime rt{one_fiber_at_a_time};
};

TEST_F(join_in_place, runs_the_child_on_the_joiners_stack_as_itself) {
    rt.run([&] {
        const void* const mark = __builtin_frame_address(0);
        const auto joiner = this_fiber::id();
        auto child = spawn({.name = "child"}, [&] {
            EXPECT_TRUE(near(mark));
            EXPECT_NE(this_fiber::id(), joiner);
            EXPECT_EQ(this_fiber::name(), "child");
            EXPECT_GT(this_fiber::stack_remaining(), 0u);
            return 7;
        });
        const auto id = child.id();
        EXPECT_EQ(child.join(), 7);
        EXPECT_NE(id, this_fiber::id());
        EXPECT_EQ(this_fiber::id(), joiner);
        EXPECT_EQ(this_fiber::name(), "main");
    });
}

TEST_F(join_in_place, the_child_may_park_and_others_run_meanwhile) {
    rt.run([] {
        std::string order;
        baton wake;
        auto child = spawn([&] {
            order += 'a';
            wake.take();
            order += 'c';
        });
        auto other = spawn([&] {
            order += 'b';
            wake.post();
        });
        child.join();  // not the newest: waits; then again with the newest
        other.join();
        EXPECT_EQ(order, "bac");

        order.clear();
        auto waker = spawn([&] {
            order += 'b';
            wake.post();
        });
        auto newest = spawn([&] {
            order += 'a';
            wake.take();
            order += 'c';
        });
        newest.join();
        EXPECT_EQ(order, "abc");
        waker.join();
    });
}

TEST_F(join_in_place, a_failure_of_the_child_comes_out_of_join) {
    rt.run([] {
        auto child = spawn([]() -> int { throw std::runtime_error("from the child"); });
        try {
            child.join();
            ADD_FAILURE() << "join() returned";
        } catch (const std::runtime_error& e) {
            EXPECT_STREQ(e.what(), "from the child");
            auto another = spawn([] { return std::uncaught_exceptions(); });  // we are in a handler: not in place
            EXPECT_EQ(another.join(), 0);
            EXPECT_STREQ(e.what(), "from the child");
        }
    });
}

TEST_F(join_in_place, the_joiners_stop_reaches_the_child_that_waits) {
    baton waits;
    bool child_cancelled = false, joiner_cancelled = false;
    auto joiner = rt.spawn([&] {
        auto child = spawn([&] {
            waits.post();
            try {
                this_fiber::sleep_for(1h);
            } catch (const cancelled&) {
                child_cancelled = true;
                throw;
            }
        });
        try {
            child.join();
        } catch (const cancelled&) {
            joiner_cancelled = true;
        }
    });
    waits.take();
    EXPECT_TRUE(joiner.request_stop());
    joiner.join();
    EXPECT_TRUE(child_cancelled);
    EXPECT_TRUE(joiner_cancelled);
}

TEST_F(join_in_place, a_stopped_scope_reaches_a_child_that_is_not_its_own) {
    rt.run([] {
        bool reached = false;
        with_scope([&](scope& s) {
            s.spawn([&] {
                this_fiber::sleep_for(1ms);
                s.request_stop();
            });
            auto outsider = spawn([&] {
                try {
                    this_fiber::sleep_for(1h);
                } catch (const cancelled&) {
                    reached = true;
                    throw;
                }
            });
            outsider.join();
        });
        EXPECT_TRUE(reached);
    });
}

TEST_F(join_in_place, a_deadline_of_the_joiner_holds) {
    rt.run([] {
        auto child = spawn([] { this_fiber::sleep_for(1h); });
        EXPECT_THROW(with_timeout(5ms, [&] { child.join(); }), timeout_error);
        child.request_stop();
        EXPECT_THROW(child.join(), fiber_cancelled);
    });
}

TEST_F(join_in_place, work_that_must_survive_the_joiners_stop_is_joined_under_a_shield) {
    baton waits, go_on;
    bool finished = false;
    auto joiner = rt.spawn([&] {
        auto child = spawn([&] {
            waits.post();
            go_on.take();
            finished = true;
        });
        const shield until_done;
        child.join();
    });
    waits.take();
    joiner.request_stop();
    go_on.post();
    joiner.join();
    EXPECT_TRUE(finished);
}

TEST_F(join_in_place, joins_in_a_loop_starve_nobody) {
    rt.run([] {
        bool ran = false;
        auto old = spawn([&] { ran = true; });
        for (int i = 0; i < 3000 && !ran; ++i) spawn([] {}).join();
        EXPECT_TRUE(ran);
        old.join();
    });
}

TEST_F(join_in_place, a_small_stack_is_not_lent) {
    auto joiner = rt.spawn({.stack_bytes = 64 * 1024}, [] {
        auto child = spawn([] {
            volatile char room[100 * 1024];
            room[0] = 1;
            return static_cast<int>(room[0]);
        });
        return child.join();
    });
    EXPECT_EQ(joiner.join(), 1);
}

// A result dies with its handle or on the fiber, not with whoever happens to look at the fiber.
TEST_F(join_in_place, CONTROL_BLOCK_2_results_of_dropped_children_die_before_their_scope_ends_stress) {
    std::atomic<bool> over{false};
    std::thread looks([&] {
        while (!over) rt.for_each_fiber([](const fiber_info&) {});
    });
    struct result {
        std::atomic<int>* alive;
        explicit result(std::atomic<int>& a) : alive(&a) { ++a; }
        result(result&& other) noexcept : alive(std::exchange(other.alive, nullptr)) {}
        ~result() {
            if (alive) --*alive;
        }
    };
    rt.run([] {
        for (int i = 0; i < scaled(3000); ++i) {
            std::atomic<int> alive{0};
            with_scope([&](scope& s) {
                for (int k = 0; k < 4; ++k) static_cast<void>(s.spawn([&] { return result(alive); }));
            });
            ASSERT_EQ(alive, 0);
        }
    });
    over = true;
    looks.join();
}

struct chain {
    static int down(int depth) {
        if (depth == 0) return 0;
        return spawn([depth] { return down(depth - 1); }).join() + 1;
    }
};
TEST_F(join_in_place, a_chain_deeper_than_any_stack_goes_on_on_fresh_ones) {
    constexpr int depth = sanitized ? 2000 : 20000;
    EXPECT_EQ(rt.run([] { return chain::down(depth); }), depth);
}

TEST_F(join_in_place, a_child_with_a_stack_of_its_own_gets_it) {
    rt.run([] {
        const void* const mark = __builtin_frame_address(0);
        auto child = spawn({.stack_bytes = 1 << 20}, [&] {
            EXPECT_FALSE(near(mark));
            return this_fiber::stack_remaining();
        });
        EXPECT_GT(child.join(), std::size_t{1} << 19);
    });
}

TEST_F(join_in_place, others_who_only_wait_for_its_end_are_woken) {
    rt.run([] {
        fiber<> child;
        auto waits = spawn([&] { return child.join_for(10s); });
        auto selects = spawn([&] { return select(on_join(child), on_timeout(10s)); });
        const void* const mark = __builtin_frame_address(0);
        child = spawn([&] {
            EXPECT_TRUE(near(mark));
            this_fiber::sleep_for(2ms);
        });
        child.join();
        EXPECT_TRUE(waits.join());
        EXPECT_EQ(selects.join(), 0u);
    });
}

TEST_F(join_in_place, children_of_a_scope_too) {
    rt.run([] {
        int sum = 0;
        with_scope([&](scope& s) {
            for (int i = 0; i < 100; ++i) sum += s.spawn([i] { return i; }).join();
            auto failing = s.spawn([]() -> int { throw std::runtime_error("taken"); });
            EXPECT_THROW(failing.join(), std::runtime_error);
        });
        EXPECT_EQ(sum, 4950);
    });
}

class joins_in_place : public on_workers {
protected:
    watched_runtime rt{GetParam()};
};
WEFT_ON_1_2_4_8_WORKERS(joins_in_place);

int fib(int n) {
    if (n < 2) return n;
    auto less = spawn([n] { return fib(n - 1); });
    const int rest = fib(n - 2);
    return less.join() + rest;
}

TEST_P(joins_in_place, trees_add_up_stress) {
    for (int i = 0; i < 5; ++i) EXPECT_EQ(rt.run([] { return fib(sanitized ? 12 : 18); }), sanitized ? 144 : 2584);
}

// Stops that come while children start, run, wait and end in place. Each must end both, and nobody else.
TEST_P(joins_in_place, stops_race_with_their_begin_and_end_stress) {
    const seed seed;
    auto random = seed.of(0);
    for (int round = 0; round < scaled(300); ++round) {
        std::atomic<bool> begun{false};
        std::atomic<int> innocent{0};
        const auto linger = up_to(random, 20us);
        auto joiner = rt.spawn([&] {
            begun = true;
            for (;;) {
                auto child = spawn([&] {
                    for (const auto end = std::chrono::steady_clock::now() + linger; std::chrono::steady_clock::now() < end;) {}
                    if (linger.count() % 2) this_fiber::yield();
                });
                child.join();
            }
        });
        auto bystander = rt.spawn([&] {
            for (int i = 0; i < 20; ++i) innocent += spawn([] { this_fiber::yield(); return 1; }).join();
        });
        ASSERT_TRUE(eventually([&] { return begun.load(); }));
        std::this_thread::sleep_for(up_to(random, 100us));
        joiner.request_stop();
        EXPECT_THROW(joiner.join(), fiber_cancelled);
        bystander.join();
        EXPECT_EQ(innocent, 20);
    }
}

}  // namespace
}  // namespace weft::test
