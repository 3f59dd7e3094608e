// shield_test.cpp - under a shield nothing interrupts; what was postponed comes right after it.
#include <weft/stop.hpp>

#include <gtest/gtest.h>

#include <weft/fiber.hpp>

#include "support/eventually.hpp"
#include "support/no_leaks.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

using steady = std::chrono::steady_clock;

class shields : public on_workers {
protected:
    watched_runtime rt{GetParam()};
};
WEFT_ON_1_2_4_8_WORKERS(shields);

TEST_P(shields, postpone_a_stop_that_came_before) {
    rt.run([] {
        bool finished = false;
        auto f = spawn([&] {
            {
                const shield none;
                this_fiber::yield();
                this_fiber::sleep_for(1ms);
                finished = true;
            }
            this_fiber::yield();
            ADD_FAILURE();
        });
        f.request_stop();
        EXPECT_THROW(f.join(), fiber_cancelled);
        EXPECT_TRUE(finished);
    });
}

TEST_P(shields, postpone_a_stop_that_comes_during_a_wait) {
    rt.run([] {
        bool finished = false;
        auto f = spawn([&] {
            {
                const shield none;
                const auto start = steady::now();
                this_fiber::sleep_for(5ms);
                EXPECT_GE(steady::now() - start, 5ms);
                finished = true;
            }
            this_fiber::sleep_for(1h);
        });
        this_fiber::sleep_for(1ms);
        f.request_stop();
        EXPECT_THROW(f.join(), fiber_cancelled);
        EXPECT_TRUE(finished);
    });
}

TEST_P(shields, nest) {
    rt.run([] {
        int reached = 0;
        auto f = spawn([&] {
            const shield outer;
            {
                const shield inner;
                this_fiber::yield();
                ++reached;
            }
            this_fiber::yield();
            ++reached;
            {
                const shield limited(0s);  // shortens nothing
                this_fiber::yield();
                ++reached;
            }
        });
        f.request_stop();
        f.join();
        EXPECT_EQ(reached, 3);
    });
}

TEST_P(shields, with_a_limit_give_way_when_it_has_passed) {
    rt.run([] {
        auto f = spawn([] {
            const shield limited(5ms);
            const auto start = steady::now();
            try {
                this_fiber::sleep_for(1h);
                ADD_FAILURE();
            } catch (const cancelled&) {
                EXPECT_GE(steady::now() - start, 5ms);
                EXPECT_LT(steady::now() - start, 10s);
            }
        });
        f.request_stop();
        f.join();
    });
}

TEST_P(shields, with_a_limit_let_a_later_stop_in_at_once) {
    rt.run([] {
        auto f = spawn([] {
            const shield limited(1ms);
            this_fiber::sleep_for(1h);
        });
        this_fiber::sleep_for(5ms);
        f.request_stop();
        EXPECT_THROW(f.join(), fiber_cancelled);
    });
}

TEST_P(shields, with_a_limit_postpone_a_stop_that_comes_before_it) {
    rt.run([] {
        auto f = spawn([] {
            const auto start = steady::now();
            try {
                const shield limited(20ms);
                this_fiber::sleep_for(1h);
            } catch (const cancelled&) {
            }
            return steady::now() - start;
        });
        this_fiber::sleep_for(1ms);
        f.request_stop();
        EXPECT_GE(f.join(), 20ms);
    });
}

TEST_P(shields, with_a_limit_do_not_end_a_wait_of_a_fiber_nobody_stopped) {
    rt.run([] {
        const shield limited(1ms);
        const auto start = steady::now();
        this_fiber::sleep_for(5ms);
        EXPECT_GE(steady::now() - start, 5ms);
    });
}

TEST_P(shields, postpone_deadlines) {
    rt.run([] {
        const auto start = steady::now();
        EXPECT_THROW(with_timeout(1ms,
                                  [&] {
                                      {
                                          const shield none;
                                          this_fiber::sleep_for(5ms);
                                          EXPECT_GE(steady::now() - start, 5ms);
                                          this_fiber::yield();
                                      }
                                      this_fiber::yield();
                                      ADD_FAILURE();
                                  }),
                     timeout_error);
    });
}

TEST_P(shields, with_a_limit_bound_the_postponement_of_a_deadline) {
    rt.run([] {
        const auto start = steady::now();
        EXPECT_THROW(with_timeout(1ms,
                                  [&] {
                                      const shield limited(10ms);
                                      this_fiber::sleep_for(1h);
                                  }),
                     timeout_error);
        EXPECT_GE(steady::now() - start, 10ms);
        EXPECT_LT(steady::now() - start, 10s);
    });
}

TEST_P(shields, do_not_shorten_a_deadline_later_than_their_limit) {
    rt.run([] {
        const auto start = steady::now();
        EXPECT_THROW(with_timeout(10ms,
                                  [&] {
                                      const shield limited(1ms);
                                      this_fiber::sleep_for(1h);
                                  }),
                     timeout_error);
        EXPECT_GE(steady::now() - start, 10ms);
    });
}

TEST_P(shields, are_the_fibers_own) {
    rt.run([] {
        const shield mine;
        auto f = spawn([] { this_fiber::sleep_for(1h); });
        f.request_stop();
        EXPECT_THROW(f.join(), fiber_cancelled);
    });
}

TEST(shields_of_threads, postpone_a_deadline_too) {
    const auto start = steady::now();
    EXPECT_THROW(with_timeout(1ms,
                              [&] {
                                  {
                                      const shield limited(5ms);
                                      this_fiber::sleep_for(3ms);
                                      EXPECT_GE(steady::now() - start, 3ms);
                                  }
                                  this_fiber::sleep_for(1h);
                              }),
                 timeout_error);
}

}  // namespace
}  // namespace weft::test
