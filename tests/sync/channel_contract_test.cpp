// channel_contract_test.cpp - every capacity between fibers, between threads, and across: all values arrive, once, in order.
#include <weft/channel.hpp>

#include <array>
#include <cstdio>
#include <random>
#include <tuple>

#include "sync/crew.hpp"

namespace {

using weft::channel;
using parameters = std::tuple<setting, std::size_t>;

class channel_contract : public testing::TestWithParam<parameters> {
protected:
    setting who() const { return std::get<0>(GetParam()); }
    std::size_t capacity() const { return std::get<1>(GetParam()); }
    crew all_{who().workers};
};

TEST_P(channel_contract, seed_Q10_values_of_one_sender_arrive_in_order) {
    constexpr int n = 2'000;
    channel<int> c(capacity());
    all_.start(who().left, [&] {
        for (int i = 0; i < n; ++i) c.send(i);
        c.close();
    });
    int received = 0;
    all_.start(who().right, [&] {
        for (int v : c) EXPECT_EQ(v, received++);
    });
    all_.finish();
    EXPECT_EQ(received, n);
}

template <class T, class Make, class Number>
void all_to_all(crew& all, setting who, std::size_t capacity, Make make, Number number) {
    constexpr int senders = 3, receivers = 3, each = 400;
    channel<T> c(capacity);
    std::array<std::vector<int>, receivers> got;
    auto first_sender = std::make_unique<weft::sender<T>>(c.tx());  // else a fast sender closes before the next is made
    for (int s = 0; s < senders; ++s)
        all.start(who.left, [&, s, tx = c.tx()] {
            for (int i = 0; i < each; ++i) tx.send(make(s * each + i));
        });
    for (auto& mine : got)
        all.start(who.right, [&, rx = c.rx()] {
            for (auto&& v : rx) mine.push_back(number(v));
        });
    first_sender.reset();
    all.finish();
    std::vector<int> seen(senders * each);
    for (const auto& mine : got) {
        std::array<int, senders> last;
        last.fill(-1);
        for (const int v : mine) {
            ++seen[static_cast<std::size_t>(v)];
            auto& newest = last[static_cast<std::size_t>(v / each)];
            EXPECT_LT(newest, v);
            newest = v;
        }
    }
    EXPECT_EQ(seen, std::vector<int>(senders * each, 1));
}

TEST_P(channel_contract, seed_Q10_each_value_is_received_once) {
    all_to_all<int>(
        all_, who(), capacity(), [](int i) { return i; }, [](int v) { return v; });
}

TEST_P(channel_contract, seed_Q10_each_string_is_received_once) {
    all_to_all<std::string>(
        all_, who(), capacity(), [](int i) { return std::string(40, 'x') + std::to_string(i); },
        [](const std::string& v) { return std::stoi(v.substr(40)); });
}

TEST_P(channel_contract, seed_Q10_each_move_only_value_is_received_once) {
    all_to_all<std::unique_ptr<int>>(
        all_, who(), capacity(), [](int i) { return std::make_unique<int>(i); },
        [](const std::unique_ptr<int>& v) { return *v; });
}

TEST_P(channel_contract, seed_Q10_ping_pong) {
    channel<int> there(capacity()), back(capacity());
    all_.start(who().left, [&] {
        for (int i = 0; i < 300; ++i) {
            there.send(i);
            EXPECT_EQ(back.receive(), i + 1);
        }
        there.close();
    });
    all_.start(who().right, [&] {
        for (int v : there) back.send(v + 1);
    });
    all_.finish();
}

TEST_P(channel_contract, seed_Q10_close_reaches_everybody) {
    channel<int> c(capacity());
    std::atomic<int> sent{0}, received{0};
    for (int i = 0; i < 3; ++i) {
        all_.start(who().left, [&] {
            try {
                for (int n = 0; n < 1'000'000; ++n) {
                    c.send(1);
                    ++sent;
                }
            } catch (const weft::channel_closed&) {}
        });
        all_.start(who().right, [&] {
            for (int v : c) received += v;
        });
    }
    std::this_thread::sleep_for(3ms);
    c.close();
    all_.finish();
    EXPECT_EQ(sent, received);
}

TEST_P(channel_contract, seed_Q10_timeouts_stress_conserve_values) {
    const auto seed = std::random_device{}();
    std::printf("seed %u\n", seed);
    channel<int> c(capacity());
    std::atomic<long> sent{0}, received{0};
    std::atomic<int> senders{3};
    for (unsigned i = 0; i < 3; ++i) {
        all_.start(who().left, [&, i] {
            std::minstd_rand random(seed + i);
            for (int n = 1; n <= 300; ++n) {
                if (c.send_for(n, std::chrono::microseconds(random() % 100)) == weft::channel_op::done) sent += n;
            }
            if (--senders == 0) c.close();
        });
        all_.start(who().right, [&, i] {
            std::minstd_rand random(seed + 100 + i);
            for (;;) {
                int v = 0;
                const auto r = c.receive_for(v, std::chrono::microseconds(random() % 100));
                if (r == weft::channel_op::closed) return;
                if (r == weft::channel_op::done) received += v;
            }
        });
    }
    all_.finish();
    EXPECT_EQ(sent, received);
    EXPECT_EQ(c.size(), 0u);
}

std::string name_of_parameters(const testing::TestParamInfo<parameters>& info) {
    const auto capacity = std::get<1>(info.param);
    return name_of(std::get<0>(info.param)) + "_" + (capacity == weft::unbounded ? "unbounded" : std::to_string(capacity));
}

INSTANTIATE_TEST_SUITE_P(all, channel_contract,
                         testing::Combine(testing::ValuesIn(all_settings()),
                                          testing::Values(std::size_t{0}, std::size_t{1}, std::size_t{16}, weft::unbounded)),
                         name_of_parameters);

}  // namespace
