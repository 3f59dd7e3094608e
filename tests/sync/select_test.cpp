// select_test.cpp - what select promises: exactly one case, a fair choice among the ready, nothing left behind by the others.
#include <weft/select.hpp>

#include <weft/deadline.hpp>

#include <random>

#include "support/no_leaks.hpp"
#include "sync/crew.hpp"

namespace {

using weft::channel;
using weft::on_receive;
using weft::on_send;
using weft::on_stop;
using weft::on_timeout;
using weft::otherwise;
using weft::select;
using weft::when;

constexpr auto nothing = [](auto&&...) {};
constexpr auto unexpected = [](auto&&...) { ADD_FAILURE() << "this case was not to be chosen"; };

TEST(select, seed_Q4_a_ready_case_runs_and_its_index_is_returned) {
    channel<int> a(1), b(1), c(1);
    b.send(5);
    int got = 0;
    c.send(0);
    EXPECT_EQ(select(on_receive(a, unexpected), on_receive(b, [&](std::optional<int> v) { got = v.value(); }),
                     on_send(c, 1, unexpected)),
              1u);
    EXPECT_EQ(got, 5);
    EXPECT_EQ(c.size(), 1u);
}

TEST(select, a_receive_needs_no_callback) {
    channel<int> a, b(2);
    b.send(1);
    b.send(2);
    EXPECT_EQ(select(on_receive(a), on_receive(b)), 1u);
    EXPECT_EQ(b.receive(), 2);
    b.close();
    EXPECT_EQ(select(on_receive(a), on_receive(b.rx())), 1u);
    std::vector<weft::select_case> cases;
    cases.emplace_back(on_receive(b));
    EXPECT_EQ(select(cases), 0u);
}

TEST(select, seed_Q4_otherwise_runs_if_nothing_is_ready) {
    channel<int> a, b(1);
    EXPECT_EQ(select(on_receive(a, unexpected), on_send(a, 1, unexpected), otherwise(nothing)), 2u);
    EXPECT_EQ(select(otherwise(unexpected), on_send(b, 1, nothing)), 1u);
    EXPECT_EQ(select(otherwise()), 0u);
}

TEST(select, seed_Q4_timeout_is_chosen_when_nothing_became_ready) {
    channel<int> a;
    bool ran = false;
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(select(on_timeout(1h, unexpected), on_receive(a, unexpected), on_timeout(5ms, [&] { ran = true; })), 2u);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 5ms);
    EXPECT_TRUE(ran);
}

TEST(select, seed_Q4_a_timeout_of_nothing_is_a_look) {
    channel<int> a(1);
    EXPECT_EQ(select(on_receive(a, unexpected), on_timeout(0ms, nothing)), 1u);
    EXPECT_EQ(select(on_receive(a, unexpected), on_timeout(-1s, nothing)), 1u);
    a.send(1);
    EXPECT_EQ(select(on_receive(a, nothing), on_timeout(0ms, unexpected)), 0u);
}

TEST(select, seed_Q4_a_waiting_select_is_ended_by_a_send) {
    const channel<std::string> a, b;
    crew all;
    std::atomic<std::size_t> index{9};
    std::string got;
    all.start(party::fiber,
              [&] { index = select(on_receive(a, unexpected), on_receive(b, [&](std::optional<std::string> v) { got = *v; })); });
    ASSERT_TRUE(eventually_wait_for(all.runtime(), "select", 1));
    EXPECT_TRUE(b.try_send("hello"));
    all.finish();
    EXPECT_EQ(index, 1u);
    EXPECT_EQ(got, "hello");
    EXPECT_FALSE(a.try_send("nobody")) << "the case that lost still waits";
}

TEST(select, seed_Q4_a_waiting_select_is_ended_by_a_receive) {
    const channel<std::string> a, b;
    crew all;
    all.start(party::fiber, [&] { EXPECT_EQ(select(on_send(a, "a", unexpected), on_send(b, "b", nothing)), 1u); });
    ASSERT_TRUE(eventually_wait_for(all.runtime(), "select", 1));
    EXPECT_EQ(b.try_receive(), "b");
    all.finish();
    EXPECT_EQ(a.try_receive(), std::nullopt);
}

TEST(select, seed_Q4_two_selects_meet) {
    const channel<int> a, b;
    crew all;
    std::atomic<int> got{0};
    all.start(party::fiber, [&] { select(on_receive(a, unexpected), on_receive(b, [&](auto v) { got = *v; })); });
    ASSERT_TRUE(eventually_wait_for(all.runtime(), "select", 1));
    EXPECT_EQ(select(on_send(b, 3, nothing), otherwise(unexpected)), 0u);
    all.finish();
    EXPECT_EQ(got, 3);
}

TEST(select, a_select_does_not_meet_itself) {
    const channel<int> a;
    EXPECT_EQ(select(on_receive(a, unexpected), on_send(a, 1, unexpected), on_timeout(2ms)), 2u);
}

