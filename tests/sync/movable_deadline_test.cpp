// movable_deadline_test.cpp - a deadline that others move: it comes where it is last, and for all who are under it.
#include <weft/movable_deadline.hpp>

#include <gtest/gtest.h>

#include <thread>

#include <weft/explore.hpp>
#include <weft/runtime.hpp>

#include "support/eventually.hpp"
#include "support/no_leaks.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

class movable_deadlines : public on_workers {
protected:
    watched_runtime rt{GetParam()};
};
WEFT_ON_1_2_4_8_WORKERS(movable_deadlines);

TEST_P(movable_deadlines, interrupt_when_they_come) {
    rt.run([] {
        movable_deadline idle(2ms);
        EXPECT_THROW(with_deadline(idle, [] { this_fiber::sleep_for(1h); }), timeout_error);
        this_fiber::yield();  // nothing of it is left
    });
}

TEST_P(movable_deadlines, return_what_was_computed_and_pass_failures_on) {
    rt.run([] {
        movable_deadline never;
        EXPECT_EQ(with_deadline(never, [] { return 5; }), 5);
        with_deadline(never, [] { this_fiber::yield(); });
        EXPECT_THROW(with_deadline(never, [] { throw std::logic_error("its own"); }), std::logic_error);
    });
}

TEST_P(movable_deadlines, that_are_moved_on_do_not_come) {
    rt.run([] {
        movable_deadline idle(1h);
        auto other = spawn([&] {
            for (int i = 0; i < 20; ++i) {
                idle.expires_after(50s);
                this_fiber::sleep_for(100us);
            }
        });
        EXPECT_EQ(with_deadline(idle,
                                [&] {
                                    other.join();
                                    return 1;
                                }),
                  1);
        EXPECT_LT(idle.expiry(), weft::now() + 50s);
    });
}

TEST_P(movable_deadlines, that_are_moved_to_earlier_by_a_thread_wake_who_waits) {
    movable_deadline idle;
    auto f = rt.spawn([&] { EXPECT_THROW(with_deadline(idle, [] { this_fiber::sleep_for(1h); }), timeout_error); });
    EXPECT_TRUE(eventually([&] { return waiting_for(rt, "sleep") == 1; }));
    idle.expires_after(1ms);
    f.join();
}

TEST_P(movable_deadlines, end_all_who_share_them) {
    rt.run([] {
        movable_deadline idle(2ms);
        const auto direction = [&] { EXPECT_THROW(with_deadline(idle, [] { this_fiber::sleep_for(1h); }), timeout_error); };
        auto there = spawn(direction), back = spawn(direction);
        there.join();
        back.join();
    });
}

TEST_P(movable_deadlines, leave_a_stop_from_outside_what_it_is) {
    rt.run([] {
        movable_deadline idle(1h);
        auto f = spawn([&] {
            try {
                with_deadline(idle, [] { this_fiber::sleep_for(1h); });
            } catch (const cancelled&) {
                return true;
            }
            return false;
        });
        this_fiber::yield();
        f.request_stop();
        EXPECT_TRUE(f.join());
        EXPECT_THROW(with_timeout(1ms, [&] { with_deadline(idle, [] { this_fiber::sleep_for(1h); }); }), timeout_error);
    });
}

TEST(movable_deadlines_simulated, come_at_the_instant_they_were_moved_to) {
    explore(20, [] {
        const auto start = weft::now();
        movable_deadline idle(10min);
        auto mover = spawn([&] {
            this_fiber::sleep_for(9min);
            idle.expires_after(10min);
        });
        bool late = false;
        try {
            with_deadline(idle, [] { this_fiber::sleep_for(1h); });
        } catch (const timeout_error&) {
            late = true;
        }
        mover.join();
        if (!late || weft::now() - start < 19min || weft::now() - start > 20min) throw std::logic_error("at another time");
    });
}

}  // namespace
}  // namespace weft::test
