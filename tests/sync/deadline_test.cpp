// deadline_test.cpp - deadlines bound straight-line code: the earliest wins, and the frame that owns it says timeout_error.
#include <weft/channel.hpp>
#include <weft/deadline.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include <weft/fiber.hpp>

#include "support/eventually.hpp"
#include "support/no_leaks.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

using steady = std::chrono::steady_clock;

/// Every test runs on a fiber and on a plain thread: deadlines need no runtime.
enum class place { fiber, thread };

class deadlines : public no_leaks, public ::testing::WithParamInterface<place> {
protected:
    template <class F>
    void here(F&& f) {
        if (GetParam() == place::fiber)
            watched_runtime(2).run(f);
        else
            std::thread(f).join();
    }
};
INSTANTIATE_TEST_SUITE_P(on, deadlines, ::testing::Values(place::fiber, place::thread),
                         [](const auto& each) { return each.param == place::fiber ? "fiber" : "thread"; });

TEST_P(deadlines, interrupt_a_wait) {
    here([] {
        const auto start = steady::now();
        EXPECT_THROW(with_timeout(5ms, [] { this_fiber::sleep_for(1h); }), timeout_error);
        EXPECT_GE(steady::now() - start, 5ms);
        EXPECT_LT(steady::now() - start, 5s);
    });
}

TEST_P(deadlines, have_an_error_code) {
    here([] {
        try {
            with_timeout(1ms, [] { this_fiber::sleep_for(1h); });
            ADD_FAILURE();
        } catch (const std::system_error& e) {
            EXPECT_EQ(e.code(), std::errc::timed_out);
        }
    });
}

std::string message_of(auto&& f) {
    try {
        f();
    } catch (const timeout_error& e) {
        return e.what();
    }
    return "no timeout";
}

TEST_P(deadlines, say_how_long_they_were_and_nothing_of_a_network) {
    here([] {
        const auto sleeps = [] { this_fiber::sleep_for(1h); };
        EXPECT_EQ(message_of([&] { with_timeout(2ms, sleeps); }), "weft: deadline of 2 ms exceeded: timed out");
        EXPECT_EQ(message_of([&] { with_timeout(std::chrono::duration<double>(0.0015), sleeps); }),
                  "weft: deadline of 1.5 ms exceeded: timed out");
        EXPECT_EQ(message_of([&] { with_timeout(-1s, sleeps); }), "weft: deadline of 0 ns exceeded: timed out");
        EXPECT_EQ(message_of([&] { with_deadline(steady::now() + 1ms, sleeps); }), "weft: deadline exceeded: timed out");
        EXPECT_EQ(message_of([&] { with_timeout(1h, [&] { with_timeout(1ms, sleeps); }); }),
                  "weft: deadline of 1 ms exceeded: timed out");
        EXPECT_EQ(message_of([&] { with_timeout(1ms, [&] { with_timeout(1h, sleeps); }); }),
                  "weft: deadline of 1 ms exceeded: timed out");
        channel<int> nothing;
        EXPECT_EQ(message_of([&] { with_timeout(1ms, [&] { nothing.receive(); }); }),
                  "weft: deadline of 1 ms exceeded: timed out");
        EXPECT_EQ(message_of([] { throw timeout_error(); }), std::string("timed out"));
        EXPECT_EQ(timeout_error().code(), std::errc::timed_out);
        EXPECT_EQ(timeout_error().code().value(), ETIMEDOUT);
    });
}

TEST_P(deadlines, return_the_value_in_time) {
    here([] {
        EXPECT_EQ(with_timeout(10s, [] { return 1; }), 1);
        int n = 2;
        EXPECT_EQ(&with_timeout(10s, [&]() -> int& { return n; }), &n);
        EXPECT_EQ(with_deadline(steady::now() + 10s,
                                [] {
                                    this_fiber::sleep_for(1ms);
                                    return 3;
                                }),
                  3);
    });
}

TEST_P(deadlines, let_a_late_body_return_if_it_does_not_wait) {
    here([] {
        EXPECT_EQ(with_timeout(1ms,
                               [] {
                                   compute_for(3ms);
                                   return 4;
                               }),
                  4);
    });
}

