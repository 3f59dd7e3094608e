// scope_stop_test.cpp - stops and scopes: from inside, from outside, from a deadline; each ends where it came from.
#include <weft/scope.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>
#include <vector>

#include "support/eventually.hpp"
#include "support/no_leaks.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

/// A body that notes that it was stopped.
auto until_stopped(std::atomic<int>& stopped) {
    return [&stopped] {
        try {
            this_fiber::sleep_for(1h);
        } catch (const cancelled&) {
            ++stopped;
            throw;
        }
    };
}

class stopped_scopes : public on_workers {
protected:
    watched_runtime rt{GetParam()};
    std::atomic<int> stopped{0};
};
WEFT_ON_1_2_4_8_WORKERS(stopped_scopes);

TEST_P(stopped_scopes, request_stop_stops_children_and_body_and_is_absorbed) {
    rt.run([&] {
        bool went_on = false;
        with_scope([&](scope& s) {
            for (int i = 0; i < 4; ++i) s.spawn(until_stopped(stopped));
            this_fiber::sleep_for(1ms);
            s.request_stop();
            this_fiber::yield();
            went_on = true;
        });
        EXPECT_FALSE(went_on);
        EXPECT_EQ(stopped, 4);
        this_fiber::sleep_for(0s);  // nothing is left of it
    });
}

TEST_P(stopped_scopes, a_body_that_goes_on_without_waiting_returns_its_value) {
    rt.run([&] {
        EXPECT_EQ(with_scope([&](scope& s) {
                      s.spawn(until_stopped(stopped));
                      s.request_stop();
                      return 3;
                  }),
                  3);
        EXPECT_EQ(stopped, 1);
    });
}

TEST_P(stopped_scopes, without_a_value_to_return_the_stop_leaves) {
    rt.run([&] {
        EXPECT_THROW(static_cast<void>(with_scope([&](scope& s) {
                         s.request_stop();
                         this_fiber::yield();
                         return 3;
                     })),
                     cancelled);
        this_fiber::yield();
    });
}

TEST_P(stopped_scopes, a_child_may_stop_its_scope_while_the_body_waits_for_it) {
    for (int i = 0; i < 100; ++i)
        rt.run([&] {
            EXPECT_EQ(with_scope([&](scope& s) {
                          s.spawn([&] { s.request_stop(); });
                          s.spawn(until_stopped(stopped));
                          return 4;
                      }),
                      4);
        });
    EXPECT_EQ(stopped, 100);
}

TEST_P(stopped_scopes, a_stop_callback_may_stop_a_sibling_and_wait_for_it) {
    rt.run([&] {
        with_scope([&](scope& s) {
            child<> second;
            bool has_ended = false;
            auto first = s.spawn([&] {
                const auto stop_and_join = [&] {
                    second.request_stop();  // which the scope has begun to do, but not finished
                    const shield while_stopped;
                    has_ended = eventually_here([&] { return second.done(); });
                };
                const std::stop_callback callback(this_fiber::stop_token(), stop_and_join);
                this_fiber::sleep_for(1h);
            });
            second = s.spawn([] { this_fiber::sleep_for(1h); });
            this_fiber::sleep_for(2ms);
            s.request_stop();
            const shield while_stopped;
            EXPECT_TRUE(eventually_here([&] { return first.done() && second.done(); }));
            EXPECT_TRUE(has_ended);
            return 0;
        });
    });
}

TEST_P(stopped_scopes, a_plain_thread_may_stop_a_scope) {
    rt.run([&] {
        with_scope([&](scope& s) {
            s.spawn(until_stopped(stopped));
            std::thread([&] { s.request_stop(); }).join();
        });
        EXPECT_EQ(stopped, 1);
    });
}

