// scope_elsewhere_test.cpp - scopes whose children run in another runtime than their owner, who may be a plain thread.
#include <weft/scope.hpp>

#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/eventually.hpp"
#include "support/failing_children.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

/// The runtime under test has the children; f() runs on a plain thread, or in a fiber of another runtime.
enum class owner { thread, fiber_of_another_runtime };

class scopes_elsewhere : public no_leaks, public ::testing::WithParamInterface<owner> {
protected:
    template <class F>
    void here(F f) {
        if (GetParam() == owner::thread)
            std::thread(f).join();
        else
            watched_runtime(2).run(f);
    }
    runtime& there() { return rt_; }
    std::vector<std::string> reported() {
        const std::lock_guard guard(lock_);
        return seen_;
    }

private:
    std::mutex lock_;
    std::vector<std::string> seen_;
    watched_runtime rt_{{.workers = 2, .on_unhandled = [this](const fiber_info& who, const std::exception_ptr& e) {
                             try {
                                 std::rethrow_exception(e);
                             } catch (const std::exception& x) {
                                 const std::lock_guard guard(lock_);
                                 seen_.push_back(std::string(who.id.value ? "fiber " : "thread ") + x.what());
                             }
                         }}};
};
INSTANTIATE_TEST_SUITE_P(of, scopes_elsewhere, ::testing::Values(owner::thread, owner::fiber_of_another_runtime),
                         [](const auto& each) {
                             return each.param == owner::thread ? "a_thread" : "a_fiber_of_another_runtime";
                         });

TEST_P(scopes_elsewhere, ask_F5_F7_children_run_there_and_end_before_the_scope) {
    here([&] {
        std::atomic<int> ended{0};
        const auto sum = with_scope(there(), [&](scope& s) {
            auto there_too = s.spawn([&] { return runtime::current() == &there(); });
            auto a = s.spawn({.name = "a"}, [] { return this_fiber::name().size(); });
            for (int i = 0; i < 20; ++i)
                s.spawn([&] {
                    this_fiber::sleep_for(1ms);
                    ++ended;
                });
            EXPECT_TRUE(there_too.join());
            return a.join() + 1;
        });
        EXPECT_EQ(sum, 2u);
        EXPECT_EQ(ended, 20);
    });
}

TEST_P(scopes_elsewhere, ask_F5_a_childs_failure_stops_the_owner_and_is_rethrown) {
    here([&] {
        EXPECT_EQ(failure_of([&] {
                      with_scope(there(), [](scope& s) {
                          s.spawn(fails, "one");
                          this_fiber::sleep_for(1h);
                      });
                  }),
                  "one");
        this_fiber::sleep_for(100us);  // nothing is left of the stop
    });
    EXPECT_TRUE(reported().empty());
}

TEST_P(scopes_elsewhere, ask_F5_a_further_failure_of_the_owner_is_reported) {
    here([&] {
        EXPECT_EQ(failure_of([&] {
                      with_scope(there(), [](scope& s) {
                          s.spawn(fails, "child");
                          try {
                              this_fiber::sleep_for(1h);
                          } catch (const cancelled&) {
                              fails("body");
                          }
                      });
                  }),
                  "child");
    });
    EXPECT_EQ(reported(), std::vector<std::string>{GetParam() == owner::thread ? "thread body" : "fiber body"});
}

TEST_P(scopes_elsewhere, the_owners_deadline_stops_the_children) {
    here([&] {
        std::atomic<bool> stopped{false};
        EXPECT_THROW(with_timeout(3ms,
                                  [&] {
                                      with_scope(there(), [&](scope& s) {
                                          s.spawn([&] {
                                              try {
                                                  this_fiber::sleep_for(1h);
                                              } catch (const cancelled&) {
                                                  stopped = true;
                                                  throw;
                                              }
                                          });
                                      });
                                  }),
                     timeout_error);
        EXPECT_TRUE(stopped);
    });
}

TEST_P(scopes_elsewhere, a_stop_of_the_scope_ends_in_it) {
    here([&] {
        for (int i = 0; i < 50; ++i) {
            bool went_on = false;
            with_scope(there(), [&](scope& s) {
                s.spawn([] { this_fiber::sleep_for(1h); });
                s.spawn([&] { s.request_stop(); });
                this_fiber::sleep_for(1h);
                went_on = true;
            });
            EXPECT_FALSE(went_on);
        }
        EXPECT_EQ(with_scope(there(), {.on_failure = on_failure::report}, [](scope& s) { return s.size(); }), 0u);
    });
}

TEST_P(scopes_elsewhere, ask_F5_the_policy_is_kept) {
    here([&] {
        with_scope(there(), {.on_failure = on_failure::report}, [](scope& s) {
            s.spawn(fails, "reported");
            this_fiber::sleep_for(1ms);
        });
    });
    EXPECT_EQ(reported(), std::vector<std::string>{"fiber reported"});
}

TEST(spawn_elsewhere, ask_F7_a_runtime_may_be_named) {
    watched_runtime rt(1);
    runtime& there = rt;
    auto f = spawn(
        there, [](int x) { return x; }, 3);
    EXPECT_EQ(f.join(), 3);
    EXPECT_EQ(spawn(there, {.name = "n"}, [] { return std::string(this_fiber::name()); }).join(), "n");
    std::atomic<int> ran{0};
    spawn_detached(there, [&] { ++ran; });
    spawn_detached(there, {.name = "n"}, [&] { ++ran; });
    EXPECT_TRUE(eventually([&] { return ran == 2; }));
}

TEST(scope_elsewhere_by_default, ask_F5_a_further_failure_of_a_thread_is_printed) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            runtime rt({.workers = 1});
            std::exit(failure_of([&] {
                          with_scope(rt, [](scope& s) {
                              s.spawn(fails, "first");
                              try {
                                  this_fiber::sleep_for(1h);
                              } catch (const cancelled&) {
                                  fails("second");
                              }
                          });
                      }) == "first"
                          ? 3
                          : 4);
        },
        ::testing::ExitedWithCode(3), "a plain thread.*second");
}

}  // namespace
}  // namespace weft::test
