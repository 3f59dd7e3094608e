// timed_forms_test.cpp - a wait with a limit of time has a form until a point in time, and one with a token where its siblings have.
#include <weft/barrier.hpp>
#include <weft/channel.hpp>
#include <weft/ivar.hpp>
#include <weft/latch.hpp>
#include <weft/pool.hpp>
#include <weft/rate_limiter.hpp>
#include <weft/runtime.hpp>
#include <weft/select.hpp>
#include <weft/semaphore.hpp>
#include <weft/ticker.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <ratio>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>

#include "support/no_leaks.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

using clock = std::chrono::steady_clock;

/// A token that is stopped a little later.
class stopped_soon {
public:
    std::stop_token token() const { return source_.get_token(); }

private:
    std::stop_source source_;
    std::jthread stopper_{[s = source_]() mutable {
        std::this_thread::sleep_for(2ms);
        s.request_stop();
    }};
};

// All run on a fiber and on a plain thread.
class timed_forms : public no_leaks, public ::testing::WithParamInterface<bool> {
protected:
    template <class F>
    void run(F f) {
        if (!GetParam()) return f();
        watched_runtime rt(2);
        rt.run(f);
    }
};
INSTANTIATE_TEST_SUITE_P(on, timed_forms, ::testing::Bool(),
                         [](const auto& p) { return std::string(p.param ? "a_fiber" : "a_thread"); });

TEST_P(timed_forms, a_semaphore_gives_up_by_time_or_token) {
    run([] {
        counting_semaphore<> seats(1);
        const std::stop_token none;
        EXPECT_TRUE(seats.try_acquire_for(none, 1h));
        EXPECT_FALSE(seats.try_acquire_for(none, 1ms));
        EXPECT_FALSE(seats.try_acquire_until(none, clock::now() + 1ms));
        const stopped_soon soon;
        EXPECT_FALSE(seats.try_acquire_for(soon.token(), 1h));
        EXPECT_FALSE(seats.try_acquire_until(soon.token(), clock::now() + 1h));
        seats.release();
        EXPECT_TRUE(seats.try_acquire());
    });
}

TEST_P(timed_forms, a_latch_that_is_not_waited_for_was_counted_down) {
    run([] {
        latch l(4);
        EXPECT_FALSE(l.arrive_and_wait_for(1ms));
        EXPECT_FALSE(l.arrive_and_wait_until(clock::now()));
        const stopped_soon soon;
        EXPECT_FALSE(l.arrive_and_wait(soon.token()));
        EXPECT_TRUE(l.arrive_and_wait_for(0s));  // the last one does not wait
        EXPECT_TRUE(l.try_wait());
        latch two(2);
        EXPECT_TRUE(two.arrive_and_wait_for(1h, 2));
    });
}

TEST_P(timed_forms, an_arrival_gives_up_by_time_or_token_whichever_is_first) {
    run([] {
        const std::stop_token none;
        const stopped_soon soon;
        latch l(7);
        EXPECT_FALSE(l.arrive_and_wait_for(none, 1ms));
        EXPECT_FALSE(l.arrive_and_wait_until(none, clock::now()));
        EXPECT_FALSE(l.arrive_and_wait_for(soon.token(), 1h, 2));
        EXPECT_FALSE(l.arrive_and_wait_until(soon.token(), clock::now() + 1h));
        EXPECT_TRUE(l.arrive_and_wait_for(none, 0s, 2));
        int completed = 0;
        barrier step(5, [&]() noexcept { ++completed; });
        EXPECT_FALSE(step.arrive_and_wait_for(none, 1ms));
        EXPECT_FALSE(step.arrive_and_wait_until(none, clock::now()));
        EXPECT_FALSE(step.arrive_and_wait_for(soon.token(), 1h));
        EXPECT_FALSE(step.arrive_and_wait_until(soon.token(), clock::now() + 1h));
        EXPECT_EQ(completed, 0);
        EXPECT_TRUE(step.arrive_and_wait_for(soon.token(), 0s));
        EXPECT_EQ(completed, 1);
    });
}

TEST_P(timed_forms, a_party_that_gives_up_has_arrived) {
    run([] {
        int completed = 0;
        barrier step(4, [&]() noexcept { ++completed; });
        EXPECT_FALSE(step.arrive_and_wait_for(1ms));
        EXPECT_FALSE(step.arrive_and_wait_until(clock::now()));
        const stopped_soon soon;
        EXPECT_FALSE(step.arrive_and_wait(soon.token()));
        EXPECT_EQ(completed, 0);
        EXPECT_TRUE(step.arrive_and_wait_for(0s));
        EXPECT_EQ(completed, 1);
    });
}

