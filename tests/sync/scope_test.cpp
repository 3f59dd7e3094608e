// scope_test.cpp - a scope ends after its children, hands out what they return, and rethrows the first failure.
#include <weft/scope.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/eventually.hpp"
#include "support/no_leaks.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

class scopes : public on_workers {
protected:
    watched_runtime rt{GetParam()};
};
WEFT_ON_1_2_4_8_WORKERS(scopes);

TEST_P(scopes, return_what_the_body_returns) {
    rt.run([] {
        EXPECT_EQ(with_scope([](scope& s) {
                      auto a = s.spawn([] { return 1; });
                      auto b = s.spawn([](int x) { return x; }, 2);
                      return a.join() + b.join();
                  }),
                  3);
        EXPECT_EQ(*with_scope([](scope&) { return std::make_unique<int>(4); }), 4);
        int value = 5;
        EXPECT_EQ(&with_scope([&](scope&) -> int& { return value; }), &value);
    });
}

TEST_P(scopes, end_after_their_children) {
    rt.run([] {
        std::atomic<int> ended{0};
        with_scope([&](scope& s) {
            for (int i = 0; i < 50; ++i)
                s.spawn([&, i] {
                    if (i % 2) this_fiber::sleep_for(1ms);
                    ++ended;
                });
        });
        EXPECT_EQ(ended, 50);
    });
}

TEST_P(scopes, know_how_many_children_run) {
    rt.run([] {
        with_scope([](scope& s) {
            EXPECT_EQ(s.size(), 0u);
            auto child = s.spawn([] { this_fiber::sleep_for(1h); });
            EXPECT_EQ(s.size(), 1u);
            child.request_stop();
            EXPECT_TRUE(eventually_here([&] { return s.size() == 0; }));
        });
    });
}

TEST_P(scopes, children_may_spawn_siblings_also_after_the_body_has_ended) {
    rt.run([] {
        std::atomic<int> ran{0};
        std::function<void(scope&, int)> tree = [&](scope& s, int depth) {
            ++ran;
            this_fiber::sleep_for(100us);
            for (int i = 0; depth > 0 && i < 2; ++i) s.spawn(tree, std::ref(s), depth - 1);
        };
        with_scope([&](scope& s) {
            s.spawn(tree, std::ref(s), 4);
            s.spawn([&] {
                this_fiber::sleep_for(2ms);
                tree(s, 3);
            });
        });
        EXPECT_EQ(ran, 31 + 15);
    });
}

TEST_P(scopes, nest) {
    rt.run([] {
        const int sum = with_scope([](scope& outer) {
            std::vector<child<int>> parts;
            for (int i = 0; i < 5; ++i)
                parts.push_back(outer.spawn([i] {
                    return with_scope([i](scope& inner) {
                        auto a = inner.spawn([i] { return i; });
                        auto b = inner.spawn([i] { return 10 * i; });
                        return a.join() + b.join();
                    });
                }));
            int n = 0;
            for (auto& p : parts) n += p.join();
            return n;
        });
        EXPECT_EQ(sum, 110);
    });
}

TEST_P(scopes, a_child_handle_waits_stops_and_asks) {
    rt.run([] {
        with_scope([](scope& s) {
            child<> none;
            EXPECT_FALSE(none.joinable());
            EXPECT_FALSE(none.done());
            EXPECT_FALSE(none.request_stop());
            auto c = s.spawn({.name = "child"}, [] {
                EXPECT_EQ(this_fiber::name(), "child");
                this_fiber::sleep_for(1h);
            });
            EXPECT_NE(c.id(), fiber_id());
            EXPECT_FALSE(c.join_for(1ms));
            EXPECT_FALSE(c.done());
            EXPECT_FALSE(c.join_until(std::chrono::system_clock::now() + 1ms));
            EXPECT_TRUE(c.request_stop());
            EXPECT_TRUE(c.join_for(std::chrono::hours::max()));
            EXPECT_TRUE(c.done());
            EXPECT_THROW(c.join(), fiber_cancelled);
            EXPECT_FALSE(c.joinable());
        });
    });
}

TEST_P(scopes, dropping_a_child_handle_does_nothing) {
    rt.run([] {
        bool ended = false;
        with_scope([&](scope& s) {
            {
                auto c = s.spawn([&] {
                    this_fiber::sleep_for(2ms);
                    ended = true;
                });
            }
            EXPECT_FALSE(ended);
        });
        EXPECT_TRUE(ended);
    });
}

TEST_P(scopes, a_child_outlives_its_handle_moved_out_of_the_body) {
    rt.run([] {
        child<int> kept;
        with_scope([&](scope& s) { kept = s.spawn([] { return 6; }); });
        EXPECT_TRUE(kept.done());
        EXPECT_EQ(kept.join(), 6);
    });
}

TEST_P(scopes, a_result_whose_handle_was_dropped_is_destroyed_on_the_child) {
    struct parks_when_it_ends {
        fiber<> inner;
    };
    rt.run([] {
        std::atomic<bool> ended{false};
        with_scope([&](scope& s) {
            s.spawn([&] {
                return parks_when_it_ends{spawn([&] {
                    const shield slow;
                    this_fiber::sleep_for(2ms);
                    ended = true;
                })};
            });
        });
        EXPECT_TRUE(eventually_here([&] { return ended.load(); }));
    });
}

TEST_P(scopes, spawn_with_attributes_takes_an_lvalue) {
    rt.run([] {
        const attributes named{.name = "n"};
        with_scope([&](scope& s) {
            EXPECT_EQ(s.spawn(named, [] { return std::string(this_fiber::name()); }).join(), "n");
            EXPECT_EQ(s.spawn(named, [](int a) { return a; }, 1).join(), 1);
        });
    });
}

TEST_P(scopes, ask_F5_functions_of_every_kind_are_bodies_and_children) {
    struct counter {
        int operator()() & { return ++calls; }
        int calls = 0;
    };
    rt.run([] {
        counter mine;
        auto body = [calls = 0](scope& s) mutable {
            EXPECT_EQ(s.size(), 0u);
            return ++calls;
        };
        EXPECT_EQ(with_scope(body), 1);
        EXPECT_EQ(with_scope({.on_failure = on_failure::report}, body), 2);
        with_scope([&](scope& s) {
            EXPECT_EQ(s.spawn(std::ref(mine)).join(), 1);
            EXPECT_EQ(s.spawn([p = std::make_unique<int>(7)] { return *p; }).join(), 7);
            EXPECT_EQ(s.spawn(&std::string::size, std::string("four")).join(), 4u);
        });
        EXPECT_EQ(mine.calls, 1);
    });
}

TEST_P(scopes, a_child_may_take_a_stop_token) {
    rt.run([] {
        with_scope([](scope& s) {
            auto c = s.spawn([](std::stop_token t) {
                const shield by_token_only;
                while (!t.stop_requested()) this_fiber::sleep_for(100us);
                return 1;
            });
            s.request_stop();
            const shield still_waits;
            EXPECT_EQ(c.join(), 1);
        });
    });
}

TEST_P(scopes, an_empty_scope_costs_no_wait) {
    rt.run([] {
        with_scope([](scope&) {});
        with_scope({.on_failure = on_failure::report}, [](scope&) {});
        EXPECT_EQ(with_scope([](scope&) { return 1; }), 1);
    });
}

TEST(scope_death, on_a_plain_thread_names_run) {
    EXPECT_DEATH(with_scope([](scope&) {}), "weft::run");
}

}  // namespace
}  // namespace weft::test
