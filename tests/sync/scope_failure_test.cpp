// scope_failure_test.cpp - failures in a scope: the first one stops the rest and is rethrown, once; others are reported.
#include <weft/scope.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <weft/latch.hpp>

#include "support/eventually.hpp"
#include "support/failing_children.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

void sleeps_until_stopped() { this_fiber::sleep_for(1h); }

class failing_scopes : public failing_children {};
WEFT_ON_1_2_4_8_WORKERS(failing_scopes);

TEST_P(failing_scopes, a_childs_failure_stops_the_siblings_and_leaves_the_scope) {
    rt.run([] {
        std::atomic<int> stopped{0};
        EXPECT_EQ(failure_of([&] {
                      with_scope([&](scope& s) {
                          for (int i = 0; i < 5; ++i)
                              s.spawn([&] {
                                  try {
                                      sleeps_until_stopped();
                                  } catch (const cancelled&) {
                                      ++stopped;
                                      throw;
                                  }
                              });
                          s.spawn(fails, "one");
                      });
                  }),
                  "one");
        EXPECT_EQ(stopped, 5);
    });
    EXPECT_TRUE(reported().empty());
}

TEST_P(failing_scopes, a_childs_failure_stops_the_body) {
    rt.run([] {
        bool body_stopped = false;
        EXPECT_EQ(failure_of([&] {
                      with_scope([&](scope& s) {
                          s.spawn(fails, "one");
                          try {
                              sleeps_until_stopped();
                          } catch (const cancelled&) {
                              body_stopped = true;
                              throw;
                          }
                      });
                  }),
                  "one");
        EXPECT_TRUE(body_stopped);
        this_fiber::yield();  // the stop has ended with the scope
    });
    EXPECT_TRUE(reported().empty());
}

TEST_P(failing_scopes, a_body_that_swallows_the_stop_does_not_hide_the_failure) {
    rt.run([] {
        EXPECT_EQ(failure_of([&] {
                      static_cast<void>(with_scope([&](scope& s) {
                          s.spawn(fails, "one");
                          try {
                              sleeps_until_stopped();
                          } catch (const cancelled&) {}
                          return 5;
                      }));
                  }),
                  "one");
    });
}

TEST_P(failing_scopes, the_bodys_failure_stops_the_children_and_leaves) {
    rt.run([] {
        std::atomic<int> ended{0};
        EXPECT_EQ(failure_of([&] {
                      with_scope([&](scope& s) {
                          for (int i = 0; i < 3; ++i)
                              s.spawn([&] {
                                  struct at_end {
                                      std::atomic<int>& n;
                                      ~at_end() { ++n; }
                                  } const guard{ended};
                                  sleeps_until_stopped();
                              });
                          this_fiber::sleep_for(1ms);
                          fails("body");
                      });
                  }),
                  "body");
        EXPECT_EQ(ended, 3);
    });
    EXPECT_TRUE(reported().empty());
}

TEST_P(failing_scopes, further_failures_are_reported) {
    rt.run([] {
        EXPECT_EQ(failure_of([&] {
                      with_scope([&](scope& s) {
                          for (int i = 0; i < 3; ++i)
                              s.spawn([] {
                                  try {
                                      sleeps_until_stopped();
                                  } catch (const cancelled&) {
                                      fails("while it stopped");
                                  }
                              });
                          this_fiber::sleep_for(1ms);
                          fails("first");
                      });
                  }),
                  "first");
    });
    EXPECT_EQ(reported(), std::vector<std::string>(3, "while it stopped"));
}

TEST_P(failing_scopes, the_bodys_failure_is_reported_if_a_childs_came_first) {
    rt.run([] {
        EXPECT_EQ(failure_of([&] {
                      with_scope([&](scope& s) {
                          s.spawn(fails, "child");
                          try {
                              sleeps_until_stopped();
                          } catch (const cancelled&) {
                              fails("body");
                          }
                      });
                  }),
                  "child");
    });
    EXPECT_EQ(reported(), std::vector<std::string>{"body"});
}

TEST_P(failing_scopes, a_reporting_scope_stops_nobody) {
    rt.run([] {
        bool ended = false;
        EXPECT_EQ(with_scope({.on_failure = on_failure::report},
                             [&](scope& s) {
                                 s.spawn({.name = "bad"}, fails, "reported");
                                 s.spawn([&] {
                                     this_fiber::sleep_for(3ms);
                                     ended = true;
                                 });
                                 this_fiber::sleep_for(1ms);
                                 return 2;
                             }),
                  2);
        EXPECT_TRUE(ended);
    });
    EXPECT_EQ(reported(), std::vector<std::string>{"reported"});
}

