// thread_state_test.cpp - errno, thread_local variables and the floating-point environment beside
// fibers that move (seed R18): what the guide promises of them in docs/guide/13-threads-below.md.
#include <fcntl.h>

#include <atomic>
#include <cerrno>
#include <cfenv>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <weft/deadline.hpp>
#include <weft/local.hpp>
#include <weft/scope.hpp>

#include "support/scale.hpp"
#include "torture.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

class thread_state_under_torture : public under_torture {};
INSTANTIATE_TEST_SUITE_P(workers, thread_state_under_torture, ::testing::Values(2u, 4u));

// ---- the policy itself

TEST_P(thread_state_under_torture, changes_at_every_park) {
    rt.run([] {
        with_scope([](scope& s) {
            for (int i = 0; i < 10; ++i)
                s.spawn([] {
                    for (unsigned way = 0; way < 60; ++way) EXPECT_TRUE(park(way)) << way % ways_to_park;
                });
        });
    });
}

TEST_P(thread_state_under_torture, stays_while_a_fiber_is_pinned) {
    rt.run([] {
        for (int round = 0; round < 20; ++round) {
            this_fiber::pinned([] {
                const pid_t here = ::gettid();
                for (unsigned way = 0; way < 20; ++way) {
                    park(way);
                    EXPECT_EQ(::gettid(), here);
                }
            });
            EXPECT_TRUE(park(0));
            EXPECT_TRUE(park(1));
        }
        for (const auto move : {migrate::before_start, migrate::never, migrate::own_carrier})
            spawn({.move = move}, [] {
                const pid_t here = ::gettid();
                this_fiber::pinned([] { park(1); });
                park(2);
                EXPECT_EQ(::gettid(), here);
            }).join();
    });
}

// A fiber that was sent to a carrier is not left there behind one that computes until it has run.
TEST(torture_beside_hogs, leaves_nobody_behind_one_that_waits_for_him) {
    watched_runtime rt({.workers = 2, .time_slice = 1ms, .migration = migration_policy::torture});
    rt.run([] {
        for (int round = 0; round < scaled(10); ++round) {
            std::atomic<int> turns{0};
            std::vector<fiber<>> all;
            for (int i = 0; i < 3; ++i)
                all.push_back(spawn([&] {
                    while (turns < 60) {}
                }));
            for (int i = 0; i < 3; ++i)
                all.push_back(spawn([&] {
                    for (unsigned n = 0; n < 20; ++n) {
                        park(n % 2);
                        ++turns;
                    }
                }));
            for (auto& f : all) f.join();
        }
    });
}

TEST(torture_by_the_environment, overrides_the_option) {
    const auto moves = [](runtime_options o) {
        watched_runtime rt(std::move(o));
        return rt.run([] {
            bool always = true;
            for (unsigned way = 0; way < 10; ++way) always = park(way) && always;
            return always;
        });
    };
    ::setenv("WEFT_MIGRATION", "torture", 1);
    EXPECT_TRUE(moves({.workers = 2, .time_slice = 0ms}));
    ::setenv("WEFT_MIGRATION", "normal", 1);
    EXPECT_FALSE(moves(tortured(2)));
    ::setenv("WEFT_MIGRATION", "sideways", 1);
    EXPECT_THROW(runtime(), std::invalid_argument);
    ::unsetenv("WEFT_MIGRATION");
    EXPECT_THROW(runtime({.workers = 1, .migration = static_cast<migration_policy>(7)}), std::invalid_argument);
}

// ---- errno

// The guide's rule: the call and the look at errno in a function of their own, which does not park and is not inlined.
[[gnu::noinline]] int error_of_close() { return ::close(-1) == 0 ? 0 : errno; }
[[gnu::noinline]] int error_of_open() { return ::open("/nowhere/at/all", O_RDONLY) >= 0 ? 0 : errno; }

TEST_P(thread_state_under_torture, seed_R18_errno_is_right_where_nothing_parks_between_the_call_and_the_look) {
    rt.run([] {
        with_scope([](scope& s) {
            for (int i = 0; i < 10; ++i)
                s.spawn([i] {
                    for (unsigned way = 0; way < 60; ++way) {
                        if (i % 2 == 0)
                            EXPECT_EQ(error_of_close(), EBADF);
                        else
                            EXPECT_EQ(error_of_open(), ENOENT);
                        park(way);
                    }
                });
        });
    });
}

// ---- thread_local

thread_local pid_t whose = 0;

// The other half of the rule: a thread_local is touched by functions that do not park and are not inlined.
[[gnu::noinline]] pid_t set_whose(pid_t thread) {
    asm volatile("" ::: "memory");  // and link-time optimisation does not take it for the same each time
    return std::exchange(whose, thread);
}

