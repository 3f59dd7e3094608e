// frames_test.cpp - deadlines and shields that begin in a coroutine: they count while it runs, for whoever calls it, and for nobody else.
#include <gtest/gtest.h>

#include <chrono>
#include <coroutine>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>
#include <weft/coroutine.hpp>
#include <weft/deadline.hpp>
#include <weft/fiber.hpp>
#include <weft/generator.hpp>
#include <weft/runtime.hpp>
#include <weft/stop.hpp>

namespace weft {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<coroutine<>> suspended_within(std::chrono::milliseconds limit) {
    auto c = std::make_unique<coroutine<>>([limit] {
        with_timeout(limit, [] {
            coroutine<>::yield();
            this_fiber::sleep_for(1h);
        });
    });
    c->call();
    return c;
}

TEST(frames, the_deadline_of_a_suspended_coroutine_is_not_its_callers) {
    run([] {
        auto c = suspended_within(1ms);
        this_fiber::sleep_for(3ms);
        EXPECT_THROW(c->call(), timeout_error);
        this_fiber::sleep_for(1ms);
    });
}

TEST(frames, a_plain_thread_has_them_like_a_fiber) {
    auto c = suspended_within(1ms);
    this_fiber::sleep_for(3ms);
    std::thread([&] { EXPECT_THROW(c->call(), timeout_error); }).join();
    this_fiber::sleep_for(1ms);
}

TEST(frames, a_suspended_coroutine_is_destroyed_after_the_deadlines_of_its_first_caller) {
    run([] {
        auto c = with_timeout(1h, [] {
            const shield until_it_is_made;
            return suspended_within(2h);
        });
        with_timeout(1h, [&] {
            spawn([&] {
                EXPECT_THROW(with_timeout(5ms,
                                          [&] {
                                              c.reset();
                                              this_fiber::sleep_for(1h);
                                          }),
                             timeout_error);
            }).join();
            this_fiber::sleep_for(1ms);
        });
    });
}

TEST(frames, the_next_caller_brings_its_own_deadline) {
    run([] {
        auto c = with_timeout(1h, [] { return suspended_within(1h); });
        EXPECT_THROW(with_timeout(1ms, [&] { c->call(); }), timeout_error);
        EXPECT_EQ(c->state(), coroutine_state::done);
        this_fiber::sleep_for(2ms);
    });
}

TEST(frames, the_earliest_of_several_counts_wherever_they_go_on) {
    run([] {
        std::vector<int> ended;
        coroutine<> c([&] {
            try {
                with_timeout(1ms, [&] {
                    try {
                        with_timeout(1h, [&] {
                            coroutine<>::yield();
                            this_fiber::sleep_for(1h);
                        });
                    } catch (timeout_error const&) {
                        ended.push_back(1);
                    }
                });
            } catch (timeout_error const&) {
                ended.push_back(2);
            }
            this_fiber::sleep_for(2ms);
            ended.push_back(3);
        });
        c.call();
        spawn([&] { with_timeout(1h, [&] { c.call(); }); }).join();
        EXPECT_EQ(ended, (std::vector{2, 3}));
    });
}

TEST(frames, the_shield_of_a_suspended_coroutine_protects_it_and_not_its_caller) {
    run([] {
        bool protected_inside = false, stopped_outside = false;
        auto f = spawn([&] {
            coroutine<> c([&] {
                const shield s;
                coroutine<>::yield();
                this_fiber::sleep_for(2ms);
                protected_inside = true;
            });
            c.call();
            try {
                this_fiber::sleep_for(1h);
            } catch (cancelled const&) {
                stopped_outside = true;
            }
            c.call();
            this_fiber::yield();
            ADD_FAILURE();
        });
        this_fiber::sleep_for(1ms);
        f.request_stop();
        EXPECT_THROW(f.join(), fiber_cancelled);
        EXPECT_TRUE(stopped_outside);
        EXPECT_TRUE(protected_inside);
    });
}

TEST(frames, a_transfer_leaves_them_behind) {
    run([] {
        coroutine<> limited([] {
            with_timeout(1ms, [] {
                coroutine<> other([] {
                    this_fiber::sleep_for(3ms);
                    coroutine<>::yield();
                });
                coroutine<>::transfer_to(other);
                EXPECT_EQ(other.state(), coroutine_state::suspended);
            });
        });
        EXPECT_NO_THROW(limited.call());
        EXPECT_NO_THROW(limited.call());
        EXPECT_EQ(limited.state(), coroutine_state::done);
    });
}

TEST(frames, those_of_an_inner_coroutine_go_with_it_and_those_around_its_call_stay) {
    run([] {
        coroutine<> inner([] { with_timeout(2h, [] { coroutine<>::yield(); }); });
        coroutine<> outer([&] {
            with_timeout(1ms, [&] {
                inner.call();
                coroutine<>::yield();
                this_fiber::sleep_for(1h);
            });
        });
        outer.call();
        this_fiber::sleep_for(2ms);
        inner.call();
        EXPECT_EQ(inner.state(), coroutine_state::done);
        EXPECT_THROW(outer.call(), timeout_error);
    });
}

TEST(frames, a_generator_keeps_its_deadline_between_two_fibers) {
    run([] {
        generator<int> g([](yielder<int>& yield) {
            with_timeout(1ms, [&] {
                yield(1);
                this_fiber::sleep_for(1h);
            });
        });
        auto i = spawn([&] { return with_timeout(1h, [&] { return g.begin(); }); }).join();
        EXPECT_EQ(*i, 1);
        this_fiber::sleep_for(2ms);
        EXPECT_THROW(++i, timeout_error);
    });
}

TEST(frames, a_generator_between_two_elements_is_destroyed_by_another_fiber) {
    run([] {
        std::optional<generator<int>> g(std::in_place, [](yielder<int>& yield) {
            const shield s;
            with_timeout(1h, [&] { yield(1); });
        });
        spawn([&] { with_timeout(1h, [&] { EXPECT_EQ(*g->begin(), 1); }); }).join();
        spawn([&] { with_timeout(1h, [&] { g.reset(); }); }).join();
        this_fiber::sleep_for(1ms);
    });
}

class frames_death : public testing::Test {
protected:
    frames_death() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

constexpr auto in_turn =
    "weft: fatal: shields and deadlines end in the fiber, thread or coroutine where they began, the innermost first "
    "\\(shield: this one is not the innermost here\\) \\[in culprit, fiber [0-9]+\\]";

TEST_F(frames_death, a_shield_that_ends_in_another_fiber) {
    EXPECT_DEATH(run([] {
                     auto s = std::make_unique<shield>();
                     spawn({.name = "culprit"}, [s = std::move(s)]() mutable { s.reset(); }).join();
                 }),
                 in_turn);
}

TEST_F(frames_death, a_shield_that_ends_before_one_inside_it) {
    EXPECT_DEATH(run([] {
                     spawn({.name = "culprit"}, [] {
                         auto outer = std::make_unique<shield>();
                         const shield inner;
                         outer.reset();
                     }).join();
                 }),
                 in_turn);
}

TEST_F(frames_death, a_fiber_that_ends_within_its_shield) {
    EXPECT_DEATH(run([] {
                     std::unique_ptr<shield> s;
                     spawn({.name = "culprit"}, [&] { s = std::make_unique<shield>(); }).join();
                 }),
                 "weft: fatal: a fiber ends within a shield of its own \\(culprit\\)");
}

TEST_F(frames_death, a_coroutine_that_ends_within_its_shield) {
    EXPECT_DEATH(run([] {
                     spawn({.name = "culprit"}, [] {
                         std::unique_ptr<shield> s;
                         coroutine<> c([&] { s = std::make_unique<shield>(); });
                         c.call();
                     }).join();
                 }),
                 "weft: fatal: a coroutine ends within a shield of its own.* \\[in culprit, fiber [0-9]+\\]");
}

// A coroutine of the language's: where it is suspended is nothing that weft hears of.
struct of_the_language {
    struct promise_type {
        of_the_language get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        static std::suspend_never initial_suspend() noexcept { return {}; }
        static std::suspend_always final_suspend() noexcept { return {}; }
        static void return_void() noexcept {}
        static void unhandled_exception() noexcept {}
    };
    std::coroutine_handle<promise_type> handle;
};

of_the_language suspended_within_a_shield() {
    const shield s;
    co_await std::suspend_always{};
}

TEST_F(frames_death, a_shield_in_a_coroutine_of_the_language_that_another_fiber_destroys) {
    EXPECT_DEATH(run([] {
                     auto const made = suspended_within_a_shield();
                     spawn({.name = "culprit"}, [&] { made.handle.destroy(); }).join();
                 }),
                 in_turn);
}

}  // namespace
}  // namespace weft