TEST_P(failing_scopes, ask_F5_all_that_fail_at_once_are_heard_of) {
    constexpr int n = 8;
    std::string thrown;
    rt.run([&] {
        for (const auto policy : {on_failure::stop_all, on_failure::report}) {
            latch together(n);
            thrown += failure_of([&] {
                with_scope({.on_failure = policy}, [&](scope& s) {
                    const shield until_the_end;
                    for (int i = 0; i < n; ++i)
                        s.spawn([&, i] {
                            const shield from_the_others;
                            together.arrive_and_wait();
                            fails(std::string(1, static_cast<char>('a' + i)).c_str());
                        });
                });
            });
        }
    });
    EXPECT_EQ(thrown.size(), 1u) << "the first of those that stop; none of those that are reported";
    auto all = reported();
    all.push_back(thrown);
    std::ranges::sort(all);
    std::vector<std::string> each_twice;
    for (char c = 'a'; c < 'a' + n; ++c) each_twice.insert(each_twice.end(), 2, std::string(1, c));
    EXPECT_EQ(all, each_twice);
}

TEST_P(failing_scopes, the_body_of_a_reporting_scope_fails_as_any_other) {
    rt.run([] {
        bool stopped = false;
        EXPECT_EQ(failure_of([&] {
                      with_scope({.on_failure = on_failure::report}, [&](scope& s) {
                          s.spawn([&] {
                              try {
                                  sleeps_until_stopped();
                              } catch (const cancelled&) {
                                  stopped = true;
                              }
                          });
                          fails("body");
                      });
                  }),
                  "body");
        EXPECT_TRUE(stopped);
    });
}

TEST_P(failing_scopes, a_child_that_ends_by_its_own_stop_is_no_failure) {
    rt.run([] {
        bool sibling_ended = false;
        with_scope([&](scope& s) {
            auto c = s.spawn(sleeps_until_stopped);
            s.spawn([&] {
                this_fiber::sleep_for(3ms);
                sibling_ended = true;
            });
            c.request_stop();
        });
        EXPECT_TRUE(sibling_ended);
    });
    EXPECT_TRUE(reported().empty());
}

TEST_P(failing_scopes, a_failure_of_the_inner_scope_leaves_through_the_outer) {
    rt.run([] {
        std::atomic<bool> outer_child_stopped{false};
        EXPECT_EQ(failure_of([&] {
                      with_scope([&](scope& outer) {
                          outer.spawn([&] {
                              try {
                                  sleeps_until_stopped();
                              } catch (const cancelled&) {
                                  outer_child_stopped = true;
                              }
                          });
                          outer.spawn([] { with_scope([](scope& inner) { inner.spawn(fails, "deep"); }); });
                      });
                  }),
                  "deep");
        EXPECT_TRUE(outer_child_stopped);
    });
    EXPECT_TRUE(reported().empty());
}

TEST_P(failing_scopes, an_inner_failure_can_be_handled_inside) {
    rt.run([] {
        EXPECT_EQ(with_scope([](scope& outer) {
                      auto other = outer.spawn([] {
                          this_fiber::sleep_for(2ms);
                          return 1;
                      });
                      EXPECT_EQ(failure_of([] { with_scope([](scope& inner) { inner.spawn(fails, "handled"); }); }), "handled");
                      return other.join();
                  }),
                  1);
    });
}

TEST(failing_scope_by_default, a_further_failure_in_a_detached_fiber_is_printed_and_the_program_goes_on) {
    EXPECT_EXIT(
        {
            runtime rt({.workers = 2});
            std::atomic<bool> handled{false};
            rt.spawn_detached([&] {
                try {
                    with_scope([](scope& s) {
                        s.spawn(fails, "first");
                        try {
                            sleeps_until_stopped();
                        } catch (const cancelled&) {
                            fails("second");
                        }
                    });
                } catch (const failure&) {
                    handled = true;
                }
            });
            std::exit(eventually([&] { return handled.load(); }) ? 3 : 4);
        },
        ::testing::ExitedWithCode(3), "second");
}

}  // namespace
}  // namespace weft::test
