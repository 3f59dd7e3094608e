// stop_matrix_test.cpp - fibers and synchronisation, interrupted in all ways: what throws does, what does not never does.
#include "support/stop_matrix.hpp"

#include <weft/barrier.hpp>
#include <weft/cell.hpp>
#include <weft/condition_variable.hpp>
#include <weft/event.hpp>
#include <weft/ivar.hpp>
#include <weft/latch.hpp>
#include <weft/once.hpp>
#include <weft/semaphore.hpp>
#include <weft/shared_mutex.hpp>
#include <weft/wait_group.hpp>

using namespace std::chrono_literals;

namespace weft::test::matrix {
namespace {

class interruption_of : public interruption {};
TEST_P(interruption_of, is_as_documented) { check(); }

std::vector<park_point> of_fibers() {
    const auto sleeps = [](scene& s) { return [d = s.delay()] { this_fiber::sleep_for(d); }; };
    return {
        {"sleep_for",
         [](scene& s) {
             s.about_to_wait();
             this_fiber::sleep_for(s.delay());
         }},
        {"sleep_until",
         [](scene& s) {
             s.about_to_wait();
             this_fiber::sleep_until(std::chrono::steady_clock::now() + s.delay());
         }},
        {.name = "yield", .park = [](scene&) { this_fiber::yield(); }, .waits = park_point::waits::no},
        {"join",
         [=](scene& s) {
             auto f = s.helper().spawn(sleeps(s));
             s.about_to_wait();
             f.join();
         }},
        {"join_for",
         [=](scene& s) {
             auto f = s.helper().spawn(sleeps(s));
             s.about_to_wait();
             EXPECT_TRUE(f.join_for(2h));
         }},
        {.name = "join_of_one_that_may_run_in_place",
         .park =
             [=](scene& s) {
                 auto f = s.prepare([&] { return spawn(sleeps(s)); });
                 s.about_to_wait();
                 f.join();
             },
         .on_thread = outcome::untried},
        {.name = "join_of_a_child",
         .park =
             [=](scene& s) {
                 with_scope([&](scope& all) {
                     auto c = all.spawn(sleeps(s));
                     s.about_to_wait();
                     c.join();
                 });
             },
         .on_thread = outcome::untried},
        {.name = "spawn_into_a_full_scope",
         .park =
             [=](scene& s) {
                 with_scope({.limit = 1}, [&](scope& all) {
                     s.prepare([&] { all.spawn(sleeps(s)); });
                     s.about_to_wait();
                     all.spawn([] {});
                 });
             },
         .on_thread = outcome::untried},
        {.name = "spawn_without_a_place",
         .park =
             [=](scene& s) {
                 watched_runtime full({.workers = 1, .max_fibers = 1});
                 auto f = s.prepare([&] { return full.spawn([d = s.delay()] { this_fiber::sleep_for(d); }); });
                 s.about_to_wait();
                 auto other = full.spawn([] {});
             }},
        {.name = "spawn_run_now",  // the spawner gives way, and no stop ends that
         .park = [](scene&) { spawn_detached({.run_now = true}, [] {}); },
         .on_fiber = outcome::never,
         .on_thread = outcome::untried,
         .waits = park_point::waits::no},
        {.name = "end_of_a_scope_whose_children_can_be_stopped",
         .park =
             [=](scene& s) {
                 with_scope([&](scope& all) {
                     all.spawn(sleeps(s));
                     s.about_to_wait();
                 });
             },
         .on_thread = outcome::untried},
        {.name = "end_of_a_scope_whose_children_cannot",
         .park =
             [=](scene& s) {
                 bool ended = false;
                 struct checks_at_the_end {
                     bool& ended;
                     ~checks_at_the_end() { EXPECT_TRUE(ended) << "the scope is left after its children"; }
                 } const check{ended};
                 with_scope([&](scope& all) {
                     all.spawn([&] {
                         const shield slow;
                         this_fiber::sleep_for(s.delay());
                         ended = true;
                     });
                     s.about_to_wait();
                 });
             },
         .on_fiber = outcome::throws_late,
         .on_thread = outcome::untried},
    };
}

std::vector<park_point> of_synchronisation() {
    return {
        {"condition_variable",
         [](scene& s) {
             mutex m;
             condition_variable c;
             std::unique_lock guard(m);
             struct checks_at_the_end {
                 const std::unique_lock<mutex>& lock;
                 ~checks_at_the_end() { EXPECT_TRUE(lock.owns_lock()); }
             } const check{guard};
             const auto again_and_again = [&] {  // the first might come before the wait
                 for (;;) {
                     c.notify_one();
                     this_fiber::sleep_for(1ms);
                 }
             };
             s.wait_for_signal(again_and_again, [&] { c.wait(guard); });
         }},
        {"condition_variable_with_predicate_and_token",
         [](scene& s) {
             mutex m;
             condition_variable c;
             std::atomic<bool> holds{false};
             std::unique_lock guard(m);
             const auto again_and_again = [&] {
                 for (holds = true;;) {
                     c.notify_one();
                     this_fiber::sleep_for(1ms);
                 }
             };
             s.wait_for_signal(again_and_again,
                               [&] { EXPECT_TRUE(c.wait_for(guard, std::stop_token(), 2h, [&] { return holds.load(); })); });
         }},
        {.name = "the_re_lock_after_a_wait",
         .park =
             [](scene& s) {
                 mutex m;
                 condition_variable c;
                 bool held = false;  // by another, under m
                 fiber<> holder;
                 std::unique_lock guard(m);
                 struct checks_at_the_end {
                     const std::unique_lock<mutex>& lock;
                     const bool& held;
                     ~checks_at_the_end() { EXPECT_TRUE(lock.owns_lock() && !held); }
                 } const check{guard, held};
                 holder = s.helper().spawn([&] {
                     const shield until_the_end;
                     const std::lock_guard mine(m);  // as soon as the wait has begun
                     held = true;
                     this_fiber::sleep_for(s.delay());
                     held = false;
                     c.notify_one();
                 });
                 s.about_to_wait();
                 c.wait(guard);
             },
         .on_fiber = outcome::throws_late,
         .on_thread = outcome::throws_late},
        {"wait_group",
         [](scene& s) {
             wait_group g(1);
             s.wait_for_signal([&] { g.done(); }, [&] { g.wait(); });
         }},
        {"semaphore_acquire",
         [](scene& s) {
             binary_semaphore one(0);
             s.wait_for_signal([&] { one.release(); }, [&] { one.acquire(); });
         }},
        {"semaphore_try_acquire_for",
         [](scene& s) {
             counting_semaphore<3> some(0);
             s.wait_for_signal([&] { some.release(); }, [&] { EXPECT_TRUE(some.try_acquire_for(2h)); });
         }},
        {"semaphore_try_acquire_for_with_a_token",
         [](scene& s) {
             counting_semaphore<> some(0);
             s.wait_for_signal([&] { some.release(); }, [&] { EXPECT_TRUE(some.try_acquire_for(std::stop_token(), 2h)); });
         }},
        {"latch_wait",
         [](scene& s) {
             latch l(1);
             s.wait_for_signal([&] { l.count_down(); }, [&] { l.wait(); });
         }},
        {"latch_arrive_and_wait",
         [](scene& s) {
             latch l(2);
             s.wait_for_signal([&] { l.count_down(); }, [&] { l.arrive_and_wait(); });
         }},
        {"latch_arrive_and_wait_for",
         [](scene& s) {
             latch l(2);
             s.wait_for_signal([&] { l.count_down(); }, [&] { EXPECT_TRUE(l.arrive_and_wait_for(2h)); });
         }},
        {"barrier_arrive_and_wait",
         [](scene& s) {
             barrier<> b(2);
             s.wait_for_signal([&] { b.arrive_and_drop(); }, [&] { b.arrive_and_wait(); });
         }},
        {"barrier_arrive_and_wait_for",
         [](scene& s) {
             barrier<> b(2);
             s.wait_for_signal([&] { b.arrive_and_drop(); }, [&] { EXPECT_TRUE(b.arrive_and_wait_for(2h)); });
         }},
        {"barrier_wait",
         [](scene& s) {
             barrier<> b(2);
             auto mine = b.arrive();
             s.wait_for_signal([&] { b.arrive_and_drop(); }, [&] { b.wait(std::move(mine)); });
         }},
        {"event",
         [](scene& s) {
             event e;
             s.wait_for_signal([&] { e.set(); }, [&] { e.wait(); });
         }},
        {"automatic_event_wait_for",
         [](scene& s) {
             event e(event::automatic);
             s.wait_for_signal([&] { e.set(); }, [&] { EXPECT_TRUE(e.wait_for(2h)); });
         }},
        {"ivar_get",
         [](scene& s) {
             ivar<int> v;
             s.wait_for_signal([&] { v.set(1); }, [&] { EXPECT_EQ(v.get(), 1); });
         }},
        {"ivar_wait_for",
         [](scene& s) {
             ivar<int> v;
             s.wait_for_signal([&] { v.set(1); }, [&] { EXPECT_TRUE(v.wait_for(2h)); });
         }},
        {"ivar_wait",
         [](scene& s) {
             ivar<int> v;
             s.wait_for_signal([&] { v.set(1); }, [&] { v.wait(); });
         }},
        {"cell_get",
         [](scene& s) {
             cell<int> v;
             s.wait_for_signal([&] { v.set(1); }, [&] { EXPECT_EQ(v.get(), 1); });
         }},
    };
}

park_point never(std::string name, std::function<void(scene&)> park) {
    return {.name = std::move(name), .park = std::move(park), .on_fiber = outcome::never, .on_thread = outcome::never};
}

std::vector<park_point> that_never_throw() {
    const auto slow = [](std::atomic<bool>& ended) {
        return [&] {
            const shield until_the_end;
            this_fiber::sleep_for(8ms);
            ended = true;
        };
    };
    return {
        never("mutex_lock",
              [](scene& s) {
                  mutex m;
                  s.wait_for_holder([&] { m.lock(); }, [&] { m.unlock(); }, [&] { const std::lock_guard guard(m); });
              }),
        never("mutex_try_lock_for",
              [](scene& s) {
                  mutex m;
                  s.wait_for_holder([&] { m.lock(); }, [&] { m.unlock(); },
                                    [&] {
                                        ASSERT_TRUE(m.try_lock_for(2h));
                                        m.unlock();
                                    });
              }),
        never("recursive_mutex_lock",
              [](scene& s) {
                  recursive_mutex m;
                  s.wait_for_holder([&] { m.lock(); }, [&] { m.unlock(); }, [&] { const std::lock_guard guard(m); });
              }),
        never("shared_mutex_lock",
              [](scene& s) {
                  shared_mutex m;
                  s.wait_for_holder([&] { m.lock_shared(); }, [&] { m.unlock_shared(); },
                                    [&] { const std::lock_guard guard(m); });
              }),
        never("shared_mutex_lock_shared",
              [](scene& s) {
                  shared_mutex m;
                  s.wait_for_holder([&] { m.lock(); }, [&] { m.unlock(); }, [&] { const std::shared_lock guard(m); });
              }),
        never("call_once",
              [](scene& s) {
                  once_flag flag;
                  latch begun(1), may_end(1);
                  auto first = s.helper().spawn([&] {
                      call_once(flag, [&] {
                          const shield until_done;
                          begun.count_down();
                          may_end.wait();
                      });
                  });
                  s.prepare([&] { begun.wait(); });
                  s.wait_for_signal([&] { may_end.count_down(); }, [&] { call_once(flag, [] { ADD_FAILURE(); }); });
                  s.prepare([&] { first.join(); });
              }),
        never("the_end_of_a_fibers_handle",
              [=](scene& s) {
                  std::atomic<bool> ended{false};
                  {
                      const auto f = s.helper().spawn(slow(ended));
                      s.about_to_wait();
                  }
                  EXPECT_TRUE(ended);
              }),
        never("the_end_of_a_computed_ivar",
              [=](scene& s) {
                  std::atomic<bool> ended{false};
                  {
                      const ivar<int> v(s.helper(), [body = slow(ended)] {
                          body();
                          return 1;
                      });
                      s.about_to_wait();
                  }
                  EXPECT_TRUE(ended);
              }),
    };
}

std::string name_of_test(const ::testing::TestParamInfo<row>& each) { return name_of(each.param); }

INSTANTIATE_TEST_SUITE_P(fibers, interruption_of, ::testing::ValuesIn(rows_of(of_fibers())), name_of_test);
INSTANTIATE_TEST_SUITE_P(synchronisation, interruption_of, ::testing::ValuesIn(rows_of(of_synchronisation())), name_of_test);
INSTANTIATE_TEST_SUITE_P(never, interruption_of, ::testing::ValuesIn(rows_of(that_never_throw())), name_of_test);

}  // namespace
}  // namespace weft::test::matrix
