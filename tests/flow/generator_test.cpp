// generator_test.cpp - generator<T>: a range like any other, its elements, its ends, its misuse.
#include <weft/generator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <optional>
#include <ranges>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>
#include <weft/coroutine.hpp>

namespace weft {
namespace {

using numbers = generator<int>;
using pointers = generator<std::unique_ptr<int>>;

static_assert(std::ranges::input_range<numbers> && !std::ranges::forward_range<numbers>);
static_assert(std::ranges::input_range<pointers> && std::ranges::input_range<generator<int&>>);
static_assert(std::ranges::input_range<generator<std::string const&>>);
static_assert(std::input_iterator<numbers::iterator> && std::sentinel_for<std::default_sentinel_t, numbers::iterator>);
static_assert(std::is_nothrow_move_constructible_v<numbers> && std::is_nothrow_move_assignable_v<numbers>);
static_assert(!std::is_copy_constructible_v<numbers>);
static_assert(std::is_same_v<std::ranges::range_reference_t<numbers>, int&>);
static_assert(std::is_same_v<std::ranges::range_reference_t<pointers>, std::unique_ptr<int>&&>);
static_assert(!std::is_constructible_v<numbers, void (*)(yielder<std::string>&)>);

numbers count_from(int first) {
    return numbers([first](yielder<int>& yield) {
        for (int n = first;; ++n) yield(n);
    });
}

numbers count(int first, int last) {
    return numbers([=](yielder<int>& yield) {
        for (int n = first; n <= last; ++n) yield(n);
    });
}

template <class Range>
auto list(Range&& range) {
    std::vector<std::ranges::range_value_t<Range>> all;
    for (auto&& x : range) all.push_back(std::forward<decltype(x)>(x));
    return all;
}

TEST(generator, gives_what_its_body_yields_in_order) {
    EXPECT_EQ(list(count(1, 5)), (std::vector{1, 2, 3, 4, 5}));
    EXPECT_EQ(list(numbers([](auto&) {})), std::vector<int>());
}

TEST(generator, makes_an_element_only_when_it_is_asked_for) {
    std::string trace;
    numbers g([&](auto& yield) {
        trace += "a";
        yield(1);
        trace += "b";
        yield(2);
        trace += "c";
    });
    EXPECT_EQ(trace, "");
    auto i = g.begin();
    EXPECT_EQ(trace, "a");
    EXPECT_EQ(*i, 1);
    EXPECT_EQ(*i, 1);
    ++i;
    EXPECT_EQ(trace, "ab");
    i++;
    EXPECT_EQ(trace, "abc");
    EXPECT_EQ(i, g.end());
}

TEST(generator, works_with_the_views_and_algorithms_of_std) {
    auto even_squares = count_from(1) | std::views::filter([](int n) { return n % 2 == 0; }) |
                        std::views::transform([](int n) { return n * n; }) | std::views::take(3);
    EXPECT_EQ(list(even_squares), (std::vector{4, 16, 36}));

    auto kept = count_from(10);
    EXPECT_EQ(list(kept | std::views::take(2)), (std::vector{10, 11}));
    EXPECT_EQ(*std::ranges::find(kept, 20), 20);
    EXPECT_EQ(std::ranges::count_if(count(1, 9), [](int n) { return n > 6; }), 3);
}

TEST(generator, elements_that_can_only_be_moved_are_moved_out) {
    pointers g([](yielder<std::unique_ptr<int>>& yield) {
        yield(std::make_unique<int>(1));
        auto second = std::make_unique<int>(2);
        yield(std::move(second));
        EXPECT_EQ(second, nullptr);   // the loop has taken it
    });
    int sum = 0;
    for (std::unique_ptr<int> p : g) sum += *p;
    EXPECT_EQ(sum, 3);
}

TEST(generator, a_constant_element_is_copied_and_a_movable_one_is_not) {
    struct counts_copies {
        int copies = 0;
        counts_copies() = default;
        counts_copies(counts_copies const& o) : copies(o.copies + 1) {}
        counts_copies(counts_copies&& o) noexcept : copies(o.copies) {}
    };
    generator<counts_copies> g([](auto& yield) {
        counts_copies const fixed;
        yield(fixed);
        yield(counts_copies());
    });
    std::vector<int> copies;
    for (auto const& c : g) copies.push_back(c.copies);
    EXPECT_EQ(copies, (std::vector{1, 0}));
}

TEST(generator, converts_what_is_yielded) {
    generator<std::string> g([](auto& yield) {
        yield("plain");
        yield({"xxxx", 3});
    });
    EXPECT_EQ(list(std::move(g)), (std::vector<std::string>{"plain", "xxx"}));
}

TEST(generator, references_refer_to_the_bodys_own_objects) {
    std::array<int, 3> cells{1, 2, 3};
    generator<int&> g([&](yielder<int&>& yield) {
        for (int& c : cells) yield(c);
    });
    for (int& c : g) c *= 10;
    EXPECT_EQ(cells, (std::array{10, 20, 30}));

    generator<std::string const&> words([](auto& yield) {
        std::string const kept = "kept";
        yield(kept);
        yield("made for the occasion");
    });
    auto i = words.begin();
    EXPECT_EQ(i->size(), 4U);
    ++i;
    EXPECT_EQ(*i, "made for the occasion");
}

struct node {
    int key;
    std::unique_ptr<node> left = nullptr;
    std::unique_ptr<node> right = nullptr;
};

// NOLINTNEXTLINE(misc-no-recursion)
std::unique_ptr<node> tree(int first, int last) {
    if (first > last) return nullptr;
    int const middle = (first + last) / 2;
    return std::make_unique<node>(middle, tree(first, middle - 1), tree(middle + 1, last));
}

// NOLINTNEXTLINE(misc-no-recursion)
void walk(node const* n, yielder<int>& yield) {
    if (n == nullptr) return;
    walk(n->left.get(), yield);
    yield(n->key);
    walk(n->right.get(), yield);
}

// NOLINTNEXTLINE(misc-no-recursion)
numbers keys_of(node const* n) {
    return numbers([n](yielder<int>& yield) {
        if (n == nullptr) return;
        yield.from(keys_of(n->left.get()));
        yield(n->key);
        yield.from(keys_of(n->right.get()));
    });
}

TEST(generator, recursion_by_its_yielder_and_by_generators_walks_a_tree_in_order) {
    auto const root = tree(1, 100);
    std::vector<int> expected;
    for (int n = 1; n <= 100; ++n) expected.push_back(n);
    EXPECT_EQ(list(numbers([&](auto& yield) { walk(root.get(), yield); })), expected);
    EXPECT_EQ(list(keys_of(root.get())), expected);
}

TEST(generator, destroying_a_suspended_one_unwinds_its_stack) {
    auto const shared = std::make_shared<int>(0);
    {
        numbers g([shared](auto& yield) {
            auto const local = shared;   // NOLINT(performance-unnecessary-copy-initialization): its destruction is counted
            for (;;) yield(static_cast<int>(local.use_count()));
        });
        EXPECT_EQ(*g.begin(), 3);
    }
    EXPECT_EQ(shared.use_count(), 1);
    {
        numbers const never_begun([shared](auto& yield) { yield(1); });
    }
    EXPECT_EQ(shared.use_count(), 1);
}

TEST(generator, exceptions_leave_through_begin_or_increment_and_end_the_range) {
    numbers at_once([](auto&) { throw std::runtime_error("first"); });
    EXPECT_THROW(at_once.begin(), std::runtime_error);
    EXPECT_EQ(at_once.begin(), at_once.end());

    numbers later([](auto& yield) {
        yield(1);
        throw std::out_of_range("second");
    });
    auto i = later.begin();
    EXPECT_THROW(++i, std::out_of_range);
    EXPECT_EQ(i, later.end());
}

TEST(generator, is_an_empty_range_by_default_and_after_a_move) {
    numbers none;
    EXPECT_EQ(none.begin(), none.end());

    auto first = count_from(1);
    auto i = first.begin();
    numbers second(std::move(first));
    EXPECT_EQ(first.begin(), first.end());   // NOLINT(bugprone-use-after-move): it is what is tested
    EXPECT_EQ(*++i, 2);   // an iterator stays with the elements
    none = std::move(second);
    EXPECT_EQ(*++i, 3);
    EXPECT_EQ(*none.begin(), 3);
    none = numbers();
    EXPECT_EQ(none.begin(), none.end());
}

TEST(generator, a_second_begin_goes_on_at_the_current_element) {
    auto g = count(1, 5);
    for (int const n : g)
        if (n == 3) break;
    EXPECT_EQ(list(g), (std::vector{3, 4, 5}));
    EXPECT_EQ(list(g), std::vector<int>());
}

TEST(generator, stepping_or_reading_behind_the_last_element_is_refused) {
    auto g = count(1, 1);
    auto i = g.begin();
    ++i;
    EXPECT_THROW(++i, coroutine_done);
    EXPECT_THROW(static_cast<void>(*i), coroutine_done);
    numbers::iterator nowhere;
    EXPECT_THROW(++nowhere, coroutine_done);
    EXPECT_EQ(nowhere, std::default_sentinel);
}

TEST(generator, looks_empty_to_its_own_running_body) {
    numbers g;
    g = numbers([&](auto& yield) {
        EXPECT_EQ(g.begin(), g.end());
        yield(1);
    });
    EXPECT_EQ(list(g), std::vector{1});
}

TEST(generator, misuse_stops_the_program_naming_the_rule) {
    EXPECT_DEATH(numbers([](auto&) { coroutine<>::yield(); }).begin(), "by its yielder");
    EXPECT_DEATH(
        {
            numbers g([](auto& yield) {
                coroutine<> other([&] { yield(1); });
                other.call();
            });
            g.begin();
        },
        "only from its own stack");
    EXPECT_DEATH(
        {
            std::optional<numbers> g;
            g.emplace([&](auto&) { g.reset(); });
            g->begin();
        },
        "destroyed while it is running");
}

TEST(generator, goes_on_on_another_thread) {
    auto g = count_from(1);
    auto i = g.begin();
    for (int n = 2; n < 10; ++n)
        std::thread([&] {
            ++i;
            EXPECT_EQ(*i, n);
        }).join();
}

TEST(generator, stack_size_is_an_option) {
    EXPECT_THROW(numbers([](auto& yield) { yield(1); }, {.stack_bytes = std::size_t{1} << 60}), std::system_error);
    EXPECT_EQ(list(numbers([](auto& yield) { yield(1); }, {.stack_bytes = std::size_t{64} * 1024})), std::vector{1});
}

}  // namespace
}  // namespace weft
