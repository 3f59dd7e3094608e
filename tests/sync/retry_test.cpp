// retry_test.cpp - how often, how long in between, and what is never tried again.
#include <weft/retry.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include <weft/deadline.hpp>
#include <weft/explore.hpp>
#include <weft/runtime.hpp>

#include "support/no_leaks.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

void check(bool holds, const char* what) {
    if (!holds) throw std::logic_error(what);
}

TEST(retries, end_with_the_first_success) {
    run([] {
        int calls = 0;
        EXPECT_EQ(retry({.first_pause = 1us},
                        [&] {
                            if (++calls < 3) throw std::runtime_error("not yet");
                            return calls;
                        }),
                  3);
        int once = 0;
        retry([&] { ++once; });
        EXPECT_EQ(once, 1);
    });
}

TEST(retries, throw_the_last_failure) {
    int calls = 0;
    try {  // a plain thread
        retry({.attempts = 3, .first_pause = 1us}, [&] { throw std::runtime_error("failure " + std::to_string(++calls)); });
        ADD_FAILURE();
    } catch (const std::runtime_error& e) {
        EXPECT_STREQ(e.what(), "failure 3");
    }
}

TEST(retries, pause_longer_each_time_within_the_jitter) {
    explore(50, [] {
        std::vector<std::chrono::nanoseconds> pauses;
        const retry_options o{.attempts = 6,
                              .first_pause = 100ms,
                              .growth = 2,
                              .longest_pause = 1s,
                              .jitter = 0.5,
                              .on_failure = [&](unsigned attempt, const std::exception_ptr&, std::chrono::nanoseconds pause) {
                                  check(attempt == pauses.size() + 1, "counted from 1");
                                  pauses.push_back(pause);
                              }};
        const auto start = weft::now();
        try {
            retry(o, [] { throw std::runtime_error("always"); });
        } catch (const std::runtime_error&) {}
        check(pauses.size() == 5, "none after the last attempt");
        std::chrono::nanoseconds most = 100ms, sum{};
        for (const auto p : pauses) {
            check(p <= most && p >= most / 2, "within the jitter");
            most = std::min<std::chrono::nanoseconds>(2 * most, 1s);
            sum += p;
        }
        check(weft::now() - start >= sum, "and it has paused for so long");
    });
}

TEST(retries, never_try_again_after_a_stop_or_a_deadline_around_them) {
    run([] {
        int calls = 0;
        const auto fails = [&] {
            ++calls;
            throw std::runtime_error("always");
        };
        EXPECT_THROW(with_timeout(1ms, [&] { retry({.first_pause = 1h}, fails); }), timeout_error);
        EXPECT_EQ(calls, 1);
        auto f = spawn([&] {
            retry({.first_pause = 1us}, [&] {
                ++calls;
                this_fiber::sleep_for(1h);
            });
        });
        this_fiber::sleep_for(1ms);
        f.request_stop();
        EXPECT_THROW(f.join(), fiber_cancelled);
        EXPECT_LE(calls, 2);
    });
}

TEST(retries, count_a_timeout_inside_as_a_failure) {
    run([] {
        int calls = 0;
        EXPECT_THROW(retry({.attempts = 2, .first_pause = 1us},
                           [&] {
                               ++calls;
                               with_timeout(1ms, [] { this_fiber::sleep_for(1h); });
                           }),
                     timeout_error);
        EXPECT_EQ(calls, 2);
    });
}

TEST(retries, are_for_failures_that_are_worth_it) {
    int calls = 0;
    const auto only_runtime_errors = [](const std::exception_ptr& e) {
        try {
            std::rethrow_exception(e);
        } catch (const std::runtime_error&) {
            return true;
        } catch (...) {
            return false;
        }
    };
    EXPECT_THROW(retry({.first_pause = 1us, .worth_it = only_runtime_errors},
                       [&] {
                           if (++calls == 2) throw std::logic_error("for good");
                           throw std::runtime_error("again");
                       }),
                 std::logic_error);
    EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace weft::test