TEST(select, the_same_channel_may_appear_twice) {
    const channel<int> a;
    crew all;
    std::atomic<int> got{0};
    all.start(party::fiber, [&] {
        for (int i = 0; i < 100; ++i)
            select(on_receive(a, [&](auto v) { got += *v; }), on_receive(a, [&](auto v) { got += *v; }));
    });
    for (int i = 0; i < 100; ++i) a.send(1);
    all.finish();
    EXPECT_EQ(got, 100);
}

TEST(select, seed_Q4_a_closed_channel_is_ready_with_nothing) {
    channel<int> a(1);
    a.send(1);
    a.close();
    std::vector<std::optional<int>> got;
    for (int i = 0; i < 3; ++i) select(on_receive(a, [&](auto v) { got.push_back(v); }));
    EXPECT_EQ(got, (std::vector<std::optional<int>>{1, std::nullopt, std::nullopt}));
}

TEST(select, seed_Q4_close_ends_a_waiting_select) {
    const channel<int> in, out;
    crew all;
    all.start(party::fiber, [&] {
        EXPECT_EQ(select(on_timeout(1h), on_receive(in, [](auto v) { EXPECT_FALSE(v); })), 1u);
        EXPECT_THROW(select(on_timeout(1h), on_send(out, 1, unexpected)), weft::channel_closed);
    });
    ASSERT_TRUE(eventually_wait_for(all.runtime(), "select", 1));
    in.close();
    ASSERT_TRUE(eventually_wait_for(all.runtime(), "select", 1));
    out.close();
    all.finish();
    EXPECT_THROW(select(on_send(out, 1, unexpected), on_timeout(1h)), weft::channel_closed);
}

TEST(select, seed_Q4_when_switches_a_case_off) {
    channel<int> a(1);
    a.send(1);
    EXPECT_EQ(select(when(false, on_receive(a, unexpected)), otherwise(nothing)), 1u);
    EXPECT_EQ(select(when(true, on_receive(a, nothing)), when(false, otherwise(unexpected))), 0u);
}

TEST(select, with_no_case_that_can_become_ready_it_waits_until_stopped) {
    weft::runtime rt(weft::test::one_fiber_at_a_time);
    channel<int> a(1);
    auto f = rt.spawn([&] { select(when(false, on_send(a, 1, unexpected))); });
    ASSERT_TRUE(eventually_wait_for(rt, "select", 1));
    f.request_stop();
    EXPECT_THROW(f.join(), weft::fiber_cancelled);
    EXPECT_THROW(weft::with_timeout(2ms, [&] { select(when(false, otherwise())); }), weft::timeout_error);
}

TEST(select, on_stop_is_ready_when_its_token_is_stopped) {
    channel<int> a;
    std::stop_source source;
    crew all;
    all.start(party::fiber, [&, token = source.get_token()] {
        EXPECT_EQ(select(on_receive(a, unexpected), on_stop(token, nothing), on_stop({}, unexpected)), 1u);
    });
    ASSERT_TRUE(eventually_wait_for(all.runtime(), "select", 1));
    source.request_stop();
    all.finish();
    EXPECT_EQ(select(on_receive(a, unexpected), on_stop(source.get_token())), 1u);
}

TEST(select, views_and_temporaries_are_channels_too) {
    channel<int> a(1);
    EXPECT_EQ(select(on_send(a.tx(), 1)), 0u);
    EXPECT_TRUE(a.closed()) << "its only sender was a temporary";
    EXPECT_EQ(select(on_receive(a.rx(), [](auto v) { EXPECT_EQ(v, 1); })), 0u);
    EXPECT_EQ(select(on_receive(channel<int>(), unexpected), on_timeout(1ms)), 1u);
}

TEST(select, a_case_keeps_the_sender_it_was_made_from) {
    const channel<int> a(2);
    {
        auto kept = on_send(a.tx(), 1);
        std::vector<weft::select_case> many;
        many.emplace_back(on_send(a.tx(), 2));
        EXPECT_FALSE(a.closed());
        EXPECT_EQ(select(kept), 0u);
        EXPECT_EQ(select(many), 0u);
        EXPECT_EQ(a.receive(), 1);
        EXPECT_EQ(a.receive(), 2);
        EXPECT_FALSE(a.closed());
    }
    EXPECT_TRUE(a.closed()) << "its last sender went with its case";
}

TEST(select, a_case_leaves_the_sender_where_it_is_alone) {
    const channel<int> a(2);
    auto tx = a.tx();
    EXPECT_EQ(select(on_send(tx, 1)), 0u);
    EXPECT_FALSE(a.closed());
    EXPECT_EQ(select(on_send(std::as_const(tx), 2)), 0u);
    auto moved = on_send(std::move(tx), 3);
    EXPECT_FALSE(a.closed());
    EXPECT_EQ(select(on_receive(a, [](auto v) { EXPECT_EQ(v, 1); })), 0u);
    EXPECT_EQ(select(moved), 0u);
}

TEST(select, a_value_by_reference_is_moved_only_if_chosen) {
    channel<std::unique_ptr<int>> a(1);
    auto v = std::make_unique<int>(1);
    channel<std::unique_ptr<int>> full;
    EXPECT_EQ(select(on_send(full, std::ref(v), unexpected), otherwise()), 1u);
    ASSERT_NE(v, nullptr);
    EXPECT_EQ(select(on_send(a, std::ref(v)), otherwise(unexpected)), 0u);
    EXPECT_EQ(v, nullptr);
    EXPECT_EQ(**a.receive(), 1);
}

