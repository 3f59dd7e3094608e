// channel_model.cpp - the core of all channels as it is shipped, under every schedule: each value is received once, in order, and those
// who wait when it is closed go on.
#include <weft/channel.hpp>
#include <weft/stop.hpp>

#include <optional>

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

}  // namespace
}  // namespace litmus
