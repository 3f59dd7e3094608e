// transform_test.cpp - receiving ends made of others: what transform() and mix() give, when they end, and that select takes them.
#include <weft/transform.hpp>

#include <weft/ticker.hpp>

#include <array>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>

#include "sync/crew.hpp"

namespace {

using weft::channel;
using weft::channel_op;
using weft::mix;
using weft::on_receive;
using weft::on_send;
using weft::on_timeout;
using weft::otherwise;
using weft::select;
using weft::transform;

constexpr auto unexpected = [](auto&&...) { ADD_FAILURE() << "this case was not to be chosen"; };
constexpr auto doubled = [](int n) { return 2 * n; };

template <class... Values>
channel<int> holding(Values... values) {
    channel<int> c(8);
    (c.send(values), ...);
    return c;
}

TEST(transform, seed_Q3_gives_what_the_function_makes_of_each_value) {
    const auto c = holding(1, 2, 3, 4);
    const auto texts = transform(c.rx(), [](int n) { return std::to_string(n); });
    static_assert(std::same_as<decltype(texts)::value_type, std::string>);
    EXPECT_EQ(texts.receive(), "1");
    EXPECT_EQ(texts.try_receive(), "2");
    std::string out = "unset";
    EXPECT_EQ(texts.try_receive_op(out), channel_op::done);
    EXPECT_EQ(out, "3");
    EXPECT_EQ(texts.receive_for(out, 10s), channel_op::done);
    EXPECT_EQ(out, "4");
    EXPECT_EQ(texts.try_receive(), std::nullopt);
    EXPECT_EQ(texts.try_receive_op(out), channel_op::empty);
    EXPECT_EQ(texts.receive_for(out, 1ms), channel_op::timeout);
    c.close();
    EXPECT_EQ(texts.receive_for(out, 10s), channel_op::closed);
    EXPECT_EQ(texts.try_receive_op(out), channel_op::closed);
    EXPECT_EQ(texts.receive(), std::nullopt);
    EXPECT_EQ(out, "4");
}

TEST(transform, stores_nothing_and_so_leaves_a_rendezvous_one) {
    channel<int> c;
    const auto twice = transform(c, doubled);
    EXPECT_FALSE(c.try_send(1));
    std::jthread sends([c] { c.send(21); });
    EXPECT_EQ(twice.receive(), 42);
    EXPECT_FALSE(c.try_send(1));
}

TEST(transform, can_be_repeated_and_moves_what_can_only_be_moved) {
    channel<std::unique_ptr<int>> c(1);
    const auto both = transform(transform(c, [](std::unique_ptr<int> p) { return std::make_unique<int>(*p + 1); }),
                                [](const std::unique_ptr<int>& p) { return *p * 10; });
    c.send(std::make_unique<int>(4));
    EXPECT_EQ(both.receive(), 50);
    both.close();
    EXPECT_TRUE(c.closed());
}

/// A function that counts its copies.
struct counted {
    int* copies;
    explicit counted(int* n) : copies(n) {}
    counted(const counted& other) : copies(other.copies) { ++*copies; }
    counted(counted&&) = default;
    counted& operator=(const counted&) = delete;
    int operator()(int n) const { return n + 1; }
};

TEST(transform, rule_5_copies_share_the_function) {
    const auto c = holding(1, 2, 3);
    int copies = 0;
    const auto next = transform(c, counted(&copies));
    const auto same = next;  // NOLINT(performance-unnecessary-copy-initialization): it is what is tested
    EXPECT_EQ(same.receive(), 2);
    EXPECT_EQ(mix(next, holding()).receive(), 3);
    EXPECT_EQ(select(on_receive(next)), 0u);
    EXPECT_EQ(copies, 0);
}

TEST(transform, rule_5_takes_a_function_that_cannot_be_copied) {
    const auto c = holding(1, 2, 3);
    const auto sums = transform(c, [p = std::make_unique<int>(10)](int n) { return *p + n; });
    int got = 0;
    EXPECT_EQ(select(on_receive(sums, [&](std::optional<int> n) { got = n.value(); })), 0u);
    EXPECT_EQ(got, 11);
    EXPECT_EQ(mix(sums, holding().rx()).receive(), 12);
    EXPECT_EQ(transform(sums, doubled).receive(), 26);
}

TEST(transform, waits_until_a_point_in_time) {
    const auto c = holding(1);
    const auto twice = transform(c, doubled);
    const auto soon = std::chrono::steady_clock::now() + 2ms;
    int out = 0;
    EXPECT_EQ(twice.receive_until(out, soon), channel_op::done);
    EXPECT_EQ(mix(c, twice).receive_until(out, soon), channel_op::timeout);
    EXPECT_GE(std::chrono::steady_clock::now(), soon);
    EXPECT_EQ(out, 2);
    EXPECT_FALSE(twice.closed());
    c.close();
    EXPECT_TRUE(twice.closed());
    EXPECT_EQ(twice.receive_until(out, std::chrono::system_clock::now() + 10s), channel_op::closed);
}

TEST(mix, is_closed_when_all_sources_are) {
    const auto a = holding(), b = holding();
    const auto both = mix(a, transform(b, doubled));
    a.close();
    EXPECT_FALSE(both.closed());
    b.close();
    EXPECT_TRUE(both.closed());
}

TEST(transform, whose_function_throws_has_lost_that_one_value) {
    const auto c = holding(1, 0, 3);
    const auto inverse = transform(c, [](int n) { return n == 0 ? throw std::invalid_argument("zero") : 6 / n; });
    EXPECT_EQ(inverse.receive(), 6);
    EXPECT_THROW(static_cast<void>(inverse.receive()), std::invalid_argument);
    EXPECT_EQ(inverse.receive(), 2);
    c.send(0);
    EXPECT_THROW(select(on_receive(inverse, unexpected)), std::invalid_argument);
    EXPECT_EQ(c.size(), 0u);
}

TEST(transform, seed_Q3_is_a_case_of_select) {
    const auto c = holding(5);
    const channel<int> other;
    int got = 0;
    EXPECT_EQ(
        select(on_receive(other, unexpected), on_receive(transform(c, doubled), [&](std::optional<int> n) { got = n.value(); }),
               on_timeout(10s, unexpected)),
        1u);
    EXPECT_EQ(got, 10);
    const auto twice = transform(c, doubled);
    EXPECT_EQ(select(on_receive(twice, unexpected), otherwise()), 1u);
    c.send(1);
    EXPECT_EQ(select(on_receive(twice), otherwise(unexpected)), 0u);
    c.close();
    bool ended = false;
    EXPECT_EQ(select(on_receive(twice, [&](const std::optional<int>& n) { ended = !n; })), 0u);
    EXPECT_TRUE(ended);
    EXPECT_EQ(select(weft::when(false, on_receive(twice, unexpected)), on_timeout(1ms)), 1u);
}

TEST(mix, seed_Q3_receives_from_whichever_has_a_value_and_ends_when_all_have) {
    const auto a = holding(1, 2), b = holding(3);
    const channel<int> c;
    const auto all = mix(a, b.rx(), transform(c, doubled));
    std::multiset<int> seen;
    for (int i = 0; i < 3; ++i) seen.insert(all.receive().value());
    EXPECT_EQ(seen, (std::multiset{1, 2, 3}));
    a.close();
    int out = 0;
    EXPECT_EQ(all.try_receive_op(out), channel_op::empty);
    EXPECT_EQ(all.receive_for(out, 1ms), channel_op::timeout);
    std::jthread sends([c] {
        c.send(4);
        c.close();
    });
    EXPECT_EQ(all.receive(), 8);
    sends.join();
    b.send(9);
    EXPECT_EQ(all.try_receive(), 9);
    b.close();
    EXPECT_EQ(all.try_receive_op(out), channel_op::closed);
    EXPECT_EQ(all.receive_for(out, 10s), channel_op::closed);
    EXPECT_EQ(all.receive(), std::nullopt);
}

TEST(mix, is_closed_with_all_that_it_is_made_of) {
    const auto a = holding(1), b = holding();
    const auto all = mix(mix(a, b));
    all.close();
    EXPECT_TRUE(a.closed() && b.closed());
    EXPECT_EQ(all.receive(), 1);
    EXPECT_EQ(all.receive(), std::nullopt);
}

TEST(mix, seed_Q3_is_one_case_of_select_and_its_ended_sources_are_not_chosen) {
    const auto a = holding(), b = holding(), c = holding();
    a.close();
    const auto both = mix(a, b);
    for (int i = 0; i < 50; ++i) {
        EXPECT_EQ(select(on_receive(both, unexpected), on_receive(c, unexpected), otherwise()), 2u);
        EXPECT_EQ(select(on_receive(c, unexpected), on_receive(both, unexpected), on_timeout(0ms)), 2u);
    }
    b.send(7);
    int got = 0;
    EXPECT_EQ(select(on_receive(c, unexpected), on_receive(both, [&](std::optional<int> n) { got = n.value(); })), 1u);
    EXPECT_EQ(got, 7);
    b.close();
    bool ended = false;
    EXPECT_EQ(select(on_receive(c, unexpected), on_receive(both, [&](const std::optional<int>& n) { ended = !n; })), 1u);
    EXPECT_TRUE(ended);
}

TEST(mix, is_a_case_among_a_number_known_at_run_time) {
    const auto a = holding(), b = holding(), c = holding();
    std::vector<int> seen;
    int ends = 0;
    const auto note = [&](std::optional<int> n) { n ? seen.push_back(*n) : static_cast<void>(++ends); };
    std::vector<weft::select_case> cases;
    cases.emplace_back(on_receive(c, note));
    cases.emplace_back(on_receive(mix(a, b), note));
    cases.emplace_back(on_timeout(1h, unexpected));
    b.send(1);
    EXPECT_EQ(select(cases), 1u);
    a.close();
    b.send(2);
    EXPECT_EQ(select(cases), 1u);
    c.send(3);
    EXPECT_EQ(select(cases), 0u);
    b.send(4);
    c.send(5);
    EXPECT_EQ(weft::select_all(cases), (std::vector<std::size_t>{0, 1}));
    EXPECT_EQ(seen, (std::vector{1, 2, 3, 5, 4}));
    b.close();
    EXPECT_EQ(weft::select_all(cases), std::vector<std::size_t>{1});
    EXPECT_EQ(ends, 1);
}

TEST(mix, in_a_select_all_waits_on_when_a_source_has_ended) {
    const auto a = holding(), b = holding();
    a.close();
    int got = 0;
    std::vector<weft::select_case> cases;
    cases.emplace_back(on_receive(mix(a, b), [&](std::optional<int> n) { got = n.value(); }));
    std::jthread sends([b] {
        std::this_thread::sleep_for(2ms);
        b.send(6);
    });
    EXPECT_EQ(weft::select_all(cases), std::vector<std::size_t>{0});
    EXPECT_EQ(got, 6);
}

TEST(mix, takes_tickers) {
    weft::run([] {
        const auto ticks = mix(weft::every(1ms), weft::every(1ms));
        for (int i = 0; i < 4; ++i) EXPECT_TRUE(ticks.receive().has_value());
    });
}

class mix_contract : public testing::TestWithParam<setting> {};

TEST_P(mix_contract, loses_and_repeats_nothing_stress) {
    const auto who = GetParam();
    constexpr int n = 500, sources = 3, receivers = 2;
    const std::array<channel<int>, sources> c{channel<int>(), channel<int>(1), channel<int>(16)};
    std::array<std::atomic<int>, sources * n> times{};
    crew all(who.workers);
    for (int s = 0; s < sources; ++s)
        all.start(who.left, [&, s] {
            for (int i = 0; i < n; ++i) c[static_cast<std::size_t>(s)].send(s * n + i);
            c[static_cast<std::size_t>(s)].close();
        });
    for (int r = 0; r < receivers; ++r)
        all.start(who.right, [&] {
            std::array<int, sources> last{-1, -1, -1};
            for (const int v : mix(c[0], transform(c[1], [](int x) { return x; }), c[2].rx())) {
                ++times[static_cast<std::size_t>(v)];
                auto& before = last[static_cast<std::size_t>(v / n)];
                EXPECT_LT(before, v) << "in the order sent";
                before = v;
            }
        });
    all.finish();
    for (const auto& t : times) EXPECT_EQ(t, 1);
}
INSTANTIATE_TEST_SUITE_P(all, mix_contract, testing::ValuesIn(all_settings()), [](const auto& p) { return name_of(p.param); });

}  // namespace
