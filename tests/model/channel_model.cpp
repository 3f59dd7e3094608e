// channel_model.cpp - the core of all channels as it is shipped, under every schedule: each value is received once, in order, and those
// who wait when it is closed go on.
#include <weft/channel.hpp>
#include <weft/stop.hpp>

#include <optional>
#include <utility>

#include "model/primitives.hpp"

namespace litmus {
namespace {

using namespace std::chrono_literals;
using weft::channel_op;

/// Values of a ring, and others, which lie in nodes.
struct in_a_node {
    in_a_node(int n) : n_(n) {}
    in_a_node(in_a_node&& other) noexcept : n_(other.n_) {}
    in_a_node& operator=(in_a_node&&) = default;
    operator int() const { return n_; }

private:
    int n_;
};

template <class T>
class channel : public ::testing::Test {};
using kinds = ::testing::Types<int, in_a_node>;
TYPED_TEST_SUITE(channel, kinds);

TYPED_TEST(channel, CHANNEL_CORE_2_CHANNEL_CORE_3_one_sender_one_receiver_with_and_without_room) {
    for (const std::size_t capacity : {0u, 1u})
        holds(two_threads, [=](model::execution& t) {
            const parties all;
            weft::channel<TypeParam> c(capacity);
            plain<int> sent{0};
            t.thread([&] {
                for (int i = 1; i <= 2; ++i) {
                    if (i == 1) sent.set(1);
                    c.send(TypeParam(i));
                }
                c.close();
            });
            t.thread([&] {
                for (int i = 1; i <= 2; ++i) {
                    model::check(c.receive() == i, "in order, and none is lost");
                    if (i == 1) model::check(sent.get() == 1, "a send happens before its receive completes");
                }
                model::check(!c.receive(), "closed and drained");
            });
            t.join_all();
        });
}

TYPED_TEST(channel, CHANNEL_CORE_2_CHANNEL_CORE_3_two_senders_one_receiver) {
    for (const std::size_t capacity : {0u, 1u})
        holds(three_threads, [=](model::execution& t) {
            const parties all;
            weft::channel<TypeParam> c(capacity);
            for (const int n : {1, 2}) t.thread([&, n] { c.send(TypeParam(n)); });
            t.thread([&] {
                const auto a = c.receive(), b = c.receive();
                model::check(a && b && *a + *b == 3, "each once");
            });
            t.join_all();
            model::check(c.size() == 0, "nothing is left");
        });
}

TYPED_TEST(channel, CHANNEL_CORE_6_a_wait_that_timed_out_has_moved_nothing) {
    for (const std::size_t capacity : {0u, 1u})
        holds(two_threads, [=](model::execution& t) {
            const parties all;
            weft::channel<TypeParam> c(capacity);
            channel_op sent{}, received{};
            TypeParam out(1), in(0);
            t.thread([&] { sent = c.send_for(out, 1s); });
            t.thread([&] { received = c.receive_for(in, 1s); });
            t.join_all();
            const bool is_stored = c.size() == 1;
            model::check((sent == channel_op::done) == (received == channel_op::done || is_stored),
                         "sent means received, or stored");
            model::check(received != channel_op::done || in == 1, "what was received was sent");
        });
}

TYPED_TEST(channel, CHANNEL_CORE_3_CHANNEL_CORE_5_close_ends_those_who_wait) {
    holds(three_threads, [](model::execution& t) {
        const parties all;
        weft::channel<TypeParam> c(1);
        channel_op sent[2]{};
        for (auto& s : sent)
            t.thread([&] {
                TypeParam v(1);
                s = c.send_for(v, weft::forever);
            });
        t.thread([&] { c.close(); });
        t.join_all();
        int done = 0;
        for (const auto s : sent) done += s == channel_op::done;
        model::check(static_cast<int>(c.size()) == done && done <= 1,
                     "CHANNEL_CORE-5: a send has arrived, or was told that it is closed");
    });
}

template <class T>
model::result one_that_displaces(const model::options& o) {
    return model::explore(o, [](model::execution& t) {
        const parties all;
        weft::channel<T> c(1, {.when_full = weft::overflow::drop_oldest});
        int got = 0;
        t.thread([&] {
            for (const int n : {1, 2}) c.send(T(n));
        });
        t.thread([&] {
            if (const auto v = c.try_receive()) got = *v;
        });
        t.join_all();
        const auto rest = c.try_receive();
        model::check(c.size() == 0, "CHANNEL_BUFFER-1: at most one stays");
        model::check(got == 2 || (rest && *rest == 2), "the newest is not dropped");
        model::check(got != 2 || !rest, "in order, and each once");
    });
}

TYPED_TEST(channel, CHANNEL_CORE_9_drop_oldest_keeps_the_newest) { expect_holds(one_that_displaces<TypeParam>(two_threads)); }

TYPED_TEST(channel, CHANNEL_BUFFER_1_CHANNEL_CORE_9_two_that_displace) {
    holds(three_threads, [](model::execution& t) {
        const parties all;
        weft::channel<TypeParam> c(1, {.when_full = weft::overflow::drop_oldest});
        int got = 0;
        for (const int n : {1, 2}) t.thread([&, n] { c.send(TypeParam(n)); });
        t.thread([&] {
            if (const auto v = c.try_receive()) got = *v;
        });
        t.join_all();
        const auto rest = c.try_receive();
        model::check(c.size() == 0, "CHANNEL_BUFFER-1: at most one stays");
        model::check(got != 0 || rest, "the last one to come is not dropped");
        model::check(!rest || *rest != got, "each once");
    });
}

TYPED_TEST(channel, CHANNEL_CORE_9_sends_that_need_not_wait_tell_what_became_of_them) {
    for (const auto how : {weft::overflow::drop_newest, weft::overflow::fail, weft::overflow::back_off})
        holds(two_threads, [=](model::execution& t) {
            const parties all;
            weft::channel<TypeParam> c(1, {.when_full = how});
            int sent = 0, got = 0;
            t.thread([&] {
                for (const int n : {1, 2}) {
                    TypeParam v(n);
                    sent += c.send_for(v, weft::forever) == channel_op::done;
                }
            });
            t.thread([&] { got = c.try_receive().has_value(); });
            t.join_all();
            model::check(sent == got + static_cast<int>(c.size()), "done means received, or stored");
        });
}

TEST(channels_that_are_full, CHANNEL_BUFFER_1_breaks_when_the_oldest_stays) {
    expect_found(one_that_displaces<in_a_node>(with(two_threads, "CHANNEL_BUFFER-1")), "CHANNEL_BUFFER-1");
}

/// A value in a node whose move takes a while: others may act before it and after it.
struct slow {
    explicit slow(weft::detail::atomic<int>& steps) : steps_(&steps) {}
    slow(slow&& other) noexcept : steps_(other.steps_) { steps_->fetch_add(1, weft::detail::relaxed); }
    slow& operator=(slow&&) = default;

private:
    weft::detail::atomic<int>* steps_;
};

TEST(channels_that_are_full, CHANNEL_BUFFER_1_a_send_that_is_still_moving_costs_no_value_that_has_arrived) {
    holds(two_threads, [](model::execution& t) {
        const parties all;
        weft::detail::atomic<int> steps{0};
        weft::channel<slow> c(1, {.when_full = weft::overflow::drop_oldest});
        for (int i = 0; i < 2; ++i)
            t.thread([&] {
                c.send(slow(steps));
                model::check(c.size() == 1, "what was sent is stored, or a newer value");
            });
        t.join_all();
        model::check(c.size() == 1, "CHANNEL_BUFFER-1: one stays");
    });
}

/// A value that counts its ends.
struct counted {
    explicit counted(int& ends) : ends_(&ends) {}
    counted(counted&& other) noexcept : ends_(std::exchange(other.ends_, nullptr)) {}
    counted& operator=(counted&& other) noexcept { return std::swap(ends_, other.ends_), *this; }
    ~counted() {
        if (ends_) ++*ends_;
    }

private:
    int* ends_;
};

TEST(channels_that_are_kept, CHANNEL_CORE_7_are_closed_when_only_the_keeper_is_left_and_end_with_it) {
    holds(three_threads, [](model::execution& t) {
        const parties all;
        int ends = 0;
        std::optional<weft::channel<counted>> kept(1), a(*kept), b(*kept);
        auto& core = weft::detail::channel_access::ref<counted>(*kept).core();
        weft::detail::keep_channel(core);
        kept->send(counted(ends));
        t.thread([&] {
            model::check(weft::detail::await_abandoned(core, weft::detail::never), "it is woken when only the keeper is left");
            model::check(kept->closed(), "the channel is closed then");
            kept.reset();
        });
        t.thread([&] { a.reset(); });
        t.thread([&] { b.reset(); });
        t.join_all();
        model::check(ends == 1, "the channel has ended once");
    });
}

}  // namespace
}  // namespace litmus
