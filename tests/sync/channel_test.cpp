// channel_test.cpp - what a channel promises, one fact at a time: Go's rules for send, receive and close, and the views.
#include <weft/channel.hpp>

#include <weft/deadline.hpp>

#include <ranges>
#include <type_traits>

#include "support/no_leaks.hpp"
#include "sync/crew.hpp"

namespace {

using weft::channel;
using weft::channel_op;

TEST(channel, seed_Q3_a_rendezvous_channel_holds_nothing) {
    channel<int> c;
    EXPECT_EQ(c.capacity(), 0u);
    EXPECT_EQ(c.size(), 0u);
    EXPECT_FALSE(c.try_send(1));
    EXPECT_FALSE(c.try_receive());
}

TEST(channel, seed_Q2_a_fiber_waits_in_receive_and_its_worker_goes_on) {
    const int sum = weft::run(
        [] {
            const channel<int> numbers, answer;
            auto adder = weft::spawn([=] {
                int total = 0;
                for (int v : numbers) total += v;
                answer.send(total);
            });
            for (int i = 1; i <= 10; ++i) numbers.send(i);  // the one worker runs both
            numbers.close();
            return answer.receive().value();
        },
        weft::test::one_fiber_at_a_time);
    EXPECT_EQ(sum, 55);
}

TEST(channel, seed_Q3_a_bounded_channel_is_full_at_its_capacity) {
    channel<int> c(2);
    EXPECT_TRUE(c.try_send(1));
    EXPECT_TRUE(c.try_send(2));
    EXPECT_FALSE(c.try_send(3));
    EXPECT_EQ(c.size(), 2u);
    EXPECT_EQ(c.receive(), 1);
    EXPECT_TRUE(c.try_send(3));
    EXPECT_EQ(c.receive(), 2);
    EXPECT_EQ(c.receive(), 3);
}

TEST(channel, seed_Q3_an_unbounded_channel_is_never_full) {
    channel<int> c(weft::unbounded);
    for (int i = 0; i < 100'000; ++i) c.send(i);
    EXPECT_EQ(c.size(), 100'000u);
    for (int i = 0; i < 100'000; ++i) ASSERT_EQ(c.try_receive(), i);
}

TEST(channel, a_capacity_beyond_any_memory_costs_only_what_is_stored) {
    channel<int> c(std::size_t{1} << 60);
    EXPECT_TRUE(c.try_send(7));
    EXPECT_EQ(c.receive(), 7);
}

TEST(channel, copies_name_the_same_channel) {
    channel<int> a(1);
    const channel<int> b = a;
    b.send(5);
    EXPECT_EQ(a.receive(), 5);
    EXPECT_EQ(a, b);
    EXPECT_NE(a, channel<int>(1));
}

TEST(channel, seed_Q3_try_forms_say_why) {
    channel<int> c(1);
    int v = 9;
    EXPECT_EQ(c.try_receive_op(v), channel_op::empty);
    EXPECT_EQ(c.try_send_op(v), channel_op::done);
    EXPECT_EQ(c.try_send_op(v), channel_op::full);
    c.close();
    EXPECT_EQ(c.try_send_op(v), channel_op::closed);
    EXPECT_EQ(c.try_receive_op(v), channel_op::done);
    EXPECT_EQ(v, 9);
    EXPECT_EQ(c.try_receive_op(v), channel_op::closed);
}

TEST(channel, seed_Q3_stored_values_remain_after_close) {
    for (const std::size_t capacity : {std::size_t{3}, weft::unbounded}) {
        channel<std::string> c(capacity);
        c.send("a");
        c.send("b");
        c.close();
        EXPECT_TRUE(c.closed());
        EXPECT_EQ(c.size(), 2u);
        EXPECT_EQ(c.receive(), "a");
        EXPECT_EQ(c.receive(), "b");
        EXPECT_EQ(c.receive(), std::nullopt);
        EXPECT_EQ(c.receive(), std::nullopt);
    }
}

TEST(channel, seed_Q3_send_to_a_closed_channel_throws) {
    for (const std::size_t capacity : {std::size_t{0}, std::size_t{3}, weft::unbounded}) {
        channel<int> c(capacity);
        c.close();
        c.close();
        EXPECT_THROW(c.send(1), weft::channel_closed);
        EXPECT_FALSE(c.try_send(1));
        EXPECT_EQ(c.receive(), std::nullopt);
    }
}

TEST(channel, seed_Q3_close_ends_waiting_senders_and_receivers) {
    channel<int> in, out(1);
    crew all;
    out.send(0);
    std::atomic<int> refused{0}, ended{0};
    for (int i = 0; i < 3; ++i) {
        all.start(party::fiber, [=, &ended] { ended += !in.receive(); });
        all.start(party::fiber, [=, &refused] {
            try {
                out.send(1);
            } catch (const weft::channel_closed&) { ++refused; }
        });
    }
    ASSERT_TRUE(eventually_wait_for(all.runtime(), "channel send", 3));
    ASSERT_TRUE(eventually_wait_for(all.runtime(), "channel receive", 3));
    in.close();
    out.close();
    all.finish();
    EXPECT_EQ(refused, 3);
    EXPECT_EQ(ended, 3);
    EXPECT_EQ(out.receive(), 0);
    EXPECT_EQ(out.receive(), std::nullopt);
}

TEST(channel, waiting_receivers_are_served_oldest_first) {
    channel<int> c;
    std::array<std::atomic<int>, 4> got{};
    crew all;
    for (std::size_t i = 0; i < got.size(); ++i) {
        all.start(party::fiber, [&, i] { got[i] = c.receive().value(); });
        ASSERT_TRUE(eventually_wait_for(all.runtime(), "channel receive", static_cast<int>(i) + 1));
    }
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(c.try_send(i + 1));
    all.finish();
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], static_cast<int>(i) + 1);
}

TEST(channel, waiting_senders_are_served_oldest_first_and_refill_the_buffer_at_once) {
    for (const std::size_t capacity : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
        channel<std::string> c(capacity);
        crew all;
        for (std::size_t i = 0; i < capacity; ++i) c.send(std::to_string(i));
        for (std::size_t i = capacity; i < capacity + 4; ++i) {
            all.start(party::fiber, [&, i] { c.send(std::to_string(i)); });
            ASSERT_TRUE(eventually_wait_for(all.runtime(), "channel send", static_cast<int>(i - capacity) + 1));
        }
        for (std::size_t i = 0; i < capacity + 4; ++i) EXPECT_EQ(c.try_receive(), std::to_string(i));
        EXPECT_EQ(c.try_receive(), std::nullopt);
        all.finish();
    }
}

TEST(channel, seed_Q3_timed_forms_time_out_and_leave_the_value) {
    channel<std::string> c(1);
    std::string v = "kept";
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(c.receive_for(v, 5ms), channel_op::timeout);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 5ms);
    EXPECT_EQ(v, "kept");
    EXPECT_EQ(c.send_for(v, 5ms), channel_op::done);
    v = "kept";
    EXPECT_EQ(c.send_for(v, 5ms), channel_op::timeout);
    EXPECT_EQ(c.send_for(v, 0ms), channel_op::timeout);
    EXPECT_EQ(c.send_for(v, -1h), channel_op::timeout);
    EXPECT_EQ(v, "kept");
    c.close();
    EXPECT_EQ(c.send_for(v, 1h), channel_op::closed);
    EXPECT_EQ(v, "kept");
    EXPECT_EQ(c.receive_for(v, std::chrono::hours::max()), channel_op::done);
    EXPECT_EQ(c.receive_for(v, 1h), channel_op::closed);
}

/// Quasar's five policies: block, throw, back off, drop, displace. A channel has one, its calls have the others.
TEST(channel, seed_Q3_what_becomes_of_a_value_without_room_is_said_by_the_call) {
    channel<int> full(1);
    full.send(1);
    EXPECT_THROW(weft::with_timeout(2ms, [&] { full.send(2); }), weft::timeout_error);  // blocks
    EXPECT_EQ(full.try_send_op(2), channel_op::full);                                   // tells, for who would throw
    int tries = 0;
    while (full.send_for(2, 1ms) == channel_op::timeout && ++tries < 3) {}              // backs off
    EXPECT_EQ(tries, 3);
    EXPECT_FALSE(full.try_send(2));                                                     // drops it
    EXPECT_EQ(full.receive(), 1);
    const weft::broadcast<int> latest;
    const auto reader = latest.subscribe({.capacity = 1, .overflow = weft::overflow::drop_oldest});
    for (const int v : {1, 2, 3}) latest.send(v);                                       // displaces the oldest
    EXPECT_EQ(reader.receive(), 3);
}

TEST(channel, a_range_ends_when_closed_and_drained) {
    channel<int> c(weft::unbounded);
    for (int i = 0; i < 5; ++i) c.send(i);
    c.close();
    std::vector<int> got;
    for (int const& v : c) got.push_back(v);
    EXPECT_EQ(got, (std::vector{0, 1, 2, 3, 4}));
    for (int v : c.rx()) ADD_FAILURE() << v;
}

TEST(channel, seed_Q3_a_range_works_with_the_standard_views) {
    static_assert(std::ranges::input_range<channel<int>>);
    static_assert(std::ranges::input_range<const weft::receiver<std::unique_ptr<int>>>);
    channel<int> c(weft::unbounded);
    for (int i = 0; i < 6; ++i) c.send(i);
    c.close();
    int sum = 0;
    for (const int v : c | std::views::filter([](int x) { return x % 2 == 1; })) sum += v;
    EXPECT_EQ(sum, 1 + 3 + 5);
}

TEST(channel, a_range_over_move_only_values_may_take_them) {
    channel<std::unique_ptr<int>> c(weft::unbounded);
    c.send(std::make_unique<int>(1));
    c.send(std::make_unique<int>(2));
    c.close();
    int sum = 0;
    for (std::unique_ptr<int> p : c) sum += *p;
    EXPECT_EQ(sum, 3);
}

TEST(channel, the_last_sender_closes) {
    channel<int> c(4);
    {
        auto a = c.tx();
        {
            const auto b = a;
            b.send(1);
        }
        EXPECT_FALSE(c.closed());
        auto moved = std::move(a);
        moved.send(2);
        EXPECT_FALSE(c.closed());
    }
    EXPECT_TRUE(c.closed());
    EXPECT_EQ(c.receive(), 1);
    EXPECT_EQ(c.receive(), 2);
    EXPECT_EQ(c.receive(), std::nullopt);
}

TEST(channel, assigning_senders_counts_them) {
    channel<int> c(1), d(1);
    auto a = c.tx();
    auto b = d.tx();
    const auto& same = a;
    a = same;
    EXPECT_FALSE(c.closed());
    a = b;
    EXPECT_TRUE(c.closed());
    EXPECT_FALSE(d.closed());
    b = weft::channel<int>().tx();
    EXPECT_FALSE(d.closed());
    a = std::move(b);
    EXPECT_TRUE(d.closed());
}

TEST(channel, without_a_sender_made_only_close_closes) {
    channel<int> c(1);
    {
        const auto copy = c;
        const auto r = c.rx();
        copy.send(1);
        EXPECT_EQ(r.receive(), 1);
    }
    EXPECT_FALSE(c.closed());
}

TEST(channel, views_keep_the_channel_alive) {
    auto ends = [] {
        channel<std::string> c(1);
        return std::pair(c.tx(), c.rx());
    }();
    ends.first.send("still here");
    EXPECT_EQ(ends.second.receive(), "still here");
    EXPECT_EQ(ends.first.capacity(), 1u);
    ends.first.close();
    EXPECT_TRUE(ends.second.closed());
}

TEST(channel, a_handle_is_one_pointer_and_const_like_one) {
    static_assert(sizeof(channel<int>) == sizeof(void*));
    static_assert(sizeof(weft::sender<int>) == sizeof(void*));
    const channel<int> c(1);
    [c] { c.send(1); }();
    EXPECT_EQ(c.receive(), 1);
}

TEST(channel_death, a_handle_moved_from_is_not_used) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            channel<int> a(1);
            const auto b = std::move(a);
            a.send(1);  // NOLINT(bugprone-use-after-move): what is tested
        },
        "channel: a handle is not used after it was moved from");
}

TEST(channel_death, it_is_not_destroyed_while_somebody_waits) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            weft::runtime rt({.workers = 1});
            auto c = std::make_unique<channel<int>>();
            auto f = rt.spawn([&] { c->receive(); });
            eventually_wait_for(rt, "channel receive", 1);
            c.reset();
        },
        "channel: destroyed while somebody waits");
}

}  // namespace
