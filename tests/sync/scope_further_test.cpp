// scope_further_test.cpp - who is told of a scope's further failures, with whose name.
#include <weft/scope.hpp>

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <algorithm>
#include <exception>
#include <fstream>
#include <string>
#include <vector>

#include <weft/latch.hpp>

#include "arch/sanitizer.hpp"
#include "support/failing_children.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

class further_failures : public failing_children {
protected:
    scope_options listening() {
        return {.on_further_failure = [this](const fiber_info& f, std::exception_ptr e) {
            told.push_back(std::string(f.name) + ": " + failure_of([&] { std::rethrow_exception(e); }));
        }};
    }
    static void fails_when_stopped(const char* what) {
        try {
            this_fiber::sleep_for(1h);
        } catch (const cancelled&) {
            fails(what);
        }
    }
    std::vector<std::string> told;
};
WEFT_ON_1_2_4_8_WORKERS(further_failures);

TEST_P(further_failures, of_a_child_go_to_the_scopes_own_hook_with_its_name) {
    rt.run([&] {
        EXPECT_EQ(failure_of([&] {
                      with_scope(listening(), [](scope& s) {
                          s.spawn({.name = "late"}, [] { fails_when_stopped("second"); });
                          this_fiber::sleep_for(1ms);
                          fails("first");
                      });
                  }),
                  "first");
        EXPECT_EQ(told, std::vector<std::string>{"late: second"});
    });
    EXPECT_TRUE(reported().empty());
}

TEST_P(further_failures, of_the_body_go_there_too_with_the_name_of_the_fiber_it_runs_in) {
    rt.run([&] {
        EXPECT_EQ(failure_of([&] {
                      with_scope(listening(), [](scope& s) {
                          s.spawn({.name = "early"}, fails, "first");
                          fails_when_stopped("second");
                      });
                  }),
                  "first");
        EXPECT_EQ(told, std::vector<std::string>{"main: second"});
    });
}

TEST_P(further_failures, are_told_to_a_hook_that_parks_while_the_scope_waits) {
    rt.run([&] {
        bool told_all = false;
        const scope_options slow{.on_further_failure = [&](const fiber_info&, std::exception_ptr) {
            const shield from_the_stop;
            this_fiber::sleep_for(3ms);
            told_all = true;
        }};
        EXPECT_EQ(failure_of([&] {
                      with_scope(slow, [](scope& s) {
                          s.spawn([] { fails_when_stopped("second"); });
                          this_fiber::sleep_for(1ms);
                          fails("first");
                      });
                  }),
                  "first");
        EXPECT_TRUE(told_all);
    });
}

TEST_P(further_failures, of_a_reporting_scope_stay_with_the_runtime) {
    rt.run([&] {
        auto options = listening();
        options.on_failure = on_failure::report;
        with_scope(options, [](scope& s) {
            s.spawn(fails, "one").join_for(10s);
            s.spawn(fails, "two").join_for(10s);
        });
    });
    EXPECT_TRUE(told.empty());
    EXPECT_EQ(reported(), (std::vector<std::string>{"one", "two"}));
}

TEST(further_failures_by_default, are_a_line_that_names_the_fiber_and_says_what_they_are) {
    const auto two_failures = [](bool named) {
        run([named] {
            try {
                with_scope([&](scope& s) {
                    const auto late = [] {
                        try {
                            this_fiber::sleep_for(1h);
                        } catch (const cancelled&) {
                            fails("second");
                        }
                    };
                    if (named)
                        s.spawn({.name = "late"}, late);
                    else
                        s.spawn(late);
                    this_fiber::sleep_for(1ms);
                    fails("first");
                });
            } catch (const failure&) {}
        });
        std::exit(3);
    };
    EXPECT_EXIT(two_failures(true), ::testing::ExitedWithCode(3),
                "^weft: scope: a further failure: fiber \"late\" \\(.*scope_further_test.cpp:[0-9]+\\): second\n$");
    EXPECT_EXIT(two_failures(false), ::testing::ExitedWithCode(3),
                "^weft: scope: a further failure: an unnamed fiber \\(spawned at .*scope_further_test.cpp:[0-9]+\\): second\n$");
}

#if !WEFT_UNDER_ASAN && !WEFT_UNDER_TSAN  // which need more address space than such a limit leaves

// What was about to be said needs memory, and memory is often what the fiber has failed of.
TEST(further_failures_by_default, are_a_line_where_there_is_no_memory) {
    struct long_failure : std::exception {
        const char* what() const noexcept override { return text.c_str(); }
        std::string text = std::string(64u << 20, 'x');
    };
    const auto two_failures = [] {
        // The text takes long to make on a loaded machine, so the fiber would be reported as a hog, and there is no memory for the
        // thread that reports. Without a time slice there are no such reports.
        runtime rt({.time_slice = 0s});
        rt.run([] {
            try {
                with_scope([](scope& s) {
                    const auto second = std::make_exception_ptr(long_failure());
                    const shield through_the_first;
                    s.spawn(fails, "first").join_for(10s);
                    std::size_t pages = 0;
                    std::ifstream("/proc/self/statm") >> pages;
                    const rlimit little{pages * 4096 + (16u << 20), RLIM_INFINITY};
                    ::setrlimit(RLIMIT_AS, &little);
                    s.spawn({.name = "late"}, [&] { std::rethrow_exception(second); }).join_for(10s);
                });
            } catch (const failure&) {}
        });
        std::exit(3);
    };
    EXPECT_EXIT(two_failures(), ::testing::ExitedWithCode(3), "^weft: fiber \"late\" failed; there is no memory to say how\n$");
}

#endif

}  // namespace
}  // namespace weft::test