TEST_P(stopped_scopes, a_token_from_outside_may_stop_a_scope) {
    rt.run([&] {
        std::stop_source outside;
        std::jthread stranger([&] {
            while (rt.stats().fibers < 3) std::this_thread::yield();
            outside.request_stop();
        });
        with_scope([&](scope& s) {
            const std::stop_callback hand_on(outside.get_token(), [&] { s.request_stop(); });
            s.spawn(until_stopped(stopped));
            s.spawn(until_stopped(stopped));
            this_fiber::sleep_for(1h);
        });
        EXPECT_EQ(stopped, 2);
    });
}

TEST_P(stopped_scopes, a_childs_token_is_stopped_with_it_and_with_the_scope) {
    rt.run([&] {
        std::stop_token one, other;
        with_scope([&](scope& s) {
            auto a = s.spawn(until_stopped(stopped));
            auto b = s.spawn(until_stopped(stopped));
            one = a.stop_token();
            other = b.stop_token();
            a.request_stop();
            EXPECT_TRUE(one.stop_requested());
            EXPECT_FALSE(other.stop_requested());
            s.request_stop();
            EXPECT_TRUE(other.stop_requested());
        });
        EXPECT_FALSE(child<>().stop_token().stop_possible());
    });
}

TEST_P(stopped_scopes, a_child_spawned_in_a_stopped_scope_starts_stopped) {
    rt.run([&] {
        bool ran = false;
        with_scope([&](scope& s) {
            s.request_stop();
            s.spawn([&] {
                ran = true;
                until_stopped(stopped)();
            });
        });
        EXPECT_TRUE(ran);
        EXPECT_EQ(stopped, 1);
    });
}

TEST_P(stopped_scopes, its_token_is_stopped_with_it) {
    rt.run([&] {
        with_scope([&](scope& s) {
            const auto token = s.stop_token();
            int calls = 0;
            const std::stop_callback count(token, [&] { ++calls; });
            EXPECT_FALSE(token.stop_requested());
            s.request_stop();
            EXPECT_TRUE(token.stop_requested());
            EXPECT_TRUE(s.stop_token().stop_requested());
            EXPECT_EQ(calls, 1);
        });
        with_scope([&](scope& s) {
            s.request_stop();
            EXPECT_TRUE(s.stop_token().stop_requested());
        });
    });
}

TEST_P(stopped_scopes, a_stop_from_outside_reaches_the_children_while_the_body_runs) {
    rt.run([&] {
        auto f = spawn([&] {
            with_scope([&](scope& s) {
                for (int i = 0; i < 3; ++i) s.spawn(until_stopped(stopped));
                this_fiber::sleep_for(1h);
            });
        });
        this_fiber::sleep_for(2ms);
        f.request_stop();
        EXPECT_THROW(f.join(), fiber_cancelled);
        EXPECT_EQ(stopped, 3);
    });
}

TEST_P(stopped_scopes, a_stop_from_outside_reaches_the_children_while_the_scope_waits) {
    rt.run([&] {
        auto f = spawn([&] {
            return with_scope([&](scope& s) {
                for (int i = 0; i < 3; ++i) s.spawn(until_stopped(stopped));
                return 1;
            });
        });
        this_fiber::sleep_for(2ms);
        f.request_stop();
        EXPECT_THROW(f.join(), fiber_cancelled);
        EXPECT_EQ(stopped, 3);
    });
}

TEST_P(stopped_scopes, a_stop_that_came_before_the_scope_reaches_the_children) {
    rt.run([&] {
        auto f = spawn([&] {
            with_scope([&](scope& s) { s.spawn(until_stopped(stopped)); });
        });
        f.request_stop();
        EXPECT_THROW(f.join(), fiber_cancelled);
        EXPECT_EQ(stopped, 1);
    });
}

TEST_P(stopped_scopes, a_stop_travels_down_nested_scopes) {
    rt.run([&] {
        auto f = spawn([&] {
            with_scope([&](scope& outer) {
                outer.spawn([&] {
                    with_scope([&](scope& inner) {
                        inner.spawn(until_stopped(stopped));
                        inner.spawn([&] { with_scope([&](scope& deep) { deep.spawn(until_stopped(stopped)); }); });
                    });
                });
                outer.spawn(until_stopped(stopped));
            });
        });
        this_fiber::sleep_for(3ms);
        f.request_stop();
        EXPECT_THROW(f.join(), fiber_cancelled);
        EXPECT_EQ(stopped, 3);
    });
}

