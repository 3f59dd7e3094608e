// scope_limit_test.cpp - a scope with so many children at most: spawn waits for one to end.
#include <weft/scope.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "support/eventually.hpp"
#include "support/failing_children.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

class limited_scopes : public failing_children {};
WEFT_ON_1_2_4_8_WORKERS(limited_scopes);

TEST_P(limited_scopes, never_have_more_children_than_that) {
    rt.run([] {
        std::atomic<int> inside{0}, most{0}, ran{0};
        with_scope({.limit = 3}, [&](scope& s) {
            for (int i = 0; i < 100; ++i)
                s.spawn([&] {
                    const int now = ++inside;
                    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {}
                    this_fiber::yield();
                    ++ran;
                    --inside;
                });
        });
        EXPECT_EQ(ran, 100);
        EXPECT_LE(most, 3);
    });
}

TEST_P(limited_scopes, let_a_plain_thread_sleep_that_spawns) {
    std::atomic<int> ran{0};
    with_scope(static_cast<runtime&>(rt), {.limit = 1}, [&](scope& s) {
        for (int i = 0; i < 20; ++i)
            s.spawn([&] {
                this_fiber::yield();
                ++ran;
            });
    });
    EXPECT_EQ(ran, 20);
}

TEST_P(limited_scopes, say_what_their_spawner_waits_for) {
    auto f = rt.spawn([] {
        with_scope({.limit = 1}, [](scope& s) {
            s.spawn([] { this_fiber::sleep_for(1h); });
            s.spawn([] {});
        });
    });
    EXPECT_TRUE(eventually([&] { return waiting_for(rt, "limit of its scope") == 1; }));
    f.request_stop();
    EXPECT_THROW(f.join(), fiber_cancelled);
}

TEST_P(limited_scopes, let_go_of_a_spawner_that_is_stopped_or_late) {
    rt.run([] {
        with_scope({.limit = 1}, [](scope& s) {
            auto blocks = s.spawn([] { this_fiber::sleep_for(1h); });
            EXPECT_THROW(with_timeout(1ms, [&] { s.spawn([] {}); }), timeout_error);
            EXPECT_EQ(s.size(), 1u);
            EXPECT_EQ(runtime::current()->stats().refused, 1u);
            blocks.request_stop();
            s.spawn([] {}).join();
        });
        bool went_on = false;
        with_scope({.limit = 1}, [&](scope& s) {
            s.spawn([&] {
                this_fiber::sleep_for(1ms);
                s.request_stop();
                this_fiber::sleep_for(1h);
            });
            s.spawn([] {});
            went_on = true;
        });
        EXPECT_FALSE(went_on);
    });
}

TEST_P(limited_scopes, do_not_start_another_child_when_one_has_failed) {
    rt.run([] {
        for (int round = 0; round < 50; ++round) {
            bool started = false;
            EXPECT_EQ(failure_of([&] {
                          with_scope({.limit = 1}, [&](scope& s) {
                              s.spawn(fails, "one");
                              this_fiber::yield();
                              s.spawn([&] {
                                  this_fiber::yield();
                                  started = true;
                              });
                              this_fiber::yield();
                          });
                      }),
                      "one");
            EXPECT_FALSE(started);
        }
    });
}

TEST_P(limited_scopes, give_places_in_order_of_arrival) {
    rt.run([] {
        std::vector<int> order;
        with_scope([&](scope& all) {
            std::atomic<bool> open{false};
            with_scope({.limit = 1}, [&](scope& s) {
                s.spawn([&] {
                    while (!open) this_fiber::sleep_for(100us);
                });
                std::vector<child<>> spawners;
                for (int i = 0; i < 5; ++i) {
                    spawners.push_back(all.spawn([&, i] { s.spawn([&, i] { order.push_back(i); }); }));
                    EXPECT_TRUE(eventually_here([&] { return waiting_for(*runtime::current(), "limit of its scope") == i + 1; }));
                }
                open = true;
                for (auto& spawner : spawners) spawner.join();
            });
        });
        EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
    });
}

TEST_P(limited_scopes, give_the_place_back_of_a_child_that_could_not_be_made) {
    rt.run([] {
        struct does_not_copy {
            does_not_copy() = default;
            does_not_copy(const does_not_copy&) { throw failure("copy"); }
            void operator()() const {}
        };
        with_scope({.limit = 1}, [](scope& s) {
            const does_not_copy f;
            for (int i = 0; i < 3; ++i) EXPECT_EQ(failure_of([&] { s.spawn(f); }), "copy");
            s.spawn([] {}).join();
        });
    });
}

}  // namespace
}  // namespace weft::test
