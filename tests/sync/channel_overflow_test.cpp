// channel_overflow_test.cpp - what a send into a full channel does by each policy, alone, in a select, and when values resist.
#include <weft/broadcast.hpp>
#include <weft/event.hpp>
#include <weft/select.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>

#include "sync/crew.hpp"

namespace {

using weft::channel;
using weft::channel_op;
using weft::on_send;
using weft::on_timeout;
using weft::otherwise;
using weft::overflow;
using weft::select;

constexpr auto unexpected = [](auto&&...) { ADD_FAILURE() << "this case was not to be chosen"; };

/// A value of a ring.
int made(int n, int*) { return n; }
/// A value that lies in a node.
std::string made(int n, std::string*) { return std::to_string(n); }

template <class T>
T value(int n) {
    return made(n, static_cast<T*>(nullptr));
}

template <class T>
channel<T> full(overflow how, std::size_t capacity = 2) {
    channel<T> c(capacity, {.when_full = how});
    for (std::size_t i = 1; i <= capacity; ++i) c.send(value<T>(static_cast<int>(i)));
    return c;
}

template <class T>
std::vector<T> drained(const channel<T>& c) {
    std::vector<T> all;
    while (auto v = c.try_receive()) all.push_back(std::move(*v));
    return all;
}

template <class T>
std::vector<T> values(std::initializer_list<int> numbers) {
    std::vector<T> all;
    for (const int n : numbers) all.push_back(value<T>(n));
    return all;
}

template <class T>
class channel_overflow : public testing::Test {};
using kinds = testing::Types<int, std::string>;
TYPED_TEST_SUITE(channel_overflow, kinds);

TYPED_TEST(channel_overflow, seed_Q3_drop_oldest_makes_room_for_every_send) {
    const auto c = full<TypeParam>(overflow::drop_oldest);
    c.send(value<TypeParam>(3));
    EXPECT_TRUE(c.try_send(value<TypeParam>(4)));
    EXPECT_EQ(c.send_for(value<TypeParam>(5), 1h), channel_op::done);
    bool ran = false;
    EXPECT_EQ(select(on_send(c, value<TypeParam>(6), [&] { ran = true; }), otherwise(unexpected)), 0u);
    EXPECT_TRUE(ran);
    EXPECT_EQ(c.size(), 2u);
    EXPECT_EQ(drained(c), values<TypeParam>({5, 6}));
    c.close();
    EXPECT_THROW(c.send(value<TypeParam>(7)), weft::channel_closed);
}

TYPED_TEST(channel_overflow, seed_Q3_drop_newest_drops_what_is_sent_and_the_forms_that_tell_do_tell) {
    const auto c = full<TypeParam>(overflow::drop_newest);
    c.send(value<TypeParam>(3));
    auto kept = value<TypeParam>(4);
    EXPECT_FALSE(c.try_send(kept));
    EXPECT_EQ(c.try_send_op(kept), channel_op::full);
    EXPECT_EQ(c.send_for(kept, 1h), channel_op::full);
    EXPECT_EQ(kept, value<TypeParam>(4));
    bool ran = false;
    EXPECT_EQ(select(on_send(c, value<TypeParam>(5), [&] { ran = true; }), otherwise(unexpected)), 0u);
    EXPECT_TRUE(ran);
    EXPECT_EQ(drained(c), values<TypeParam>({1, 2}));
    c.send(value<TypeParam>(6));
    EXPECT_EQ(drained(c), values<TypeParam>({6}));
    c.close();
    EXPECT_THROW(c.send(value<TypeParam>(7)), weft::channel_closed);
}

TYPED_TEST(channel_overflow, seed_Q3_fail_throws_and_changes_nothing) {
    const auto c = full<TypeParam>(overflow::fail);
    try {
        c.send(value<TypeParam>(3));
        ADD_FAILURE() << "nothing thrown";
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), std::errc::no_buffer_space);
    }
    EXPECT_FALSE(c.try_send(value<TypeParam>(3)));
    EXPECT_EQ(c.send_for(value<TypeParam>(3), 1h), channel_op::full);
    EXPECT_THROW(select(on_send(c, value<TypeParam>(3), unexpected), on_timeout(1h, unexpected)), std::system_error);
    EXPECT_EQ(drained(c), values<TypeParam>({1, 2}));
    c.send(value<TypeParam>(4));
    EXPECT_EQ(select(on_send(c, value<TypeParam>(5))), 0u);
    EXPECT_EQ(drained(c), values<TypeParam>({4, 5}));
}

