// two_way_coroutine_test.cpp - coroutine<R(A)>: values in by call, out by yield.
#include <weft/coroutine.hpp>
#include <weft/resumable.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace weft {
namespace {

static_assert(std::is_nothrow_move_constructible_v<coroutine<int(int)>>);
static_assert(!std::is_copy_constructible_v<coroutine<int(int)>>);

TEST(two_way_coroutine, call_in_yield_out) {
    coroutine<double(double)> mean([](auto& yield, double x) {
        double sum = 0;
        for (int n = 1;; ++n) {
            sum += x;
            x = yield(sum / n);
        }
    });
    EXPECT_EQ(mean(2), 2);
    EXPECT_EQ(mean(4), 3);
    EXPECT_EQ(mean(9), 5);
}

TEST(two_way_coroutine, a_body_that_returns_gives_its_last_value) {
    coroutine<std::string(int)> c([](auto& yield, int n) -> std::string {
        while (n > 0) n = yield(std::to_string(n));
        return "end";
    });
    EXPECT_EQ(c(2), "2");
    EXPECT_EQ(c(7), "7");
    EXPECT_EQ(c.state(), coroutine_state::suspended);
    EXPECT_EQ(c(0), "end");
    EXPECT_EQ(c.state(), coroutine_state::done);
    EXPECT_THROW(c(1), coroutine_done);
}

TEST(two_way_coroutine, is_resumed_under_either_name_until_it_is_done) {
    coroutine<std::unique_ptr<int>(std::unique_ptr<int>)> c([](auto& yield, std::unique_ptr<int> n) {
        while (*n != 0) n = yield(std::make_unique<int>(2 * *n));
        return n;
    });
    EXPECT_FALSE(c.done());
    EXPECT_EQ(*c.resume(std::make_unique<int>(3)), 6);
    EXPECT_EQ(*c(std::make_unique<int>(4)), 8);
    EXPECT_FALSE(c.done());
    EXPECT_EQ(*c.resume(std::make_unique<int>(0)), 0);
    EXPECT_TRUE(c.done());
    EXPECT_THROW(c.resume(nullptr), coroutine_done);
    auto other = std::move(c);
    EXPECT_TRUE(c.done());  // NOLINT(bugprone-use-after-move): that is the question
    EXPECT_TRUE(other.done());
}

TEST(two_way_coroutine, takes_references_through_resume) {
    int last = 0;
    coroutine<int&(int&)> c([](auto& yield, int& first) {
        int* n = &first;
        for (;;) n = &yield(*n);
    });
    EXPECT_EQ(&c.resume(last), &last);
}

TEST(two_way_coroutine, without_an_argument_is_resumable) {
    static_assert(resumable<coroutine<int()>> && resumable<coroutine<void()>>);
    coroutine<int()> c([](auto& yield) {
        yield(1);
        return 2;
    });
    const resumable_ref ref(c);
    int steps = 0;
    for (; !ref.done(); ++steps) ref.resume();
    EXPECT_EQ(steps, 2);
}

TEST(two_way_coroutine, the_call_that_reaches_the_end_of_a_void_body_throws) {
    coroutine<int()> c([](auto& yield) {
        yield(1);
        yield(2);
    });
    EXPECT_EQ(c(), 1);
    EXPECT_EQ(c(), 2);
    EXPECT_THROW(c(), coroutine_done);
    EXPECT_THROW(c(), coroutine_done);
}

TEST(two_way_coroutine, takes_values_and_gives_none) {
    std::vector<std::string> seen;
    coroutine<void(std::string)> sink([&](auto& yield, std::string s) {
        while (s != "stop") {
            seen.push_back(s);
            s = yield();
        }
    });
    sink("a");
    sink("b");
    sink("stop");
    EXPECT_EQ(sink.state(), coroutine_state::done);
    EXPECT_EQ(seen, (std::vector<std::string>{"a", "b"}));
    EXPECT_THROW(sink("c"), coroutine_done);
}

TEST(two_way_coroutine, values_that_can_only_be_moved_go_both_ways) {
    coroutine<std::unique_ptr<int>(std::unique_ptr<int>)> doubles([](auto& yield, std::unique_ptr<int> p) {
        for (;;) {
            *p *= 2;
            p = yield(std::move(p));
        }
    });
    EXPECT_EQ(*doubles(std::make_unique<int>(4)), 8);
    EXPECT_EQ(*doubles(std::make_unique<int>(5)), 10);
}

TEST(two_way_coroutine, references_go_both_ways) {
    int a = 1;
    int b = 2;
    coroutine<int&(int&)> same([](auto& yield, int& x) -> int& {
        int& y = yield(x);
        ++y;
        return y;
    });
    EXPECT_EQ(&same(a), &a);
    EXPECT_EQ(&same(b), &b);
    EXPECT_EQ(b, 3);
}

TEST(two_way_coroutine, moves_while_suspended) {
    auto make = [] {
        return coroutine<int(int)>([](auto& yield, int n) {
            for (;;) n = yield(n + 1);
        });
    };
    auto first = make();
    EXPECT_EQ(first(1), 2);
    auto second = std::move(first);
    EXPECT_EQ(second(10), 11);
    EXPECT_EQ(first.state(), coroutine_state::done);
    EXPECT_THROW(first(1), coroutine_done);
    second = make();
    EXPECT_EQ(second(5), 6);
    std::vector<coroutine<int(int)>> many;
    for (int n = 0; n < 10; ++n) many.push_back(make());
    for (auto& c : many) EXPECT_EQ(c(1), 2);
}

TEST(two_way_coroutine, an_exception_leaves_through_its_call) {
    coroutine<int(int)> c([](auto& yield, int n) -> int {
        if (n < 0) throw std::invalid_argument("negative");
        n = yield(n);
        throw std::out_of_range("over");
    });
    EXPECT_EQ(c(3), 3);
    EXPECT_THROW(c(4), std::out_of_range);
    EXPECT_EQ(c.state(), coroutine_state::done);
}

TEST(two_way_coroutine, is_unwound_when_destroyed) {
    auto shared = std::make_shared<int>(0);
    {
        coroutine<int()> c([shared](auto& yield) {
            auto const inside = shared;
            for (;;) yield(static_cast<int>(inside.use_count()));
        });
        EXPECT_EQ(c(), 3);
    }
    EXPECT_EQ(shared.use_count(), 1);
}

enum class after_yield { may_resume, finished };

TEST(two_way_coroutine, seed_L2_yield_says_may_resume_or_finished_and_locals_survive) {
    int doubled = 0;
    coroutine<after_yield()> c([&](auto& yield) {
        int local = 5;
        yield(after_yield::may_resume);
        local *= 2;
        doubled = local;
        return after_yield::finished;
    });
    EXPECT_EQ(c(), after_yield::may_resume);
    EXPECT_EQ(doubled, 0);
    EXPECT_EQ(c(), after_yield::finished);
    EXPECT_EQ(doubled, 10);
}

TEST(two_way_coroutine, yielding_for_another_one_stops_the_program) {
    EXPECT_DEATH(
        {
            coroutine<int()> outer([](auto& yield) {
                coroutine<> inner([&] { yield(1); });
                inner.call();
            });
            outer();
        },
        "only from its own stack");
}

TEST(two_way_coroutine, leaving_without_the_value_it_owes_stops_the_program) {
    EXPECT_DEATH(
        {
            coroutine<int()> c([](auto& yield) {
                yield(1);
                coroutine<>::yield();
            });
            c();
            c();
        },
        "owes a value");
}

}  // namespace
}  // namespace weft
