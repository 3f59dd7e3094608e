// fiber_unhandled_test.cpp - failures that nobody joins are reported, once, and stops are none.
#include <weft/fiber.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/eventually.hpp"
#include "support/no_leaks.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

/// Failures nobody joins, as reported.
class unhandled : public on_workers {
protected:
    struct report {
        std::string name, what;
        bool detached;
        friend bool operator==(const report&, const report&) = default;
    };
    std::vector<report> reports() {
        const std::lock_guard guard(lock);
        return seen;
    }
    std::mutex lock;
    std::vector<report> seen;
    watched_runtime rt{{.workers = GetParam(), .on_unhandled = [this](const fiber_info& f, const std::exception_ptr& e) {
        std::string what = "?";
        try {
            std::rethrow_exception(e);
        } catch (const std::exception& x) {
            what = x.what();
        }
        const std::lock_guard guard(lock);
        seen.push_back({std::string(f.name), what, f.detached});
    }}};
};
WEFT_ON_1_2_4_8_WORKERS(unhandled);

TEST_P(unhandled, failures_of_dropped_handles_are_reported) {
    rt.run([] { auto f = spawn({.name = "dropped"}, [] { throw std::runtime_error("lost"); }); });
    EXPECT_EQ(reports(), (std::vector<report>{{"dropped", "lost", false}}));
}

TEST_P(unhandled, failures_of_detached_fibers_are_reported) {
    rt.run([] {
        spawn_detached({.name = "never joined"}, [] { throw std::runtime_error("a"); });
    });
    EXPECT_TRUE(eventually([&] { return reports().size() == 1; }));
    EXPECT_EQ(reports(), (std::vector<report>{{"never joined", "a", true}}));
}

TEST_P(unhandled, a_failure_is_reported_by_detach_if_it_came_before) {
    rt.run([] {
        auto f = spawn({.name = "quick"}, [] { throw std::runtime_error("b"); });
        EXPECT_TRUE(f.join_for(10s));
        f.detach();
    });
    EXPECT_EQ(reports(), (std::vector<report>{{"quick", "b", true}}));
}

TEST_P(unhandled, failures_that_were_joined_are_not_reported) {
    rt.run([] {
        auto f = spawn([] { throw std::runtime_error("taken"); });
        EXPECT_THROW(f.join(), std::runtime_error);
    });
    EXPECT_TRUE(reports().empty());
}

TEST_P(unhandled, a_stop_is_no_failure) {
    rt.run([] {
        auto f = spawn([] { this_fiber::sleep_for(1h); });
        spawn([] { this_fiber::sleep_for(1h); }).detach();
        this_fiber::sleep_for(1ms);
    });
    EXPECT_TRUE(rt.shutdown(10s));
    EXPECT_TRUE(reports().empty());
}

TEST(unhandled_by_default, a_dropped_failure_is_printed_and_the_program_goes_on) {
    EXPECT_EXIT(
        {
            run([] {
                auto f = spawn({.name = "lost"}, [] { throw std::runtime_error("the reason"); });
            });
            std::exit(3);
        },
        ::testing::ExitedWithCode(3), "\"lost\".*fiber_unhandled_test.*the reason");
}

TEST(unhandled_by_default, a_detached_failure_terminates) {
    EXPECT_DEATH(run([] {
                     spawn_detached({.name = "nobody's"}, [] { throw std::runtime_error("the reason"); });
                     this_fiber::sleep_for(10s);
                 }),
                 "nobody's.*the reason");
}

}  // namespace
}  // namespace weft::test