TYPED_TEST(channel_overflow, a_value_given_by_reference_stays_when_the_policy_drops_it) {
    const auto c = full<TypeParam>(overflow::drop_newest);
    auto kept = value<TypeParam>(3);
    bool called = false;
    EXPECT_EQ(select(on_send(c, std::ref(kept), [&] { called = true; }), on_timeout(10s, unexpected)), 0u);
    EXPECT_TRUE(called);
    EXPECT_EQ(kept, value<TypeParam>(3));
    EXPECT_EQ(drained(c), values<TypeParam>({1, 2}));
}

TYPED_TEST(channel_overflow, fail_makes_a_select_throw_although_it_has_an_otherwise) {
    const auto c = full<TypeParam>(overflow::fail);
    auto kept = value<TypeParam>(3);
    EXPECT_THROW(select(on_send(c, std::ref(kept), unexpected), otherwise(unexpected)), std::system_error);
    EXPECT_EQ(kept, value<TypeParam>(3));
    EXPECT_EQ(drained(c), values<TypeParam>({1, 2}));
}

TYPED_TEST(channel_overflow, seed_Q3_back_off_waits_for_a_while_and_then_fails) {
    const auto c = full<TypeParam>(overflow::back_off);
    const auto from = std::chrono::steady_clock::now();
    EXPECT_THROW(c.send(value<TypeParam>(3)), std::system_error);
    EXPECT_GE(std::chrono::steady_clock::now() - from, 70ms);
    EXPECT_EQ(c.send_for(value<TypeParam>(3), 1h), channel_op::full);
    EXPECT_EQ(c.send_for(value<TypeParam>(3), 1ms), channel_op::timeout);
    EXPECT_FALSE(c.try_send(value<TypeParam>(3)));
    EXPECT_EQ(select(on_send(c, value<TypeParam>(3), unexpected), on_timeout(1ms)), 1u);
    EXPECT_EQ(drained(c), values<TypeParam>({1, 2}));
}

TYPED_TEST(channel_overflow, with_room_or_a_receiver_no_policy_is_asked) {
    for (const auto how : {overflow::drop_oldest, overflow::drop_newest, overflow::fail, overflow::back_off}) {
        const std::size_t least = how == overflow::drop_oldest ? 1 : 0;
        const channel<TypeParam> c(least, {.when_full = how});
        crew all;
        all.start(party::fiber, [=] { EXPECT_EQ(c.receive(), value<TypeParam>(7)); });
        ASSERT_TRUE(eventually_wait_for(all.runtime(), "channel receive", 1));
        c.send(value<TypeParam>(7));
        all.finish();
        EXPECT_EQ(c.size(), 0u);
    }
}

TEST(channel_overflow_of_any, is_refused_where_it_makes_no_sense) {
    EXPECT_THROW(channel<int>(0, {.when_full = overflow::drop_oldest}), std::invalid_argument);
    const channel<int> endless(weft::unbounded, {.when_full = overflow::fail});
    for (int i = 0; i < 1000; ++i) endless.send(i);
    EXPECT_EQ(endless.size(), 1000u);
}

TEST(channel_overflow_of_any, back_off_gets_room_that_comes_in_time) {
    for (int tries = 0;; ++tries) {
        const auto c = full<int>(overflow::back_off, 1);
        crew all;
        std::atomic<bool> sent{false};
        all.start(party::fiber, [&] {
            try {
                c.send(2);
                sent = true;
            } catch (const std::system_error&) {}  // this machine took more than 75 ms
        });
        static_cast<void>(eventually_wait_for(all.runtime(), "channel send", 1));
        EXPECT_EQ(c.receive(), 1);
        all.finish();
        if (sent) {
            EXPECT_EQ(c.receive(), 2);
            return;
        }
        ASSERT_LT(tries, 100);
    }
}

/// Counts those that live, and throws where it is told to.
struct tracked {
    static inline std::atomic<int> alive{0};
    int number;
    bool throws;

    explicit tracked(int n, bool t = false) : number(n), throws(t) { ++alive; }
    tracked(tracked&& other) : number(other.number), throws(other.throws) {
        if (throws) throw std::runtime_error("does not move");
        ++alive;
    }
    tracked& operator=(tracked&&) = delete;
    ~tracked() { --alive; }
};