TEST_P(stopped_scopes, the_outer_scopes_stop_passes_through_the_inner_and_ends_at_the_outer) {
    rt.run([&] {
        bool inner_returned = false, outer_went_on = false;
        with_scope([&](scope& outer) {
            outer.spawn([&] {
                this_fiber::sleep_for(1ms);
                outer.request_stop();
            });
            with_scope([&](scope& inner) {
                inner.spawn(until_stopped(stopped));
                this_fiber::sleep_for(1h);
            });
            inner_returned = true;
        });
        outer_went_on = true;
        EXPECT_FALSE(inner_returned);
        EXPECT_TRUE(outer_went_on);
        EXPECT_EQ(stopped, 1);
        this_fiber::yield();
    });
}

TEST_P(stopped_scopes, the_inner_scopes_stop_does_not_touch_the_outer) {
    rt.run([&] {
        with_scope([&](scope& outer) {
            auto sibling = outer.spawn([] {
                this_fiber::sleep_for(2ms);
                return 1;
            });
            with_scope([&](scope& inner) {
                inner.spawn(until_stopped(stopped));
                inner.request_stop();
                this_fiber::yield();
            });
            EXPECT_EQ(sibling.join(), 1);
        });
        EXPECT_EQ(stopped, 1);
    });
}

TEST_P(stopped_scopes, the_callers_deadline_stops_the_children_and_becomes_timeout_error) {
    rt.run([&] {
        EXPECT_THROW(with_timeout(3ms, [&] {
                         with_scope([&](scope& s) {
                             s.spawn(until_stopped(stopped));
                             this_fiber::sleep_for(1h);
                         });
                     }),
                     timeout_error);
        EXPECT_THROW(with_timeout(3ms, [&] { with_scope([&](scope& s) { s.spawn(until_stopped(stopped)); }); }),
                     timeout_error);
        EXPECT_EQ(stopped, 2);
        this_fiber::yield();
    });
}

TEST_P(stopped_scopes, a_deadline_inside_the_body_is_the_bodys_failure) {
    rt.run([&] {
        EXPECT_THROW(with_scope([&](scope& s) {
                         s.spawn(until_stopped(stopped));
                         with_timeout(2ms, [] { this_fiber::sleep_for(1h); });
                     }),
                     timeout_error);
        EXPECT_EQ(stopped, 1);
    });
}

TEST_P(stopped_scopes, a_shielded_owner_does_not_hand_the_stop_on) {
    rt.run([&] {
        std::atomic<bool> begun{false}, asked{false};
        bool ended = false, shielded_part_over = false;
        auto f = spawn([&] {
            {
                const shield none;
                with_scope([&](scope& s) {
                    s.spawn([&] {
                        begun = true;
                        while (!asked) this_fiber::sleep_for(100us);
                        this_fiber::sleep_for(2ms);
                        ended = true;
                    });
                });
                shielded_part_over = true;
            }
            this_fiber::yield();
        });
        EXPECT_TRUE(eventually_here([&] { return begun.load(); }));
        f.request_stop();
        asked = true;
        EXPECT_THROW(f.join(), fiber_cancelled);
        EXPECT_TRUE(ended);
        EXPECT_TRUE(shielded_part_over);
    });
}

TEST_P(stopped_scopes, a_value_computed_under_a_limited_shield_gives_way_to_the_stop_at_its_end) {
    rt.run([&] {
        auto f = spawn([&] {
            const shield limited(5ms);
            with_scope([&](scope& s) { s.spawn(until_stopped(stopped)); });
        });
        this_fiber::sleep_for(1ms);
        f.request_stop();
        EXPECT_THROW(f.join(), fiber_cancelled);
        EXPECT_EQ(stopped, 1);
    });
}

}  // namespace
}  // namespace weft::test