TEST_P(timed_forms, a_wait_for_a_phase_gives_up_by_time_or_token) {
    run([] {
        barrier<> step(2);
        const auto mine = step.arrive();
        const std::stop_token none;
        EXPECT_FALSE(step.wait_for(mine, none, 1ms));
        EXPECT_FALSE(step.wait_until(mine, none, clock::now() + 1ms));
        const stopped_soon soon;
        EXPECT_FALSE(step.wait_for(mine, soon.token(), 1h));
        EXPECT_FALSE(step.wait_until(mine, soon.token(), clock::now() + 1h));
        step.arrive_and_drop();
        EXPECT_TRUE(step.wait_for(mine, soon.token(), 0s));
    });
}

TEST_P(timed_forms, an_ivar_is_waited_for_by_time_or_token) {
    run([] {
        ivar<int> v;
        const std::stop_token none;
        EXPECT_FALSE(v.wait_for(none, 1ms));
        const stopped_soon soon;
        EXPECT_FALSE(v.wait_until(soon.token(), clock::now() + 1h));
        v.set(1);
        v.wait();
        EXPECT_TRUE(v.wait_for(soon.token(), 0s));
    });
}

TEST_P(timed_forms, a_channel_has_a_point_in_time) {
    run([] {
        const channel<int> c(1);
        const auto soon = clock::now() + 2ms;
        EXPECT_EQ(c.send_until(1, soon), channel_op::done);
        int kept = 2;
        EXPECT_EQ(c.send_until(kept, soon), channel_op::timeout);
        EXPECT_GE(clock::now(), soon);
        int got = 0;
        EXPECT_EQ(c.receive_until(got, soon), channel_op::done);  // a point that has passed
        EXPECT_EQ(got, 1);
        EXPECT_EQ(c.receive_until(got, std::chrono::system_clock::now() + 1ms), channel_op::timeout);
        c.close();
        EXPECT_EQ(c.send_until(3, clock::now() + 1h), channel_op::closed);
        EXPECT_EQ(c.receive_until(got, clock::now() + 1h), channel_op::closed);
    });
}

TEST_P(timed_forms, a_select_has_a_point_in_time) {
    run([] {
        const channel<int> silent;
        const auto soon = clock::now() + 2ms;
        bool late = false;
        const auto chosen = select(on_receive(silent, [](auto) {}), on_timeout(soon, [&] { late = true; }));
        EXPECT_EQ(chosen, 1u);
        EXPECT_TRUE(late);
        EXPECT_GE(clock::now(), soon);
        EXPECT_EQ(select(on_receive(silent, [](auto) {}), on_timeout(soon)), 1u);
    });
}

TEST_P(timed_forms, a_pool_lends_by_time_or_token) {
    run([] {
        pool<int> one([] { return 1; }, {.limit = 1});
        const std::stop_token none;
        const stopped_soon soon;
        {
            const auto lent = one.acquire_until(clock::now() + 1h);
            ASSERT_TRUE(lent);
            EXPECT_FALSE(one.acquire_until(clock::now() + 1ms));
            EXPECT_FALSE(one.acquire_for(none, 1ms));
            EXPECT_FALSE(one.acquire(soon.token()));
            EXPECT_FALSE(one.acquire_for(soon.token(), 1h));
            EXPECT_FALSE(one.acquire_until(soon.token(), clock::now() + 1h));
        }
        EXPECT_TRUE(one.acquire(none));
        EXPECT_TRUE(one.acquire_for(none, 1h));
    });
}

TEST_P(timed_forms, a_rate_limiter_gives_up_by_token_and_goes_on_with_the_next) {
    run([] {
        rate_limiter r({.tokens = 1, .per = 1h});
        const std::stop_token none;
        EXPECT_TRUE(r.acquire(none));
        const stopped_soon soon;
        EXPECT_FALSE(r.acquire(soon.token()));
        EXPECT_FALSE(r.acquire_for(soon.token(), 2h));
        EXPECT_FALSE(r.acquire_for(none, 1min));  // known at once
        EXPECT_FALSE(r.acquire_until(none, clock::now() + 1min));
        EXPECT_FALSE(r.try_acquire());
    });
}

TEST(durations, of_any_unit_are_taken) {
    using minutes_in_floats = std::chrono::duration<float, std::ratio<60>>;
    using picoseconds = std::chrono::duration<std::int64_t, std::pico>;
    runtime rt({.workers = 1});
    rt.run([] {
        const auto ticks = every(picoseconds(1));
        EXPECT_TRUE(ticks.receive());
        EXPECT_THROW(static_cast<void>(every(std::chrono::duration<float>(std::numeric_limits<float>::quiet_NaN()))),
                     std::invalid_argument);
    });
    EXPECT_TRUE(rt.shutdown(minutes_in_floats(1)));
}

}  // namespace
}  // namespace weft::test
