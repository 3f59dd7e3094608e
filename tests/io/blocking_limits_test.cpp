// blocking_limits_test.cpp - what happens when all threads of weft::blocking are busy: it is counted and said, and nobody else stands still.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <optional>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <vector>

#include <weft/blocking.hpp>
#include <weft/deadline.hpp>
#include <weft/fiber.hpp>
#include <weft/io/process.hpp>
#include <weft/net/resolve.hpp>
#include <weft/runtime.hpp>

#include "io/blocking_pool.hpp"
#include "support/eventually.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

using detail::blocking_job;
using detail::blocking_pool;

struct gated_job final : blocking_job {
    void run() noexcept override {
        started.release();
        gate.acquire();
        ended.release();
    }
    void refuse() noexcept override {}

    std::binary_semaphore started{0}, gate{0}, ended{0};
};

TEST(blocking_limits, a_call_that_waits_for_long_is_said_once_with_who_has_the_threads) {
    blocking_pool pool({.max_threads = 1, .most_threads = 1, .notice = 5ms});
    gated_job busy, waiting, later;
    pool.submit(busy);
    busy.started.acquire();
    EXPECT_EQ(pool.submit(waiting), blocking_pool::submitted::queued);
    ::testing::internal::CaptureStderr();
    std::this_thread::sleep_for(6ms);
    pool.notice_delay(waiting);
    const auto said = ::testing::internal::GetCapturedStderr();
    EXPECT_THAT(said,
                ::testing::HasSubstr(
                    "weft: a call of weft::blocking has waited for 5 ms, 1 wait: 1 threads are busy, and there are at most 1 "
                    "(runtime_options::blocking_threads); they are busy for fiber \"\""));
    ::testing::internal::CaptureStderr();
    pool.notice_delay(waiting);
    pool.submit(later);
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
    for (auto* j : {&busy, &waiting, &later}) j->gate.release();
    for (auto* j : {&busy, &waiting, &later}) j->ended.acquire();
}

// Nobody waits for a detached call: the next one says so.
TEST(blocking_limits, a_call_behind_one_that_waits_for_long_says_so_too) {
    blocking_pool pool({.max_threads = 1, .most_threads = 1, .notice = 5ms});
    gated_job busy, waiting, later;
    pool.submit(busy);
    busy.started.acquire();
    pool.submit(waiting);
    std::this_thread::sleep_for(6ms);
    ::testing::internal::CaptureStderr();
    pool.submit(later);
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::HasSubstr("2 wait: 1 threads are busy"));
    for (auto* j : {&busy, &waiting, &later}) j->gate.release();
    for (auto* j : {&busy, &waiting, &later}) j->ended.acquire();
}

TEST(blocking_limits, callers_are_named_those_with_most_calls_first) {
    weft::run([] {
        std::vector<detail::call_origin> all;
        for (const char* const name : {"a", "b", "b"})
            spawn({.name = name}, [&] { all.push_back(detail::origin_of_caller()); }).join();
        const auto text = detail::listed(all);
        EXPECT_THAT(
            text, ::testing::MatchesRegex("fiber \"b\" 2 times, fiber \"a\"|fiber \"b\" \\(.*\\) 2 times, fiber \"a\" \\(.*\\)"));
    });
    EXPECT_EQ(detail::listed({}), "");
}

/// Holds all threads of weft::blocking as long as it lives.
class all_busy {
public:
    explicit all_busy(int threads) {
        for (int i = 0; i < threads; ++i)
            holders_.push_back(spawn({.name = "holder"}, [this] {
                blocking([this] {
                    ++held_;
                    gate_.acquire();
                });
            }));
        EXPECT_TRUE(eventually_here([&] { return held_ == threads; }));
    }
    ~all_busy() { gate_.release(static_cast<std::ptrdiff_t>(holders_.size())); }

private:
    std::atomic<int> held_{0};
    std::counting_semaphore<> gate_{0};
    std::vector<fiber<>> holders_;
};

TEST(blocking_limits, calls_that_wait_are_counted) {
    runtime rt({.workers = 2, .blocking_threads = 2});
    rt.run([&] {
        std::optional<all_busy> busy(std::in_place, 2);
        EXPECT_EQ(rt.stats().blocking_threads, 2u);
        EXPECT_EQ(rt.stats().blocking_waiting, 0u);
        auto waits = spawn([] { return blocking([] { return 7; }); });
        EXPECT_TRUE(eventually_here([&] { return rt.stats().blocking_waiting == 1; }));
        EXPECT_EQ(rt.stats().blocking_threads, 2u);
        busy.reset();
        EXPECT_EQ(waits.join(), 7);
        EXPECT_EQ(rt.stats().blocking_waiting, 0u);
    });
}

TEST(blocking_limits, look_ups_and_child_processes_do_not_wait_for_calls) {
    runtime rt({.workers = 2, .blocking_threads = 1});
    rt.run([&] {
        const all_busy busy(1);
        with_timeout(60s, [] {
            std::error_code whatever_it_says;
            static_cast<void>(net::resolve("localhost", 80, whatever_it_says));
            EXPECT_NE(whatever_it_says, std::errc::timed_out);
            EXPECT_TRUE(io::process({"true"}).wait().success());
        });
    });
}

TEST(blocking_limits, their_number_is_checked_and_the_environment_has_the_last_word) {
    EXPECT_THROW(runtime({.workers = 1, .blocking_threads = 0}), std::invalid_argument);
    EXPECT_THROW(runtime({.workers = 1, .blocking_threads = 65537}), std::invalid_argument);
    ::setenv("WEFT_BLOCKING_THREADS", "1", 1);
    {
        runtime rt({.workers = 2, .blocking_threads = 100});
        rt.run([&] {
            std::optional<all_busy> busy(std::in_place, 1);
            auto waits = spawn([] { blocking([] {}); });
            EXPECT_TRUE(eventually_here([&] { return rt.stats().blocking_waiting == 1; }));
            busy.reset();
        });
    }
    ::setenv("WEFT_BLOCKING_THREADS", "none", 1);
    EXPECT_THROW(runtime({.workers = 1}), std::invalid_argument);
    ::unsetenv("WEFT_BLOCKING_THREADS");
}

}  // namespace
}  // namespace weft::test
