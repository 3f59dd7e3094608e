// ignored_stop_test.cpp - a fiber that swallows `cancelled` is named, and nobody else is.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include <weft/deadline.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>

#include "support/eventually.hpp"
#include "support/no_leaks.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

class ignored_stops : public no_leaks {
protected:
    runtime_options listening() {
        return {.workers = 2, .on_hog = [this](const hog_report& r) {
                    if (r.what != hog_report::doing::ignores_stop) return;
                    const std::lock_guard guard(lock_);
                    told_.push_back({std::string(r.fiber.name), r.held, r.cancelled});
                }};
    }
    struct report {
        std::string name;
        std::chrono::nanoseconds since;
        std::uint32_t throws;
    };
    std::vector<report> told() {
        const std::lock_guard guard(lock_);
        return told_;
    }

private:
    std::mutex lock_;
    std::vector<report> told_;
};

TEST_F(ignored_stops, are_told_of_a_fiber_whose_catch_swallows_cancelled) {
    watched_runtime rt(listening());
    std::atomic<bool> over{false};
    auto stubborn = rt.spawn({.name = "stubborn"}, [&] {
        while (!over) try {
                this_fiber::sleep_for(1ms);
            } catch (...) {}
    });
    auto looping = rt.spawn({.name = "attempts"}, [&] {  // no stop: a deadline's `cancelled` does not count
        while (!over) try {
                with_timeout(10us, [] { this_fiber::sleep_for(1h); });
            } catch (const timeout_error&) {}
    });
    auto obeys = rt.spawn({.name = "scopes"}, [&] {  // each time it leaves the scope that was stopped
        while (!over) {
            with_scope([](scope& s) {
                s.request_stop();
                this_fiber::yield();
            });
            this_fiber::sleep_for(1ms);
        }
    });
    stubborn.request_stop();
    EXPECT_TRUE(eventually([&] { return !told().empty(); }));
    over = true;
    stubborn.join();
    looping.join();
    obeys.join();
    ASSERT_EQ(told().size(), 1u) << "once for a while";
    const auto first = told().front();
    EXPECT_EQ(first.name, "stubborn");
    EXPECT_GE(first.since, 1s);
    EXPECT_GE(first.throws, 100u);
}

TEST_F(ignored_stops, by_default_are_a_line_that_says_what_is_wrong) {
    ::testing::internal::CaptureStderr();
    std::string text;
    {
        watched_runtime rt(1);
        std::atomic<bool> over{false};
        auto f = rt.spawn({.name = "stubborn"}, [&] {
            while (!over) try {
                    this_fiber::yield();
                } catch (...) {}
        });
        f.request_stop();
        std::this_thread::sleep_for(2500ms);
        over = true;
        f.join();
    }
    text = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(text.find("\"stubborn\""), text.npos) << text;
    EXPECT_NE(text.find(" ms ago and has been thrown cancelled "), text.npos) << text;
    EXPECT_NE(text.find(" times: a catch (...) swallows it\n"), text.npos) << text;
}

}  // namespace
}  // namespace weft::test
