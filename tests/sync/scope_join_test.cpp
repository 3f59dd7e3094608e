// scope_join_test.cpp - a child's failure that somebody takes by join() is not rethrown by the scope; others still are.
#include <weft/scope.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "support/eventually.hpp"
#include "support/failing_children.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

class joined_failures : public failing_children {};
WEFT_ON_1_2_4_8_WORKERS(joined_failures);

TEST_P(joined_failures, a_failure_taken_by_join_is_not_rethrown) {
    rt.run([] {
        with_scope([](scope& s) {
            std::optional<shield> unless_alone;  // a child that has ended already, on another worker, has stopped this body
            if (GetParam() > 1) unless_alone.emplace();
            auto c = s.spawn(fails, "taken");
            EXPECT_EQ(failure_of([&] { c.join(); }), "taken");
        });
    });
    EXPECT_TRUE(reported().empty());
}

TEST_P(joined_failures, a_failure_taken_long_after_the_childs_end_is_not_rethrown) {
    rt.run([] {
        with_scope([](scope& s) {
            const shield until_the_end;
            auto c = s.spawn(fails, "taken");
            EXPECT_TRUE(eventually_here([&] { return s.size() == 0; }));
            EXPECT_EQ(failure_of([&] { c.join(); }), "taken");
        });
    });
    EXPECT_TRUE(reported().empty());
}

TEST_P(joined_failures, a_failure_after_one_that_was_taken_is_the_first) {
    rt.run([] {
        EXPECT_EQ(failure_of([] {
                      with_scope([](scope& s) {
                          const shield until_the_end;
                          auto c = s.spawn(fails, "taken");
                          EXPECT_EQ(failure_of([&] { c.join(); }), "taken");
                          s.spawn(fails, "first of the rest");
                      });
                  }),
                  "first of the rest");
    });
    EXPECT_TRUE(reported().empty());
}

TEST_P(joined_failures, a_failed_child_can_be_joined_after_its_scope) {
    rt.run([] {
        child<> kept;
        EXPECT_EQ(failure_of([&] { with_scope([&](scope& s) { kept = s.spawn(fails, "seen twice"); }); }), "seen twice");
        EXPECT_EQ(failure_of([&] { kept.join(); }), "seen twice");
    });
}

TEST_P(joined_failures, a_failure_that_leaves_through_join_leaves_once) {
    rt.run([] { EXPECT_EQ(failure_of([] { with_scope([](scope& s) { s.spawn(fails, "once").join(); }); }), "once"); });
    EXPECT_TRUE(reported().empty());
}

TEST_P(joined_failures, the_failure_of_one_is_not_lost_when_that_of_another_is_taken) {
    rt.run([] {
        EXPECT_EQ(failure_of([] {
                      with_scope([](scope& s) {
                          s.spawn(fails, "first");
                          const shield until_the_end;
                          EXPECT_TRUE(eventually_here([&] { return s.size() == 0; }));
                          for (int i = 0; i < 50; ++i) {  // one of them gets the control block of the first
                              auto c = s.spawn(fails, "second");
                              EXPECT_EQ(failure_of([&] { c.join(); }), "second");
                          }
                      });
                  }),
                  "first");
    });
}

}  // namespace
}  // namespace weft::test
