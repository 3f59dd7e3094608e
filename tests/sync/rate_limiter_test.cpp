// rate_limiter_test.cpp - never more than burst and rate allow, in order of arrival, between fibers and threads.
#include <weft/rate_limiter.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include <weft/deadline.hpp>
#include <weft/explore.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>

#include "support/eventually.hpp"
#include "support/no_leaks.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

void check(bool holds, const char* what) {
    if (!holds) throw std::logic_error(what);
}

TEST(rate_limiters, refuse_what_makes_no_sense) {
    EXPECT_THROW(rate_limiter({.tokens = 0}), std::invalid_argument);
    EXPECT_THROW(rate_limiter({.per = 0s}), std::invalid_argument);
    EXPECT_THROW(rate_limiter({.burst = 0}), std::invalid_argument);
    rate_limiter r({.tokens = 1, .burst = 2});
    EXPECT_THROW(r.acquire(3), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(r.try_acquire(3)), std::invalid_argument);
    EXPECT_TRUE(r.try_acquire(2));
}

TEST(rate_limiters, give_a_burst_at_once_and_then_what_the_rate_allows) {
    explore(20, [] {
        rate_limiter r({.tokens = 10, .per = 1s, .burst = 5});
        const auto start = weft::now();
        for (int i = 0; i < 5; ++i) r.acquire();
        check(weft::now() - start < 50ms, "the burst is there at once");
        check(!r.try_acquire(), "and no more");
        for (int i = 0; i < 20; ++i) r.acquire();
        const auto took = weft::now() - start;
        check(took >= 1999ms && took < 2100ms, "20 tokens at 10 a second");
        this_fiber::sleep_for(1h);
        check(r.try_acquire(5) && !r.try_acquire(), "a long rest fills it, and not more than that");
    });
}

TEST(rate_limiters, know_at_once_that_a_token_comes_too_late) {
    explore(20, [] {
        rate_limiter r({.tokens = 1, .per = 1min, .burst = 1});
        r.acquire();
        const auto start = weft::now();
        check(!r.acquire_for(30s), "it comes after a minute");
        check(weft::now() - start < 1s, "nobody waits in vain");
        check(r.acquire_for(61s), "in time");
    });
}

TEST(rate_limiters, serve_in_order_of_arrival_whoever_wants_more) {
    explore(50, [] {
        rate_limiter r({.tokens = 1, .per = 1s, .burst = 4});
        r.acquire(4);
        std::vector<int> order;
        with_scope([&](scope& s) {
            for (int i = 0; i < 4; ++i) {
                s.spawn([&, i] {
                    r.acquire(i == 0 ? 4 : 1);
                    order.push_back(i);
                });
                this_fiber::sleep_for(1ms);
            }
            check(!r.try_acquire(), "nobody overtakes");
        });
        check(order == std::vector<int>{0, 1, 2, 3}, "in order");
    });
}

TEST(rate_limiters, take_nothing_for_one_that_is_stopped) {
    explore(50, [] {
        rate_limiter r({.tokens = 1, .per = 1s, .burst = 1});
        r.acquire();
        const auto start = weft::now();
        auto stopped = spawn([&] { r.acquire(); });
        this_fiber::sleep_for(500ms);
        stopped.request_stop();
        stopped.join_for(1h);
        r.acquire();
        check(weft::now() - start < 1100ms, "the token that it did not take");
    });
}

TEST(rate_limiters, hold_between_fibers_and_threads) {
    watched_runtime rt(2);
    rate_limiter r({.tokens = 1000, .per = 1s, .burst = 10});
    const auto start = std::chrono::steady_clock::now();
    std::atomic<int> taken{0};
    const auto taker = [&] {
        for (int i = 0; i < 10; ++i) {
            r.acquire();
            ++taken;
        }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) threads.emplace_back(taker);
    auto one = rt.spawn(taker), other = rt.spawn(taker);
    one.join();
    other.join();
    for (auto& t : threads) t.join();
    EXPECT_EQ(taken, 40);
    EXPECT_GE(std::chrono::steady_clock::now() - start, 29ms);
}

}  // namespace
}  // namespace weft::test