TEST_P(thread_state_under_torture, seed_R18_a_thread_local_is_this_threads_in_functions_that_do_not_park) {
    rt.run([] {
        with_scope([](scope& s) {
            for (int i = 0; i < 10; ++i)
                s.spawn([] {
                    for (unsigned way = 0; way < 60; ++way) {
                        const pid_t here = ::gettid();
                        const pid_t last = set_whose(here);
                        EXPECT_TRUE(last == here || last == 0) << last << " and " << here;
                        park(way);
                    }
                });
        });
    });
}

// What weft keeps per fiber follows the fiber, however much of it is inlined here.
TEST_P(thread_state_under_torture, seed_R18_what_weft_knows_of_the_fiber_is_never_the_threads) {
    static fiber_local<int> own;
    rt.run([] {
        with_scope([](scope& s) {
            for (int i = 1; i <= 10; ++i)
                s.spawn({.name = std::to_string(i)}, [i] {
                    const auto id = this_fiber::id();
                    *own = i;
                    for (unsigned way = 0; way < 60; ++way) {
                        park(way);
                        EXPECT_EQ(this_fiber::id(), id);
                        EXPECT_EQ(*own, i);
                        EXPECT_EQ(this_fiber::name(), std::to_string(i));
                        EXPECT_NE(runtime::current(), nullptr);
                        const shield none_of_the_others;
                        EXPECT_FALSE(this_fiber::stop_token().stop_requested());
                    }
                });
        });
    });
}

// ---- floating point

// What the processor does with the thread's rounding mode, where the compiler cannot know the answer.
[[gnu::noinline]] double a_third(double one) {
    volatile double third = one;
    third = third / 3.0;
    return third;
}

class rounding {
public:
    explicit rounding(int mode) : before_(std::fegetround()) { std::fesetround(mode); }
    ~rounding() { std::fesetround(before_); }
    rounding(const rounding&) = delete;
    rounding& operator=(const rounding&) = delete;

private:
    int before_;
};

TEST(floating_point_environment, is_for_all_fibers_that_of_the_thread_that_made_the_runtime) {
    for (const int mode : {FE_UPWARD, FE_TONEAREST}) {
        const rounding chosen(mode);
        watched_runtime rt(tortured(4));
        const double expected = a_third(1.0);
        std::thread([&] {  // whoever spawns
            const rounding others(FE_DOWNWARD);
            rt.spawn({.move = migrate::own_carrier}, [&] { EXPECT_EQ(std::fegetround(), mode); }).join();
            rt.spawn([&] {
                  with_scope([&](scope& s) {
                      for (int i = 0; i < 10; ++i)
                          s.spawn([&] {
                              for (unsigned way = 0; way < 50; ++way) {
                                  EXPECT_EQ(std::fegetround(), mode);
                                  EXPECT_EQ(a_third(1.0), expected);
                                  park(way);
                              }
                          });
                  });
              }).join();
        })
            .join();
    }
}

TEST(floating_point_environment, is_for_all_fibers_the_same_on_threads_that_come_later) {
    const rounding chosen(FE_UPWARD);
    watched_runtime rt({.workers = 1, .time_slice = 1ms});
    rt.run([] {
        std::atomic<bool> over{false};
        auto hog = spawn([&] {
            while (!over) {}
        });  // another thread takes the worker over
        std::vector<fiber<>> all;
        for (int i = 0; i < 10; ++i)
            all.push_back(spawn([] {
                for (unsigned way = 0; way < 20; ++way) {
                    EXPECT_EQ(std::fegetround(), FE_UPWARD);
                    park(way);
                }
            }));
        all.push_back(spawn({.move = migrate::own_carrier}, [] { EXPECT_EQ(std::fegetround(), FE_UPWARD); }));
        for (auto& f : all) f.join();
        over = true;
        hog.join();
    });
}

TEST_P(thread_state_under_torture, may_be_changed_and_put_back_between_parks) {
    rt.run([] {
        const double nearest = a_third(1.0);
        with_scope([&](scope& s) {
            for (int i = 0; i < 10; ++i)
                s.spawn([i, nearest] {
                    for (unsigned way = 0; way < 100; ++way) {
                        if (i % 2 == 0) {
                            const rounding up(FE_UPWARD);
                            EXPECT_GT(a_third(1.0), nearest);
                        }
                        EXPECT_EQ(std::fegetround(), FE_TONEAREST);
                        EXPECT_EQ(a_third(1.0), nearest);
                        park(way);
                    }
                });
        });
    });
}

TEST_P(thread_state_under_torture, is_its_own_for_a_fiber_with_a_thread_of_its_own) {
    rt.run([] {
        auto alone = spawn({.move = migrate::own_carrier}, [] {
            const rounding up(FE_UPWARD);
            for (unsigned way = 0; way < 50; ++way) {
                park(way);
                EXPECT_EQ(std::fegetround(), FE_UPWARD);
            }
        });
        for (unsigned way = 0; way < 50; ++way) {
            park(way);
            EXPECT_EQ(std::fegetround(), FE_TONEAREST);
        }
        alone.join();
    });
}

}  // namespace
}  // namespace weft::test