TEST(channel_overflow_of_any, a_value_whose_move_throws_displaces_nothing) {
    {
        const channel<tracked> c(1, {.when_full = overflow::drop_oldest});
        tracked first(1), bad(2, true), last(3);
        EXPECT_TRUE(c.try_send(first));
        EXPECT_THROW(static_cast<void>(c.try_send(bad)), std::runtime_error);
        EXPECT_EQ(c.size(), 1u);
        EXPECT_TRUE(c.try_send(last));
        EXPECT_EQ(c.size(), 1u);
        EXPECT_EQ(c.receive()->number, 3);
    }
    EXPECT_EQ(tracked::alive, 0);
}

/// Its first move waits until another value was sent, and may fail then.
struct slow {
    int number;
    weft::event *begun, *may_end;
    bool fails;
    slow(int n, weft::event* b = nullptr, weft::event* e = nullptr, bool f = false) : number(n), begun(b), may_end(e), fails(f) {}
    slow(slow&& other) : number(other.number), begun(nullptr), may_end(nullptr), fails(false) {
        if (!other.begun) return;
        other.begun->set();
        other.may_end->wait();
        if (other.fails) throw std::runtime_error("does not move");
    }
    slow& operator=(slow&&) = default;
};

TEST(channel_overflow_of_any, a_send_that_is_still_moving_costs_no_value_that_has_arrived) {
    for (const bool fails : {false, true})
        weft::run([&] {
            const channel<slow> c(1, {.when_full = overflow::drop_oldest});
            weft::event begun, may_end;
            auto first = weft::spawn([&] {
                slow value(1, &begun, &may_end, fails);
                try {
                    EXPECT_EQ(c.try_send(value), !fails);
                } catch (const std::runtime_error&) {
                    EXPECT_TRUE(fails);
                }
            });
            begun.wait();
            slow second(2);
            EXPECT_TRUE(c.try_send(second));
            EXPECT_EQ(c.size(), 1u);
            may_end.set();
            first.join();
            EXPECT_EQ(c.size(), 1u);
            EXPECT_EQ(c.receive()->number, fails ? 2 : 1) << "the value that arrived last";
        });
}

/// Its destructor uses the channel that drops it, which a lock would not let it do.
struct looks_back {
    const channel<std::unique_ptr<looks_back>>* at;
    std::size_t* seen;
    looks_back(const channel<std::unique_ptr<looks_back>>* c, std::size_t* s) : at(c), seen(s) {}
    looks_back(const looks_back&) = delete;
    looks_back& operator=(const looks_back&) = delete;
    ~looks_back() { *seen = at->size(); }
};

TEST(channel_overflow_of_any, what_is_dropped_is_destroyed_without_a_lock) {
    std::size_t seen = 0;
    const channel<std::unique_ptr<looks_back>> c(1, {.when_full = overflow::drop_oldest});
    c.send(std::make_unique<looks_back>(&c, &seen));
    c.send(nullptr);
    EXPECT_EQ(seen, 1u);
}

TEST(channel_overflow_of_any, a_broadcast_backs_off_too) {
    const weft::broadcast<int> news;
    const auto slow = news.subscribe({.capacity = 1, .overflow = overflow::back_off});
    news.send(1);
    EXPECT_THROW(news.send(2), std::system_error);
    EXPECT_EQ(slow.receive(), 1);
    news.send(3);
    EXPECT_EQ(slow.receive(), 3);
}

class channel_overflow_contract : public testing::TestWithParam<setting> {};

TEST_P(channel_overflow_contract, drop_oldest_keeps_order_and_the_last_value_stress) {
    const auto who = GetParam();
    constexpr int n = 2000, senders = 2;
    const channel<std::string> c(3, {.when_full = overflow::drop_oldest});
    crew all(who.workers);
    std::atomic<int> left{senders};
    for (int s = 0; s < senders; ++s)
        all.start(who.left, [&, s] {
            for (int i = 0; i < n; ++i) {
                c.send(std::to_string(s * n + i));
                EXPECT_LE(c.size(), 3u);
            }
            if (--left == 0) c.close();
        });
    all.start(who.right, [&] {
        std::array<int, senders> last{-1, -1};
        for (const std::string& v : c) {
            const int k = std::stoi(v);
            auto& before = last[static_cast<std::size_t>(k / n)];
            EXPECT_LT(before, k);
            before = k;
        }
        EXPECT_TRUE(std::ranges::any_of(std::array{n - 1, 2 * n - 1},
                                        [&](int end) { return last[static_cast<std::size_t>(end / n)] == end; }));
    });
    all.finish();
}
INSTANTIATE_TEST_SUITE_P(all, channel_overflow_contract, testing::ValuesIn(all_settings()),
                         [](const auto& p) { return name_of(p.param); });

}  // namespace
