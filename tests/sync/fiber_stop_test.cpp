// fiber_stop_test.cpp - how one fiber is asked to end: by requests and tokens, at each park point, from its first one on.
#include <weft/fiber.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "support/eventually.hpp"
#include "support/no_leaks.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

class stopping_fibers : public on_workers {
protected:
    watched_runtime rt{GetParam()};
};
WEFT_ON_1_2_4_8_WORKERS(stopping_fibers);

TEST_P(stopping_fibers, request_stop_ends_a_sleep) {
    rt.run([] {
        auto f = spawn([] { this_fiber::sleep_for(1h); });
        this_fiber::sleep_for(1ms);
        EXPECT_TRUE(f.request_stop());
        EXPECT_FALSE(f.request_stop());
        EXPECT_THROW(f.join(), fiber_cancelled);
    });
}

TEST_P(stopping_fibers, request_stop_ends_a_join) {
    rt.run([] {
        auto sleeper = spawn([] {
            this_fiber::sleep_for(5ms);
            return 1;
        });
        auto f = spawn([&] { sleeper.join(); });
        f.request_stop();
        EXPECT_THROW(f.join(), fiber_cancelled);
        EXPECT_TRUE(sleeper.joinable());
        EXPECT_EQ(sleeper.join(), 1);
    });
}

TEST_P(stopping_fibers, request_stop_ends_a_loop_of_yields) {
    rt.run([] {
        auto f = spawn([] {
            for (;;) this_fiber::yield();
        });
        this_fiber::sleep_for(1ms);
        f.request_stop();
        EXPECT_THROW(f.join(), fiber_cancelled);
    });
}

TEST_P(stopping_fibers, a_stop_from_a_plain_thread_arrives) {
    auto f = rt.spawn([] { this_fiber::sleep_for(1h); });
    std::this_thread::sleep_for(1ms);
    f.request_stop();
    EXPECT_THROW(f.join(), fiber_cancelled);
}

TEST_P(stopping_fibers, a_body_always_runs_and_sees_the_stop_at_its_first_park_point) {
    rt.run([] {
        for (int i = 0; i < 50; ++i) {
            bool ran = false, went_on = false;
            auto f = spawn([&] {
                ran = true;
                const auto end = std::chrono::steady_clock::now() + 10s;  // another worker may be faster than the stop
                while (std::chrono::steady_clock::now() < end) this_fiber::yield();
                went_on = true;
            });
            f.request_stop();
            EXPECT_THROW(f.join(), fiber_cancelled);
            EXPECT_TRUE(ran);
            EXPECT_FALSE(went_on);
        }
    });
}

TEST_P(stopping_fibers, every_further_park_point_throws_again) {
    rt.run([] {
        int thrown = 0;
        auto other = spawn([] { this_fiber::sleep_for(20ms); });
        auto f = spawn([&] {
            const auto point = [&](auto park) {
                try {
                    park();
                } catch (const cancelled&) {
                    ++thrown;
                }
            };
            for (int i = 0; i < 2; ++i) {
                point([] { this_fiber::sleep_for(1h); });
                point([] { this_fiber::sleep_for(0s); });
                point([] { this_fiber::yield(); });
                point([&] { static_cast<void>(other.join_for(1h)); });
            }
        });
        f.request_stop();
        f.join();
        EXPECT_EQ(thrown, 8);
        other.join();
    });
}

TEST_P(stopping_fibers, a_park_point_throws_though_it_would_not_have_waited) {
    rt.run([] {
        auto ended = spawn([] {});
        EXPECT_TRUE(ended.join_for(10s));
        auto f = spawn([&](std::stop_token told) {
            {
                const shield until_told;
                while (!told.stop_requested()) this_fiber::yield();
            }
            ended.join();
        });
        f.request_stop();
        EXPECT_THROW(f.join(), fiber_cancelled);
        ended.join();
    });
}

TEST_P(stopping_fibers, a_body_that_swallows_the_stop_has_a_result) {
    rt.run([] {
        auto f = spawn([] {
            try {
                this_fiber::sleep_for(1h);
            } catch (const cancelled&) {}
            return 3;
        });
        f.request_stop();
        EXPECT_EQ(f.join(), 3);
    });
}

TEST_P(stopping_fibers, a_handler_of_std_exception_does_not_swallow_it) {
    rt.run([] {
        auto f = spawn([] {
            try {
                this_fiber::sleep_for(1h);
            } catch (const std::exception&) {
                ADD_FAILURE();
            }
        });
        f.request_stop();
        EXPECT_THROW(f.join(), fiber_cancelled);
    });
}

TEST_P(stopping_fibers, the_destructor_stops_and_joins) {
    rt.run([] {
        bool unwound = false;
        {
            auto f = spawn([&] {
                struct at_end {
                    bool& flag;
                    ~at_end() { flag = true; }
                } const guard{unwound};
                this_fiber::sleep_for(1h);
            });
            this_fiber::sleep_for(1ms);
        }
        EXPECT_TRUE(unwound);
    });
}

TEST_P(stopping_fibers, the_destructor_waits_though_its_own_fiber_is_stopped) {
    rt.run([] {
        std::atomic<bool> ended{false};
        auto outer = spawn([&] {
            auto inner = spawn([&] {
                const shield slow_to_end;
                this_fiber::sleep_for(5ms);
                ended = true;
            });
            this_fiber::sleep_for(1h);
        });
        this_fiber::sleep_for(1ms);
        outer.request_stop();
        EXPECT_THROW(outer.join(), fiber_cancelled);
        EXPECT_TRUE(ended);
    });
}

TEST_P(stopping_fibers, a_leading_stop_token_is_supplied) {
    rt.run([] {
        auto f = spawn(
            [](std::stop_token token, int n) {
                while (!token.stop_requested()) {
                    const shield looks_only_at_the_token;
                    this_fiber::sleep_for(100us);
                }
                return n;
            },
            4);
        this_fiber::sleep_for(1ms);
        f.request_stop();
        EXPECT_EQ(f.join(), 4);
    });
}

TEST_P(stopping_fibers, tokens_agree_and_callbacks_run) {
    rt.run([] {
        int calls = 0;
        auto f = spawn([&] {
            const std::stop_callback count(this_fiber::stop_token(), [&] { ++calls; });
            this_fiber::sleep_for(1h);
        });
        this_fiber::sleep_for(1ms);
        const auto token = f.stop_token();
        EXPECT_FALSE(token.stop_requested());
        f.request_stop();
        EXPECT_TRUE(token.stop_requested());
        EXPECT_TRUE(f.stop_token().stop_requested());
        EXPECT_THROW(f.join(), fiber_cancelled);
        EXPECT_EQ(calls, 1);
    });
}

TEST_P(stopping_fibers, a_token_made_after_the_request_is_stopped) {
    rt.run([] {
        std::atomic<bool> requested{false};
        auto f = spawn([&] {
            const shield until_then;
            while (!requested) this_fiber::yield();
            return this_fiber::stop_token().stop_requested();
        });
        f.request_stop();
        requested = true;
        EXPECT_TRUE(f.stop_token().stop_requested());
        EXPECT_TRUE(f.join());
    });
}

}  // namespace
}  // namespace weft::test
