// channel_move_test.cpp - how often a channel moves a value, where, and what is left when the move throws.
#include <weft/channel.hpp>
#include <weft/mutex.hpp>

#include "sync/crew.hpp"

namespace {

using weft::channel;
using weft::channel_op;

struct counted {
    int moves = 0;
    counted() = default;
    counted(counted&& other) noexcept : moves(other.moves + 1) {}
    counted& operator=(counted&& other) noexcept {
        moves = other.moves + 1;
        return *this;
    }
};

TEST(channel_move, a_waiting_receiver_gets_the_value_in_one_move) {
    channel<counted> c;
    std::atomic<int> moves{-1};
    crew all;
    all.start(party::fiber, [&] { moves = c.receive()->moves; });
    ASSERT_TRUE(eventually_wait_for(all.runtime(), "channel receive", 1));
    counted v;
    EXPECT_TRUE(c.try_send(v));
    all.finish();
    EXPECT_EQ(moves, 1);
}

TEST(channel_move, a_waiting_sender_gives_the_value_in_one_move) {
    channel<counted> c;
    crew all;
    all.start(party::fiber, [&] {
        counted v;
        EXPECT_EQ(c.send_for(v, 1h), channel_op::done);
    });
    ASSERT_TRUE(eventually_wait_for(all.runtime(), "channel send", 1));
    EXPECT_EQ(c.receive()->moves, 1);
    all.finish();
}

TEST(channel_move, a_stored_value_moves_twice) {
    channel<counted> c(1);
    counted v;
    EXPECT_TRUE(c.try_send(v));
    EXPECT_EQ(c.receive()->moves, 2);
}

TEST(channel_move, try_send_takes_a_move_only_value_only_on_success) {
    channel<std::unique_ptr<int>> c(1);
    auto a = std::make_unique<int>(1), b = std::make_unique<int>(2);
    EXPECT_TRUE(c.try_send(a));
    EXPECT_EQ(a, nullptr);
    EXPECT_FALSE(c.try_send(std::move(b)));
    ASSERT_NE(b, nullptr);
    EXPECT_EQ(c.send_for(b, 1ms), channel_op::timeout);
    EXPECT_EQ(*b, 2);
    EXPECT_EQ(**c.receive(), 1);
}

TEST(channel_move, values_left_in_a_channel_are_destroyed_with_it) {
    const auto witness = std::make_shared<int>(0);
    {
        channel<std::shared_ptr<int>> c(weft::unbounded);
        for (int i = 0; i < 100; ++i) c.send(witness);
        EXPECT_EQ(witness.use_count(), 101);
        for (int i = 0; i < 40; ++i) c.receive();
        EXPECT_EQ(witness.use_count(), 61);
    }
    EXPECT_EQ(witness.use_count(), 1);
}

TEST(channel_move, over_aligned_and_large_values_arrive_whole) {
    struct alignas(32) wide {
        char text[100];
    };
    struct big {
        std::array<int, 500> numbers;
    };
    channel<wide> w(2);
    wide text{"wide"};
    EXPECT_TRUE(w.try_send(text));
    const auto got = w.receive();
    EXPECT_STREQ(got->text, "wide");
    channel<big> b(2);
    big v{};
    v.numbers[499] = 7;
    b.send(v);
    EXPECT_EQ(b.receive()->numbers[499], 7);
}

/// A T whose code uses the channel it travels through: it would hang if any of it ran under the channel's lock.
struct curious {
    explicit curious(const channel<curious>& c) : home(&c) {}
    curious(curious&& other) noexcept : home(std::exchange(other.home, nullptr)) { look(); }
    ~curious() { look(); }
    void look() const noexcept {
        if (home) static_cast<void>(home->size());
    }
    const channel<curious>* home;
};

TEST(channel_move, moves_and_destructors_run_without_the_lock) {
    for (const std::size_t capacity : {std::size_t{0}, std::size_t{1}, weft::unbounded}) {
        const channel<curious> c(capacity);
        crew all;
        all.start(party::fiber, [&] {
            for (int i = 0; i < 100; ++i) c.send(curious(c));
        });
        all.start(party::fiber, [&] {
            for (int i = 0; i < 100; ++i) c.receive();
        });
        all.finish();
    }
}

/// Throws from the move that is named, and leaves its source as it was.
struct brittle {
    explicit brittle(int n) : number(n) {}
    brittle(brittle&& other) : number(other.number) {
        if (other.moves_until_throw > 0 && --other.moves_until_throw == 0) throw std::runtime_error("brittle");
        moves_until_throw = other.moves_until_throw;
    }
    brittle& operator=(brittle&& other) noexcept = default;
    int number;
    int moves_until_throw = 0;
};

TEST(channel_move, a_throwing_store_gives_the_room_back) {
    channel<brittle> c(1);
    brittle v(1);
    v.moves_until_throw = 1;
    EXPECT_THROW(c.try_send(v), std::runtime_error);
    EXPECT_EQ(c.size(), 0u);
    EXPECT_TRUE(c.try_send(v));
    EXPECT_EQ(c.receive()->number, 1);
}

TEST(channel_move, a_throwing_take_drops_that_value_only) {
    channel<brittle> c(3);
    for (int i = 0; i < 3; ++i) {
        brittle v(i);
        v.moves_until_throw = i == 0 ? 2 : 0;
        EXPECT_TRUE(c.try_send(v));
    }
    EXPECT_THROW(c.receive(), std::runtime_error);
    EXPECT_EQ(c.receive()->number, 1);
    EXPECT_EQ(c.receive()->number, 2);
    EXPECT_EQ(c.size(), 0u);
}

TEST(channel_move, a_sender_that_throws_leaves_the_waiting_receiver_waiting) {
    channel<brittle> c;
    std::atomic<int> got{0};
    crew all;
    all.start(party::fiber, [&] { got = c.receive()->number; });
    ASSERT_TRUE(eventually_wait_for(all.runtime(), "channel receive", 1));
    brittle v(5);
    v.moves_until_throw = 1;
    EXPECT_THROW(c.try_send(v), std::runtime_error);
    c.send(brittle(6));
    all.finish();
    EXPECT_EQ(got, 6);
}

TEST(channel_move, a_receiver_that_throws_leaves_the_waiting_sender_waiting) {
    channel<brittle> c;
    crew all;
    all.start(party::fiber, [&] {
        brittle v(7);
        v.moves_until_throw = 1;
        EXPECT_EQ(c.send_for(v, 1h), channel_op::done);
    });
    ASSERT_TRUE(eventually_wait_for(all.runtime(), "channel send", 1));
    EXPECT_THROW(c.receive(), std::runtime_error);
    EXPECT_EQ(c.receive()->number, 7);
    all.finish();
}

TEST(channel_move, a_refill_that_throws_is_the_waiting_senders_failure) {
    channel<brittle> c(1);
    crew all;
    c.send(brittle(1));
    std::atomic<bool> threw{false};
    all.start(party::fiber, [&] {
        brittle v(2);
        v.moves_until_throw = 1;
        EXPECT_EQ(c.send_for(v, 1h), channel_op::done);  // refilled by the receiver, thrown; then filled by the sender
        threw = v.moves_until_throw == 0;
    });
    ASSERT_TRUE(eventually_wait_for(all.runtime(), "channel send", 1));
    EXPECT_EQ(c.receive()->number, 1);
    EXPECT_EQ(c.receive()->number, 2);
    all.finish();
    EXPECT_TRUE(threw);
}

TEST(channel_move, throwing_moves_stress_lose_nothing_else) {
    constexpr int senders = 4, each = 500;
    for (const std::size_t capacity : {std::size_t{0}, std::size_t{2}, weft::unbounded}) {
        channel<brittle> c(capacity);
        std::atomic<int> sent_and_thrown{0}, received{0}, received_thrown{0}, sent{0};
        crew all(4);
        for (int s = 0; s < senders; ++s)
            all.start(s % 2 ? party::fiber : party::thread, [&, s] {
                for (int i = 0; i < each; ++i) {
                    brittle v(i);
                    v.moves_until_throw = (i * 7 + s) % 4;  // 0: never; else at the first, second or third move
                    try {
                        if (c.send_for(v, 1h) == channel_op::done) ++sent;
                    } catch (const std::runtime_error&) { ++sent_and_thrown; }
                }
            });
        for (int r = 0; r < 3; ++r)
            all.start(r % 2 ? party::fiber : party::thread, [&] {
                for (;;) {
                    try {
                        if (!c.receive()) return;
                        ++received;
                    } catch (const std::runtime_error&) { ++received_thrown; }
                }
            });
        ASSERT_TRUE(eventually([&] { return sent + sent_and_thrown == senders * each; }));
        c.close();
        all.finish();
        // A rendezvous that threw at the receiver is tried again; a stored value whose take threw is gone.
        if (capacity == 0)
            EXPECT_EQ(received, sent);
        else
            EXPECT_EQ(received + received_thrown, sent);
    }
}

}  // namespace