TEST(select, callbacks_run_after_the_commit_and_may_do_anything) {
    channel<int> a(2);
    a.send(1);
    a.send(2);
    std::vector<int> got;
    select(on_receive(a, [&](auto v) {
        got.push_back(*v);
        select(on_receive(a, [&](auto w) { got.push_back(*w); }));
        a.send(3);
    }));
    EXPECT_EQ(got, (std::vector{1, 2}));
    EXPECT_THROW(select(on_receive(a, [](auto) { throw std::runtime_error("mine"); })), std::runtime_error);
    EXPECT_EQ(a.size(), 0u) << "the case had happened";
}

TEST(select, seed_Q4_any_number_of_cases_at_run_time) {
    std::vector<channel<int>> channels;
    for (int i = 0; i < 50; ++i) channels.emplace_back(1);
    std::vector<weft::select_case> cases;
    int sum = 0;
    for (auto& c : channels) cases.push_back(on_receive(c, [&](auto v) { sum += *v; }));
    cases.push_back(otherwise());
    EXPECT_EQ(select(cases), 50u);
    for (int i = 0; i < 50; ++i) channels[static_cast<std::size_t>(i)].send(i);
    std::vector<bool> seen(50);
    for (int i = 0; i < 50; ++i) seen[select(cases)] = true;
    EXPECT_EQ(seen, std::vector<bool>(50, true));
    EXPECT_EQ(sum, 49 * 50 / 2);
    EXPECT_EQ(select(cases), 50u);
}

TEST(select, seed_Q4_the_choice_among_ready_cases_is_fair) {
    constexpr int rounds = 10'000;
    channel<int> a(1), b(1), idle;
    std::array<int, 8> chosen{};
    for (int i = 0; i < rounds; ++i) {
        static_cast<void>(a.try_send(1));
        static_cast<void>(b.try_send(1));
        ++chosen[select(on_receive(idle, unexpected), on_receive(a, nothing), on_receive(b, nothing),
                        on_receive(idle, unexpected), on_receive(idle, unexpected), on_receive(idle, unexpected))];
    }
    EXPECT_GT(chosen[1], rounds / 10);  // about half of them; one tenth is 80 standard deviations away
    EXPECT_GT(chosen[2], rounds / 10);
    EXPECT_EQ(chosen[1] + chosen[2], rounds);
}

TEST(select, seed_Q4_sending_zeros_and_ones_is_fair) {
    const channel<int> bits;
    crew all;
    all.start(party::fiber, [&] {
        for (int i = 0; i < 10'000; ++i) select(on_send(bits, 0), on_send(bits, 1));
        bits.close();
    });
    std::array<int, 2> seen{};
    all.start(party::fiber, [&] {
        for (int b : bits) ++seen[static_cast<std::size_t>(b)];
    });
    all.finish();
    EXPECT_GT(seen[0], 1'000);
    EXPECT_GT(seen[1], 1'000);
}

TEST(select, a_stopped_select_has_done_nothing) {
    weft::runtime rt({.workers = 2});
    const channel<std::unique_ptr<int>> a, b;
    auto f = rt.spawn([&] {
        auto v = std::make_unique<int>(1);
        try {
            select(on_send(a, std::ref(v)), on_receive(b, unexpected));
        } catch (const weft::cancelled&) { return v != nullptr; }
        return false;
    });
    ASSERT_TRUE(eventually_wait_for(rt, "select", 1));
    f.request_stop();
    EXPECT_TRUE(f.join());
    EXPECT_FALSE(a.try_receive());
    EXPECT_FALSE(b.try_send(nullptr));
}

TEST(select, a_pending_stop_is_seen_even_with_otherwise) {
    weft::runtime rt(weft::test::one_fiber_at_a_time);
    auto f = rt.spawn([] {
        for (;;) select(otherwise());
    });
    f.request_stop();
    EXPECT_THROW(f.join(), weft::fiber_cancelled);
}

struct brittle {
    brittle(int n, bool fragile) : number(n), throws(fragile) {}
    brittle(brittle&& other) : number(other.number), throws(other.throws) {
        if (std::exchange(other.throws, false)) throw std::runtime_error("brittle");
    }
    int number;
    bool throws;
};

TEST(select, a_partner_whose_move_throws_leaves_the_select_waiting) {
    const channel<brittle> a, b;
    crew all;
    std::atomic<int> got{0};
    all.start(party::fiber,
              [&] { select(on_receive(a, [&](std::optional<brittle> v) { got = v->number; }), on_receive(b, unexpected)); });
    ASSERT_TRUE(eventually_wait_for(all.runtime(), "select", 1));
    brittle bad(1, true), good(2, false);
    EXPECT_THROW(a.try_send(bad), std::runtime_error);
    ASSERT_TRUE(eventually([&] { return a.try_send(good); }));
    all.finish();
    EXPECT_EQ(got, 2);
}

}  // namespace
