#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <weft/blocking.hpp>
#include <weft/deadline.hpp>
#include <weft/runtime.hpp>

#include "io_fixture.hpp"

namespace weft::test {
namespace {

/// An API of callbacks, as libraries have it: calls back from a thread of its own.
void add_later(int a, int b, std::function<void(int sum, bool failed)> callback) {
    std::thread([=] {
        std::this_thread::sleep_for(1ms);
        callback(a + b, a < 0);
    }).detach();
}

int add(int a, int b) {
    return weft::await_callback<int>([&](weft::resumer<int> resume) {
        add_later(a, b, [resume](int sum, bool failed) {
            if (failed)
                resume(std::make_exception_ptr(std::domain_error("negative")));
            else
                resume(sum);
        });
    });
}

TEST(await_callback, seed_N3_Q11_a_callback_function_becomes_a_blocking_call) {
    weft::run([] { EXPECT_EQ(add(1, 2), 3); });
    EXPECT_EQ(add(3, 4), 7);  // on a plain thread too
}

TEST(await_callback, seed_N5_an_error_of_the_callback_is_thrown_at_the_call_site) {
    weft::run([] { EXPECT_THROW(add(-1, 2), std::domain_error); });
}

TEST(await_callback_death, an_error_that_is_null_stops_the_program) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto message = "weft: fatal: a failure needs an exception, not a null pointer \\(await_callback: resume\\)";
    EXPECT_DEATH(static_cast<void>(weft::await_callback<std::string>([](auto resume) { resume(std::exception_ptr()); })),
                 message);
    EXPECT_DEATH(weft::await_callback<void>([](auto resume) { resume(std::exception_ptr()); }), message);
    EXPECT_DEATH(weft::run([] {
                     weft::await_callback<int>([](auto resume) {
                         resume(1);
                         resume(std::exception_ptr());
                     });
                 }),
                 message);
}

TEST(await_callback, seed_N4_a_callback_in_the_same_call_loses_nothing) {
    weft::run([] {
        EXPECT_EQ(weft::await_callback<std::string>([](auto resume) { resume("at once"); }), "at once");
        weft::await_callback<void>([](auto resume) { resume(); });
    });
}

TEST(await_callback, seed_N4_a_second_callback_is_ignored_and_counted) {
    weft::run([] {
        const auto before = weft::ignored_resumes();
        EXPECT_EQ(weft::await_callback<int>([](auto resume) {
                      resume(1);
                      resume(2);
                      resume(std::make_exception_ptr(3));
                  }),
                  1);
        EXPECT_EQ(weft::ignored_resumes(), before + 2);
    });
}

TEST(await_callback, seed_N4_a_late_callback_finds_nobody_and_harms_nobody) {
    weft::run([] {
        std::optional<weft::resumer<int>> kept;
        const auto before = weft::ignored_resumes();
        EXPECT_THROW(weft::with_timeout(100ms, [&] { weft::await_callback<int>([&](auto resume) { kept = resume; }); }),
                     weft::timeout_error);
        EXPECT_EQ(weft::ignored_resumes(), before);
        (*kept)(7);
        EXPECT_EQ(weft::ignored_resumes(), before + 1);
    });
}

TEST(await_callback, move_only_and_large_values) {
    weft::run([] {
        auto p = weft::await_callback<std::unique_ptr<int>>([](auto resume) { resume(std::make_unique<int>(4)); });
        EXPECT_EQ(*p, 4);
    });
}

TEST(await_callback, what_start_throws_comes_out) {
    weft::run([] {
        std::optional<weft::resumer<int>> kept;
        const auto before = weft::ignored_resumes();
        EXPECT_THROW(weft::await_callback<int>([&](auto resume) {
                         kept = resume;
                         throw std::logic_error("refused");
                     }),
                     std::logic_error);
        (*kept)(1);
        EXPECT_EQ(weft::ignored_resumes(), before + 1);
    });
}

TEST(await_callback, a_lost_callback_is_a_broken_promise) {
    weft::run([] { EXPECT_THROW(weft::await_callback<int>([](auto) {}), std::future_error); });
}

TEST(await_callback, a_stop_calls_on_cancel_once_shielded_and_unwinds) {
    weft::run([] {
        int cancels = 0;
        std::optional<weft::resumer<int>> kept;
        auto f = weft::spawn([&] {
            weft::await_callback<int>([&](auto resume) { kept = resume; },
                                      [&] {
                                          ++cancels;
                                          weft::this_fiber::sleep_for(1ms);  // may wait
                                      });
        });
        weft::this_fiber::sleep_for(5ms);
        f.request_stop();
        EXPECT_THROW(f.join(), weft::fiber_cancelled);
        EXPECT_EQ(cancels, 1);
    });
}

TEST(await_callback, on_cancel_may_make_the_callback_come) {
    weft::run([] {
        std::optional<weft::resumer<int>> kept;
        auto f =
            weft::spawn([&] { return weft::await_callback<int>([&](auto resume) { kept = resume; }, [&] { (*kept)(-1); }); });
        weft::this_fiber::sleep_for(5ms);
        f.request_stop();
        EXPECT_THROW(f.join(), weft::fiber_cancelled);
    });
}

TEST(await_callback, looks_at_a_stop_on_entry) {
    weft::run(
        [] {
            bool started = false;
            auto f = weft::spawn([&] {
                weft::await_callback<int>([&](auto resume) {
                    started = true;
                    resume(1);
                });
            });
            f.request_stop();
            EXPECT_THROW(f.join(), weft::fiber_cancelled);
            EXPECT_FALSE(started);
        },
        {.workers = 1});
}

TEST(await_callback, seed_N4_callbacks_race_with_parks_and_stops_stress) {
    const unsigned seed = std::random_device{}();
    std::cout << "seed " << seed << '\n';
    for (unsigned workers : {1u, 2u, 4u, 8u})
        weft::run(
            [&] {
                std::mt19937 random(seed);
                std::atomic<int> values{0}, stops{0};
                for (int round = 0; round < 40; ++round) {
                    std::vector<weft::resumer<int>> calls;
                    std::vector<weft::fiber<void>> fibers;
                    std::mutex lock;
                    for (int i = 0; i < 10; ++i)
                        fibers.push_back(weft::spawn([&] {
                            try {
                                EXPECT_EQ(weft::await_callback<int>([&](auto resume) {
                                              const std::lock_guard guard(lock);
                                              calls.push_back(resume);
                                          }),
                                          9);
                                ++values;
                            } catch (const weft::cancelled&) { ++stops; }
                        }));
                    std::jthread caller([&] {
                        for (int called = 0; called < 10;) {
                            const std::lock_guard guard(lock);
                            for (auto& c : calls) {
                                c(9);
                                c(8);
                                ++called;
                            }
                            calls.clear();
                            if (round % 2) break;  // the stops below decide the rest
                        }
                    });
                    if (round % 2)
                        for (auto& f : fibers)
                            if (random() % 2) f.request_stop();
                    if (round % 2) {
                        weft::this_fiber::yield();
                        for (auto& f : fibers) f.request_stop();
                    }
                    for (auto& f : fibers) f.join();
                }
                EXPECT_EQ(values + stops, 400);
            },
            {.workers = workers});
}

}  // namespace
}  // namespace weft::test