TEST_P(deadlines, interrupt_each_park_point_once_expired) {
    here([] {
        int thrown = 0;
        EXPECT_THROW(with_deadline(steady::now() - 1s,
                                   [&] {
                                       for (int i = 0; i < 3; ++i) {
                                           try {
                                               this_fiber::yield();
                                           } catch (const cancelled&) {
                                               ++thrown;
                                           }
                                       }
                                       this_fiber::sleep_for(0s);
                                   }),
                     timeout_error);
        EXPECT_EQ(thrown, 3);
    });
}

TEST_P(deadlines, unwind_as_cancelled) {
    here([] {
        bool seen = false;
        EXPECT_THROW(with_timeout(1ms,
                                  [&] {
                                      try {
                                          this_fiber::sleep_for(1h);
                                      } catch (const std::exception&) {
                                          ADD_FAILURE();
                                      } catch (const cancelled&) {
                                          seen = true;
                                          throw;
                                      }
                                  }),
                     timeout_error);
        EXPECT_TRUE(seen);
    });
}

TEST_P(deadlines, pass_other_exceptions_on) {
    here([] {
        EXPECT_THROW(with_timeout(10s, [] { throw std::logic_error("own"); }), std::logic_error);
        EXPECT_THROW(with_timeout(0s, [] { throw std::logic_error("own"); }), std::logic_error);
        EXPECT_THROW(with_timeout(10s, [] { throw cancelled(); }), cancelled);
    });
}

TEST_P(deadlines, end_with_their_frame) {
    here([] {
        EXPECT_THROW(with_timeout(1ms, [] { this_fiber::sleep_for(1h); }), timeout_error);
        this_fiber::sleep_for(1ms);
        this_fiber::yield();
    });
}

TEST_P(deadlines, nest_and_the_inner_one_wins_if_it_is_earlier) {
    here([] {
        bool outer_went_on = false;
        with_timeout(10s, [&] {
            EXPECT_THROW(with_timeout(2ms, [] { this_fiber::sleep_for(1h); }), timeout_error);
            this_fiber::sleep_for(1ms);
            outer_went_on = true;
        });
        EXPECT_TRUE(outer_went_on);
    });
}

TEST_P(deadlines, nest_and_the_outer_one_is_not_converted_by_the_inner) {
    here([] {
        bool inner_converted = false, unwound_as_cancelled = false;
        const auto start = steady::now();
        EXPECT_THROW(with_timeout(3ms,
                                  [&] {
                                      try {
                                          with_timeout(1h, [] { this_fiber::sleep_for(2h); });
                                      } catch (const timeout_error&) {
                                          inner_converted = true;
                                      } catch (const cancelled&) {
                                          unwound_as_cancelled = true;
                                          throw;
                                      }
                                  }),
                     timeout_error);
        EXPECT_FALSE(inner_converted);
        EXPECT_TRUE(unwound_as_cancelled);
        EXPECT_LT(steady::now() - start, 10s);
    });
}

TEST_P(deadlines, nest_and_go_to_the_outer_if_both_have_expired) {
    here([] {
        bool inner_converted = false;
        const auto now = steady::now();
        EXPECT_THROW(with_deadline(now - 1s,
                                   [&] {
                                       try {
                                           with_deadline(now - 2s, [] { this_fiber::yield(); });
                                       } catch (const timeout_error&) {
                                           inner_converted = true;
                                       }
                                       this_fiber::yield();
                                   }),
                     timeout_error);
        EXPECT_FALSE(inner_converted);
    });
}

