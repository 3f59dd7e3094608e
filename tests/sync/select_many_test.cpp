// select_many_test.cpp - thousands of cases: one of them is chosen, or all that are ready are done at once.
#include <weft/select.hpp>

#include <weft/deadline.hpp>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>

#include "support/no_leaks.hpp"
#include "sync/crew.hpp"

namespace {

using weft::channel;
using weft::on_receive;
using weft::on_send;
using weft::select;
using weft::select_all;
using indices = std::vector<std::size_t>;

constexpr std::size_t thousands = 5'000;
constexpr auto nothing = [](auto&&...) {};
constexpr auto unexpected = [](auto&&...) { ADD_FAILURE() << "this case was not to be chosen"; };

template <class T>
struct many {
    explicit many(std::size_t n, std::size_t capacity = 1) {
        for (std::size_t i = 0; i < n; ++i) {
            channels.emplace_back(capacity);
            cases.emplace_back(on_receive(channels.back(), [this, i](std::optional<T> v) { got.emplace_back(i, std::move(v)); }));
        }
    }
    std::vector<channel<T>> channels;
    std::vector<weft::select_case> cases;
    std::vector<std::pair<std::size_t, std::optional<T>>> got;
};

class select_many : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(workers, select_many, testing::Values(1u, 2u, 4u, 8u),
                         [](const auto& p) { return std::to_string(p.param); });

TEST_P(select_many, seed_Q4_ask_F1_one_of_thousands_ends_the_wait) {
    weft::runtime rt({.workers = GetParam()});
    rt.run([] {
        many<std::size_t> all(thousands, 0);
        const channel<std::size_t> go;
        auto sender = weft::spawn([&] {
            for (const std::size_t i : go) all.channels[i].send(10 * i);
        });
        for (const std::size_t i : {std::size_t{0}, thousands / 2, thousands - 1, std::size_t{7}}) {
            go.send(i);
            EXPECT_EQ(select(all.cases), i);
            EXPECT_EQ(all.got.back(), std::pair(i, std::optional(10 * i)));
        }
        go.close();
        sender.join();
    });
}

TEST_P(select_many, seed_Q4_ask_F2_a_batch_takes_from_thousands_what_is_there) {
    weft::runtime rt({.workers = GetParam()});
    rt.run([] {
        many<std::string> all(thousands);
        for (auto& c : all.channels) c.send("x");
        indices expected(thousands);
        std::iota(expected.begin(), expected.end(), std::size_t{0});
        EXPECT_EQ(select_all(all.cases), expected);
        EXPECT_EQ(all.got.size(), thousands);
    });
}

TEST_P(select_many, seed_Q4_ask_F2_batches_lose_nothing_while_values_come) {
    constexpr std::size_t n = 1'000, each = 5;
    weft::runtime rt({.workers = GetParam()});
    rt.run([] {
        many<std::size_t> all(n);
        std::vector<weft::fiber<>> senders;
        for (std::size_t part = 0; part < 4; ++part)
            senders.push_back(weft::spawn([&, part] {
                for (std::size_t round = 0; round < each; ++round)
                    for (std::size_t i = part; i < n; i += 4) all.channels[i].send(round);
            }));
        std::size_t taken = 0;
        while (taken < n * each) {
            auto done = select_all(all.cases);
            ASSERT_FALSE(done.empty());
            taken += done.size();
            std::ranges::sort(done);
            EXPECT_EQ(std::ranges::adjacent_find(done), done.end()) << "each once";
        }
        std::vector<std::size_t> next(n);
        for (const auto& [i, v] : all.got) EXPECT_EQ(v, next[i]++);
        EXPECT_EQ(taken, all.got.size());
    });
}

TEST(select_all, ask_F2_does_each_case_that_is_ready_and_no_other) {
    channel<int> in(1), full(1), room(1), empty(1);
    in.send(1);
    full.send(2);
    std::stop_source stop;
    stop.request_stop();
    std::vector<weft::select_case> cases;
    cases.emplace_back(on_receive(in, [](auto v) { EXPECT_EQ(v, 1); }));
    cases.emplace_back(on_send(full, 3, unexpected));
    cases.emplace_back(on_send(room, 4));
    cases.emplace_back(on_receive(empty, unexpected));
    cases.emplace_back(weft::on_stop(stop.get_token()));
    cases.emplace_back(weft::when(false, on_receive(in, unexpected)));
    cases.emplace_back(weft::on_timeout(-1s, unexpected));
    cases.emplace_back(weft::otherwise(unexpected));
    EXPECT_EQ(select_all(cases), (indices{0, 2, 4}));
    EXPECT_EQ(room.receive(), 4);
    EXPECT_EQ(full.receive(), 2);
}

TEST(select_all, ask_F2_with_nothing_ready_waits_for_one_and_takes_what_came_with_it) {
    many<int> all(3, 1);
    crew parties;
    std::atomic<bool> over{false};
    parties.start(party::fiber, [&] {
        while (all.got.size() < 2) EXPECT_FALSE(select_all(all.cases).empty());
        over = true;
    });
    ASSERT_TRUE(eventually_wait_for(parties.runtime(), "select", 1));
    EXPECT_TRUE(all.channels[2].try_send(2));
    EXPECT_TRUE(all.channels[0].try_send(0));
    parties.finish();
    std::ranges::sort(all.got);
    EXPECT_EQ(all.got, (std::vector<std::pair<std::size_t, std::optional<int>>>{{0, 0}, {2, 2}}));
}

TEST(select_all, ask_F2_a_timeout_and_an_otherwise_come_alone) {
    channel<int> empty(1);
    std::vector<weft::select_case> cases;
    cases.emplace_back(on_receive(empty, unexpected));
    cases.emplace_back(weft::on_timeout(1ms));
    EXPECT_EQ(select_all(cases), indices{1});
    cases.emplace_back(weft::otherwise());
    EXPECT_EQ(select_all(cases), indices{2});
}

TEST(select_all, ask_F2_the_same_channel_in_several_cases_gives_a_value_to_each) {
    channel<int> c(4);
    c.send(1);
    c.send(2);
    std::vector<int> got;
    const auto take = [&](auto v) { got.push_back(v.value()); };
    std::vector<weft::select_case> cases;
    for (int i = 0; i < 3; ++i) cases.emplace_back(on_receive(c, take));
    EXPECT_EQ(select_all(cases), (indices{0, 1}));
    EXPECT_EQ(got, (std::vector{1, 2}));
}

TEST(select_all, ask_F2_what_comes_after_a_callback_that_throws_has_not_happened) {
    channel<int> first(1), second(1);
    first.send(1);
    second.send(2);
    std::vector<weft::select_case> cases;
    cases.emplace_back(on_receive(first, [](auto) { throw std::runtime_error("mine"); }));
    cases.emplace_back(on_receive(second, nothing));
    EXPECT_THROW(select_all(cases), std::runtime_error);
    EXPECT_EQ(first.size(), 0u);
    EXPECT_EQ(second.size(), 1u);
}

TEST(select_all, ask_F2_a_send_to_a_closed_channel_throws_and_a_closed_one_gives_nothing) {
    channel<int> in(1), out(1);
    in.close();
    out.close();
    std::vector<weft::select_case> cases;
    int ended = 0;
    cases.emplace_back(on_receive(in, [&](auto v) { ended += !v; }));
    cases.emplace_back(on_send(out, 1, unexpected));
    EXPECT_THROW(select_all(cases), weft::channel_closed);
    EXPECT_EQ(ended, 1) << "its case had happened";
}

TEST(select_all, ask_F2_is_a_park_point) {
    weft::runtime rt(weft::test::one_fiber_at_a_time);
    channel<int> full(1), empty(1);
    full.send(1);
    std::vector<weft::select_case> ready, waits;
    ready.emplace_back(on_receive(full, unexpected));
    waits.emplace_back(on_receive(empty, unexpected));
    auto f = rt.spawn([&] { select_all(waits); });
    ASSERT_TRUE(eventually_wait_for(rt, "select", 1));
    f.request_stop();
    EXPECT_THROW(f.join(), weft::fiber_cancelled);
    auto stopped = rt.spawn([&] {
        while (!weft::this_fiber::stop_token().stop_requested()) {}
        EXPECT_THROW(select_all(ready), weft::cancelled) << "though it need not wait";
    });
    stopped.request_stop();
    stopped.join();
    EXPECT_THROW(weft::with_timeout(1ms, [&] { select_all(waits); }), weft::timeout_error);
    EXPECT_EQ(full.size(), 1u);
}

TEST(select_all, seed_Q10_ask_F2_batches_of_fibers_and_threads_stress) {
    const auto values = [](party left, party right) {
        constexpr std::size_t n = 20;
        constexpr int each = 50;
        many<std::unique_ptr<int>> all(n, 2);
        crew parties(2);
        std::atomic<std::size_t> taken{0};
        for (std::size_t i = 0; i < n; i += 10)
            parties.start(left, [&, i] {
                for (int v = 0; v < each; ++v)
                    for (std::size_t k = i; k < i + 10; ++k) all.channels[k].send(std::make_unique<int>(v));
            });
        parties.start(right, [&] {
            while (taken < n * each) taken += select_all(all.cases).size();
        });
        parties.finish();
        std::vector<int> next(n);
        for (const auto& [i, v] : all.got) EXPECT_EQ(**v, next[i]++);
    };
    for (const auto left : {party::fiber, party::thread})
        for (const auto right : {party::fiber, party::thread}) values(left, right);
}

}  // namespace
