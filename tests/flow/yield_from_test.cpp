// yield_from_test.cpp - generators that yield from others: order, ownership, failures, depth.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <list>
#include <memory>
#include <ranges>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>
#include <weft/channel.hpp>
#include <weft/coroutine.hpp>
#include <weft/fiber.hpp>
#include <weft/generator.hpp>
#include <weft/runtime.hpp>

namespace weft {
namespace {

using numbers = generator<int>;

numbers count(int first, int last) {
    return numbers([=](yielder<int>& yield) {
        for (int n = first; n <= last; ++n) yield(n);
    });
}

std::vector<int> list_of(numbers g) {
    std::vector<int> all;
    for (int n : g) all.push_back(n);
    return all;
}

TEST(yield_from, hands_out_others_between_ones_own) {
    numbers g([](yielder<int>& yield) {
        yield(0);
        yield.from(count(1, 3));
        yield.from(numbers());
        yield.from(count(5, 4));
        yield(9);
        yield.from(count(10, 11));
    });
    EXPECT_EQ(list_of(std::move(g)), (std::vector{0, 1, 2, 3, 9, 10, 11}));
}

TEST(yield_from, takes_any_range_and_converts) {
    generator<std::string> g([](auto& yield) {
        yield.from(std::array{"a", "b"});
        std::list<std::string> const kept{"c"};
        yield.from(kept);
        yield.from(count(1, 2) | std::views::transform([](int n) { return std::to_string(n); }));
    });
    std::string all;
    for (auto const& s : g) all += s;
    EXPECT_EQ(all, "abc12");
}

TEST(yield_from, a_kept_generator_may_be_left_half_way_and_goes_on) {
    auto kept = count(1, 6);
    EXPECT_EQ(*++kept.begin(), 2);
    numbers through([&](yielder<int>& yield) { yield.from(kept); });
    EXPECT_EQ(*++through.begin(), 3);
    EXPECT_EQ(list_of(std::move(through)), (std::vector{3, 4, 5, 6}));

    auto begun = count(1, 3);
    EXPECT_EQ(*++begun.begin(), 2);
    EXPECT_EQ(list_of(numbers([&](yielder<int>& yield) { yield.from(std::move(begun)); })), (std::vector{2, 3}));
}

TEST(yield_from, elements_that_can_only_be_moved_pass_through_unmoved) {
    using pointers = generator<std::unique_ptr<int>>;
    int* made = nullptr;
    pointers g([&](yielder<std::unique_ptr<int>>& outer) {
        outer.from(pointers([&](yielder<std::unique_ptr<int>>& inner) {
            auto p = std::make_unique<int>(7);
            made = p.get();
            inner(std::move(p));
        }));
    });
    for (std::unique_ptr<int> p : g) EXPECT_EQ(p.get(), made);
    EXPECT_NE(made, nullptr);
}

numbers fails_after(int n) {
    return numbers([n](yielder<int>& yield) {
        yield(n);
        throw std::runtime_error("inner");
    });
}

TEST(yield_from, a_failure_leaves_through_from_and_may_be_handled_there) {
    numbers handles([](yielder<int>& yield) {
        try {
            yield.from(fails_after(1));
        } catch (std::runtime_error const&) {
            yield(2);
        }
        yield.from(count(3, 4));
    });
    EXPECT_EQ(list_of(std::move(handles)), (std::vector{1, 2, 3, 4}));

    numbers passes_on([](yielder<int>& yield) { yield.from(numbers([](yielder<int>& y) { y.from(fails_after(1)); })); });
    auto i = passes_on.begin();
    EXPECT_THROW(++i, std::runtime_error);
    EXPECT_EQ(i, passes_on.end());
}

TEST(yield_from, dropping_the_outer_one_unwinds_the_inner_ones_first) {
    std::string order;
    struct appends {
        std::string& to;
        char what;
        ~appends() { to += what; }
    };
    {
        numbers g([&](yielder<int>& outer) {
            appends const o{order, 'o'};
            outer.from(numbers([&](yielder<int>& inner) {
                appends const i{order, 'i'};
                for (;;) inner(1);
            }));
        });
        g.begin();
    }
    EXPECT_EQ(order, "io");
}

// NOLINTNEXTLINE(misc-no-recursion)
numbers nested(int depth) {
    return numbers([depth](yielder<int>& yield) {
        if (depth > 0) yield.from(nested(depth - 1));
        for (int n = 0;; ++n) yield(n);
    });
}

std::chrono::nanoseconds time_of_elements(int depth) {
    auto g = nested(depth);
    auto i = g.begin();
    auto const start = std::chrono::steady_clock::now();
    for (int n = 0; n < 20'000; ++n) {
        EXPECT_EQ(*i, n);
        ++i;
    }
    return std::chrono::steady_clock::now() - start;
}

TEST(yield_from, timing_an_element_does_not_pass_through_the_generators_above_it) {
    EXPECT_LT(time_of_elements(500), 30 * time_of_elements(0));   // 500 times as much if it did
}

TEST(yield_from, inner_bodies_park_the_fiber_that_asks) {
    auto const got = run(
        [] {
            channel<int> source;
            auto feeding = spawn([=]() mutable {
                for (int n = 0; n < 50; ++n) source.send(n);
                source.close();
            });
            numbers g([&](yielder<int>& yield) {
                yield.from(numbers([&](yielder<int>& inner) { inner.from(source); }));
                yield(-1);
            });
            int sum = 0;
            for (int n : g) {
                this_fiber::yield();
                sum += n;
            }
            feeding.join();
            return sum;
        },
        {.workers = 2});
    EXPECT_EQ(got, 49 * 50 / 2 - 1);
}

TEST(yield_from, a_stopped_fiber_is_cancelled_through_all_of_them) {
    run([] {
        bool cancelled_inside = false;
        bool cancelled_outside = false;
        channel<int> never;
        auto f = spawn([&] {
            numbers g([&](yielder<int>& yield) {
                try {
                    yield.from(numbers([&](yielder<int>& inner) { inner.from(never); }));
                } catch (cancelled const&) {
                    cancelled_inside = true;
                    throw;
                }
            });
            try {
                g.begin();
            } catch (cancelled const&) {
                cancelled_outside = g.begin() == g.end();
            }
        });
        this_fiber::yield();
        f.request_stop();
        f.join();
        EXPECT_TRUE(cancelled_inside);
        EXPECT_TRUE(cancelled_outside);
    });
}

}  // namespace
}  // namespace weft
