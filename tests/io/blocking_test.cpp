#include <weft/blocking.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <weft/deadline.hpp>
#include <weft/runtime.hpp>

#include "io_fixture.hpp"

namespace weft::test {
namespace {

TEST(blocking, seed_Q16_returns_what_the_call_returns_and_runs_elsewhere) {
    weft::run([] {
        const auto here = std::this_thread::get_id();
        const auto there = weft::blocking([] { return std::this_thread::get_id(); });
        EXPECT_NE(there, here);
        weft::blocking([] {});
        EXPECT_EQ(*weft::blocking([] { return std::make_unique<int>(7); }), 7);
        int x = 1;
        int& same = weft::blocking([&]() -> int& { return x; });
        EXPECT_EQ(&same, &x);
    });
}

TEST(blocking, takes_a_move_only_function_without_copying) {
    weft::run([] {
        auto p = std::make_unique<int>(3);
        EXPECT_EQ(weft::blocking([p = std::move(p)] { return *p; }), 3);
        auto f = [n = 0]() mutable { return ++n; };
        weft::blocking(f);
        EXPECT_EQ(weft::blocking(f), 2);  // an lvalue is used where it lies
    });
}

TEST(blocking, an_exception_comes_out) {
    weft::run([] { EXPECT_THROW(weft::blocking([]() -> int { throw std::runtime_error("no"); }), std::runtime_error); });
}

TEST(blocking, on_a_plain_thread_the_call_runs_inline) {
    EXPECT_EQ(weft::blocking([] { return std::this_thread::get_id(); }), std::this_thread::get_id());
    EXPECT_FALSE(weft::blocking([](std::stop_token t) { return t.stop_requested(); }));
}

TEST(blocking, seed_L12_does_not_stall_other_fibers) {
    weft::run(
        [] {
            std::atomic<bool> may_end{false};
            auto waiter = weft::spawn([&] {
                weft::blocking([&] {
                    while (!may_end) std::this_thread::sleep_for(1ms);
                });
            });
            for (int i = 0; i < 10; ++i) weft::this_fiber::sleep_for(1ms);  // the one worker is free
            may_end = true;
            waiter.join();
        },
        {.workers = 1});
}

TEST(blocking, a_stop_withdraws_a_call_that_has_not_started) {
    constexpr int threads = 4;
    const auto body = [] {
        std::atomic<bool> gate{false};
        std::vector<weft::fiber<void>> busy;
        std::atomic<int> started{0};
        for (int i = 0; i < threads; ++i)  // all threads of the pool
            busy.push_back(weft::spawn([&] {
                weft::blocking([&] {
                    ++started;
                    while (!gate) std::this_thread::sleep_for(1ms);
                });
            }));
        while (started < threads) weft::this_fiber::sleep_for(1ms);
        bool ran = false;
        auto queued = weft::spawn([&] { weft::blocking([&] { ran = true; }); });
        weft::this_fiber::sleep_for(5ms);
        queued.request_stop();
        EXPECT_THROW(queued.join(), weft::fiber_cancelled);
        EXPECT_THROW(weft::with_timeout(5ms, [&] { weft::blocking([&] { ran = true; }); }), weft::timeout_error);
        gate = true;
        for (auto& b : busy) b.join();
        EXPECT_FALSE(ran);
    };
    weft::run(body, {.blocking_threads = threads});
}

TEST(blocking, a_stop_waits_for_a_started_call_and_is_then_delivered) {
    weft::run([] {
        std::atomic<bool> started{false}, gate{false}, returned{false};
        auto f = weft::spawn([&] {
            weft::blocking([&] {
                started = true;
                while (!gate) std::this_thread::sleep_for(1ms);
                returned = true;
            });
        });
        while (!started) weft::this_fiber::sleep_for(1ms);
        f.request_stop();
        weft::this_fiber::sleep_for(5ms);
        EXPECT_FALSE(f.done());
        gate = true;
        EXPECT_THROW(f.join(), weft::fiber_cancelled);
        EXPECT_TRUE(returned);
    });
}

TEST(blocking, a_started_call_learns_of_the_stop_by_its_token) {
    weft::run([] {
        const auto until_stopped = [](std::stop_token stop) {
            while (!stop.stop_requested()) std::this_thread::sleep_for(1ms);
        };
        EXPECT_THROW(weft::with_timeout(10ms, [&] { weft::blocking(until_stopped); }), weft::timeout_error);
        auto f = weft::spawn([&] { weft::blocking(until_stopped); });
        weft::this_fiber::sleep_for(5ms);
        f.request_stop();
        EXPECT_THROW(f.join(), weft::fiber_cancelled);
    });
}

TEST(blocking, looks_at_a_stop_on_entry) {
    weft::run(
        [] {
            bool ran = false;
            auto f = weft::spawn([&] { weft::blocking([&] { ran = true; }); });
            f.request_stop();
            EXPECT_THROW(f.join(), weft::fiber_cancelled);
            EXPECT_FALSE(ran);
        },
        {.workers = 1});
}

TEST(blocking, a_shield_postpones_the_stop) {
    weft::run([] {
        int result = 0;
        auto f = weft::spawn([&] {
            const weft::shield no_stop;
            result = weft::blocking([] {
                std::this_thread::sleep_for(10ms);
                return 5;
            });
        });
        f.request_stop();
        f.join();
        EXPECT_EQ(result, 5);
    });
}

TEST(blocking_detached, runs_without_being_waited_for) {
    auto done = std::make_shared<std::atomic<bool>>(false);
    weft::run([&] {
        weft::blocking_detached([done] { *done = true; });
        EXPECT_TRUE(eventually([&] { return done->load(); }));
    });
    *done = false;
    weft::blocking_detached([done] { *done = true; });  // a plain thread
    EXPECT_TRUE(eventually([&] { return done->load(); }));
}

TEST(blocking_detached, a_call_that_lasts_is_left_behind_by_the_runtime) {
    auto gate = std::make_shared<std::atomic<bool>>(false);
    auto ended = std::make_shared<std::atomic<bool>>(false);
    weft::run([&] {
        weft::blocking_detached([gate, ended] {
            while (!*gate) std::this_thread::sleep_for(1ms);
            *ended = true;
        });
    });
    EXPECT_FALSE(*ended);
    *gate = true;
    EXPECT_TRUE(eventually([&] { return ended->load(); }));
}

TEST(blocking, many_fibers_and_few_threads_stress) {
    for (unsigned workers : {1u, 2u, 4u, 8u})
        weft::run(
            [] {
                std::vector<weft::fiber<int>> fibers;
                for (int i = 0; i < 500; ++i) fibers.push_back(weft::spawn([i] { return weft::blocking([i] { return i; }); }));
                for (int i = 0; i < 500; ++i) EXPECT_EQ(fibers[static_cast<std::size_t>(i)].join(), i);
            },
            {.workers = workers});
}

// Each worker polls in the midst of a park and may find there the fiber that the other is about to
// park (WAIT_WORD-6).
TEST(blocking, carriers_find_each_others_fibers_stress) {
    weft::run(
        [] {
            const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(400);
            std::vector<weft::fiber<>> fibers;
            for (int i = 0; i < 3; ++i)
                fibers.push_back(weft::spawn([=] {
                    while (std::chrono::steady_clock::now() < end) {
                        const auto busy = std::chrono::steady_clock::now() + std::chrono::microseconds(100);
                        while (std::chrono::steady_clock::now() < busy) {}
                        weft::blocking([] {});
                    }
                }));
            for (auto& f : fibers) f.join();
        },
        {.workers = 2});
}

TEST(blocking, stops_race_with_starts_and_ends_stress) {
    for (unsigned workers : {1u, 2u, 4u, 8u})
        weft::run(
            [] {
                std::atomic<int> ran{0}, finished{0}, stopped{0};
                for (int round = 0; round < 30; ++round) {
                    std::vector<weft::fiber<void>> fibers;
                    for (int i = 0; i < 20; ++i)
                        fibers.push_back(weft::spawn([&] {
                            weft::blocking([&] { ++ran; });
                            ++finished;
                        }));
                    for (auto& f : fibers) f.request_stop();
                    for (auto& f : fibers) try {
                            f.join();
                        } catch (const weft::fiber_cancelled&) { ++stopped; }
                }
                EXPECT_EQ(finished + stopped, 600);
                EXPECT_GE(ran, finished);
            },
            {.workers = workers});
}

}  // namespace
}  // namespace weft::test