TEST_P(deadlines, come_in_all_units_and_from_all_clocks) {
    here([] {
        const auto waits = [] { this_fiber::sleep_for(1h); };
        EXPECT_THROW(with_timeout(std::chrono::duration<double, std::milli>(1.5), waits), timeout_error);
        EXPECT_THROW(with_deadline(std::chrono::system_clock::now() + 1ms, waits), timeout_error);
        EXPECT_THROW(with_timeout(std::chrono::hours::min(), waits), timeout_error);
        EXPECT_THROW(with_timeout(std::chrono::duration<unsigned char, std::micro>(200), waits), timeout_error);
        EXPECT_THROW(with_timeout(std::chrono::duration<long, std::pico>(1'500'000), waits), timeout_error);
        EXPECT_THROW(with_timeout(std::chrono::duration<int, std::ratio<1, 3'000>>(3), waits), timeout_error);
        EXPECT_THROW(with_timeout(1ms,
                                  [] {
                                      const shield limited(std::chrono::duration<double>(0.002));
                                      this_fiber::sleep_for(std::chrono::hours::max());
                                  }),
                     timeout_error);
    });
}

TEST_P(deadlines, in_the_far_future_are_none) {
    here([] {
        with_timeout(std::chrono::hours::max(), [] { this_fiber::sleep_for(1ms); });
        with_timeout(forever, [] { this_fiber::sleep_for(1ms); });
        with_timeout(std::chrono::duration<std::uint64_t>::max(), [] { this_fiber::sleep_for(1ms); });
        with_deadline(steady_time_point::max(), [] { this_fiber::sleep_for(1ms); });
        with_timeout(-1h, [] {});
    });
}

TEST_P(deadlines, shorten_an_operation_with_a_later_one) {
    here([] {
        watched_runtime other(1);
        auto f = other.spawn([] { this_fiber::sleep_for(1h); });
        EXPECT_THROW(with_timeout(2ms, [&] { static_cast<void>(f.join_for(1h)); }), timeout_error);
        EXPECT_FALSE(with_timeout(1h, [&] { return f.join_for(2ms); }));
    });
}

class fibers_with_deadlines : public on_workers {
protected:
    watched_runtime rt{GetParam()};
};
WEFT_ON_1_2_4_8_WORKERS(fibers_with_deadlines);

TEST_P(fibers_with_deadlines, a_join_that_times_out_leaves_the_handle) {
    rt.run([] {
        auto f = spawn([] {
            this_fiber::sleep_for(10ms);
            return 1;
        });
        EXPECT_THROW(with_timeout(1ms, [&] { f.join(); }), timeout_error);
        EXPECT_EQ(f.join(), 1);
    });
}

TEST_P(fibers_with_deadlines, a_deadline_is_the_fibers_own) {
    rt.run([] {
        with_timeout(1h, [] {
            auto f = spawn([] { this_fiber::sleep_for(3ms); });
            EXPECT_THROW(with_timeout(1ms, [] { this_fiber::sleep_for(1h); }), timeout_error);
            f.join();
        });
    });
}

TEST_P(fibers_with_deadlines, a_stop_is_not_taken_for_the_deadline) {
    rt.run([] {
        auto f = spawn([] { with_timeout(1h, [] { this_fiber::sleep_for(2h); }); });
        this_fiber::sleep_for(1ms);
        f.request_stop();
        EXPECT_THROW(f.join(), fiber_cancelled);
    });
}

TEST_P(fibers_with_deadlines, a_stop_wins_over_an_expired_deadline) {
    rt.run([] {
        std::atomic<bool> stopped{false};
        auto f = spawn([&] {
            while (!stopped) std::this_thread::yield();
            with_timeout(0s, [] { this_fiber::yield(); });
        });
        f.request_stop();
        stopped = true;
        EXPECT_THROW(f.join(), fiber_cancelled);
    });
}

TEST_P(fibers_with_deadlines, a_deadline_arrives_while_all_workers_have_other_work) {
    const auto workers = GetParam();
    rt.run([workers] {
        std::atomic<bool> over{false};
        std::vector<fiber<>> busy;
        for (unsigned i = 0; i < 2 * workers; ++i)
            busy.push_back(spawn([&] {
                while (!over) {
                    compute_for(200us);
                    this_fiber::yield();
                }
            }));
        EXPECT_THROW(with_timeout(2ms, [] { this_fiber::sleep_for(1h); }), timeout_error);
        over = true;
        for (auto& b : busy) b.join();
    });
}

}  // namespace
}  // namespace weft::test
