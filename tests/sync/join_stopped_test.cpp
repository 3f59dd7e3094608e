// join_stopped_test.cpp - join() of a fiber that was stopped: fiber_cancelled for who was not, `cancelled` for who was.
#include <weft/runtime.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <weft/channel.hpp>
#include <weft/deadline.hpp>
#include <weft/scope.hpp>

#include "support/eventually.hpp"
#include "support/no_leaks.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

void waits() { this_fiber::sleep_for(1h); }

template <class F>
std::string what_is_thrown(F&& f) {
    try {
        f();
    } catch (const fiber_cancelled& e) {
        return e.what();
    } catch (const cancelled&) {
        return "cancelled";
    } catch (const timeout_error&) {
        return "timeout_error";
    }
    return "nothing";
}

class joins_of_stopped_ones : public on_workers {
protected:
    watched_runtime rt{GetParam()};
};
WEFT_ON_1_2_4_8_WORKERS(joins_of_stopped_ones);

TEST_P(joins_of_stopped_ones, throw_an_exception_that_names_the_fiber) {
    rt.run([] {
        auto named = spawn({.name = "hedge"}, waits);
        named.request_stop();
        const auto text = what_is_thrown([&] { named.join(); });
        EXPECT_TRUE(text.starts_with("weft: join: fiber \"hedge\" (")) << text;
        EXPECT_TRUE(text.ends_with(") was stopped")) << text;
        EXPECT_NE(text.find("join_stopped_test.cpp:"), text.npos) << text;
        EXPECT_FALSE(named.joinable());
        auto unnamed = spawn([] { waits(); });
        unnamed.request_stop();
        EXPECT_TRUE(what_is_thrown([&] { unnamed.join(); }).starts_with("weft: join: an unnamed fiber (spawned at "));
        // with more than five arguments its place is not known
        auto nowhere = spawn([](int, int, int, int, int, int) { waits(); }, 1, 2, 3, 4, 5, 6);
        nowhere.request_stop();
        EXPECT_EQ(what_is_thrown([&] { nowhere.join(); }), "weft: join: an unnamed fiber was stopped");
    });
}

TEST_P(joins_of_stopped_ones, leave_run_as_an_exception) {
    EXPECT_THROW(rt.run([] {
        auto f = spawn(waits);
        f.request_stop();
        f.join();
    }),
                 std::runtime_error);
    EXPECT_THROW(rt.run([] { throw cancelled(); }), fiber_cancelled);
}

TEST_P(joins_of_stopped_ones, on_a_plain_thread_throw_it_too) {
    auto f = rt.spawn(waits);
    f.request_stop();
    EXPECT_THROW(f.join(), fiber_cancelled);
}

TEST_P(joins_of_stopped_ones, throw_cancelled_for_a_caller_that_was_stopped) {
    rt.run([] {
        auto joiner = spawn([] {
            auto f = spawn(waits);
            f.request_stop();
            EXPECT_TRUE(eventually_here([&] { return f.done() && this_fiber::stop_token().stop_requested(); }));
            const shield postponed;
            EXPECT_EQ(what_is_thrown([&] { f.join(); }), "cancelled") << "its own stop, though under a shield";
        });
        joiner.request_stop();
        joiner.join();
    });
}

TEST_P(joins_of_stopped_ones, under_a_deadline_that_has_passed_are_a_timeout) {
    rt.run([] {
        auto f = spawn(waits);
        EXPECT_EQ(what_is_thrown([&] { with_timeout(1ms, [&] { f.join(); }); }), "timeout_error");
        f.request_stop();
        EXPECT_TRUE(f.join_for(10s));
        EXPECT_EQ(what_is_thrown([&] {
                      with_timeout(1ms, [&] {
                          compute_for(2ms);
                          f.join();
                      });
                  }),
                  "timeout_error");
        EXPECT_TRUE(f.joinable());
        EXPECT_NE(what_is_thrown([&] { with_timeout(1h, [&] { f.join(); }); }).find("was stopped"), std::string::npos);
    });
}

TEST_P(joins_of_stopped_ones, of_a_child_alone_fail_the_body_that_does_not_catch_it) {
    rt.run([] {
        EXPECT_THROW(with_scope([](scope& s) {
                         auto c = s.spawn(waits);
                         s.spawn(waits);
                         c.request_stop();
                         c.join();
                     }),
                     fiber_cancelled);
    });
}

TEST_P(joins_of_stopped_ones, in_a_stopped_scope_are_absorbed_by_it) {
    rt.run([] {
        with_scope([](scope& s) {
            auto c = s.spawn(waits);
            s.request_stop();
            const shield to_the_end;
            c.join();
        });
    });
}

// Stops reach the children in groups: who has ended by the stop is joined by one that it has not reached yet.
TEST_P(joins_of_stopped_ones, among_many_siblings_are_no_failure_of_a_stopped_scope) {
    rt.run([] {
        for (int round = 0; round < 20; ++round)
            with_scope([](scope& s) {
                std::vector<child<>> first;
                for (int i = 0; i < 70; ++i) first.push_back(s.spawn(waits));
                for (auto& f : first)
                    s.spawn([f = std::move(f)]() mutable {
                        const shield postponed(1ms);
                        while (!f.done()) this_fiber::yield();
                        f.join();
                    });
                s.request_stop();
            });
    });
}

TEST_P(joins_of_stopped_ones, while_the_runtime_stops_all_are_no_failure) {
    for (int round = 0; round < 20; ++round) {
        std::atomic<int> failures{0};
        {
            runtime stopped(
                {.workers = GetParam(), .on_unhandled = [&](const fiber_info&, const std::exception_ptr&) { ++failures; }});
            for (int i = 0; i < 20; ++i)
                stopped.spawn_detached([] {
                    auto f = spawn(waits);
                    f.join();
                });
        }
        EXPECT_EQ(failures, 0);
    }
}

}  // namespace
}  // namespace weft::test
