// coroutine_in_fiber_test.cpp - a coroutine inside a fiber is part of it: where the body parks, the fiber does, and moves with it.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>
#include <weft/channel.hpp>
#include <weft/coroutine.hpp>
#include <weft/fiber.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>

namespace weft {
namespace {

using namespace std::chrono_literals;

// Each counts to `rounds`, parking between its yields, so that the fiber under it goes on on other workers.
int counts_with_parks(int rounds) {
    int n = 0;
    coroutine<> counting([&] {
        while (n < rounds) {
            this_fiber::yield();
            ++n;
            if (n % 8 == 0) this_fiber::sleep_for(50us);
            coroutine<>::yield();
        }
    });
    while (counting.state() != coroutine_state::done) counting.call();
    return n;
}

TEST(coroutine_in_fiber, yield_finds_its_coroutine_after_the_fiber_has_moved) {
    for (unsigned const workers : {1U, 2U, 4U}) {
        int const total = run(
            [] {
                std::vector<fiber<int>> fibers;
                for (int n = 0; n < 20; ++n) fibers.push_back(spawn(counts_with_parks, 100));
                int sum = 0;
                for (auto& f : fibers) sum += f.join();
                return sum;
            },
            {.workers = workers});
        EXPECT_EQ(total, 20 * 100);
    }
}

TEST(coroutine_in_fiber, two_fibers_may_call_the_same_one_in_turn) {
    int const last = run(
        [] {
            auto count = std::make_shared<coroutine<int()>>([](auto& yield) {
                for (int n = 1;; ++n) {
                    this_fiber::yield();
                    yield(n);
                }
            });
            channel<int> turn(1);
            turn.send(0);
            auto const play = [count, turn]() mutable {
                int n = 0;
                for (int round = 0; round < 50; ++round) {
                    static_cast<void>(turn.receive());
                    n = (*count)();
                    turn.send(n);
                }
                return n;
            };
            auto a = spawn(play);
            auto b = spawn(play);
            return std::max(a.join(), b.join());
        },
        {.workers = 2});
    EXPECT_EQ(last, 100);
}

TEST(coroutine_in_fiber, exceptions_and_stop_leave_through_call_into_the_fiber) {
    run([] {
        auto failing = spawn([] {
            coroutine<> c([] {
                this_fiber::yield();
                throw std::runtime_error("inside");
            });
            c.call();
        });
        EXPECT_THROW(failing.join(), std::runtime_error);

        bool stopped = false;
        channel<int> never;
        auto waiting = spawn([&] {
            coroutine<> c([&] { static_cast<void>(never.receive()); });
            try {
                c.call();
            } catch (cancelled const&) { stopped = c.state() == coroutine_state::done; }
        });
        this_fiber::sleep_for(1ms);
        waiting.request_stop();
        waiting.join();
        EXPECT_TRUE(stopped);
    });
}

TEST(coroutine_in_fiber, a_suspended_one_is_unwound_by_another_fiber_and_may_park_meanwhile) {
    int const order = run([] {
        int steps = 0;
        struct parks_when_destroyed {
            int& steps;
            ~parks_when_destroyed() {
                channel<int> c(1);
                auto child = spawn([c]() mutable { c.send(1); });
                child.join();
                ++steps;
            }
        };
        auto c = spawn([&] {
                     auto made = std::make_unique<coroutine<>>([&] {
                         parks_when_destroyed const last{steps};
                         coroutine<>::yield();
                     });
                     made->call();
                     return made;
                 }).join();
        EXPECT_EQ(steps, 0);
        spawn([c = std::move(c)]() mutable { c.reset(); }).join();
        return steps;
    });
    EXPECT_EQ(order, 1);
}

TEST(coroutine_in_fiber, threads_fibers_and_the_coroutine_share_nothing_by_accident) {
    coroutine<int()> counter([](auto& yield) {
        for (int n = 1;; ++n) yield(n);
    });
    EXPECT_EQ(counter(), 1);
    EXPECT_EQ(run([&] { return counter(); }), 2);
    EXPECT_EQ(counter(), 3);
}

}  // namespace
}  // namespace weft
