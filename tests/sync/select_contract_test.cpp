// select_contract_test.cpp - selects on both sides of many channels, between fibers and threads: each value arrives once.
#include <weft/select.hpp>

#include <cstdio>
#include <random>
#include <tuple>

#include "sync/crew.hpp"

namespace {

using weft::channel;
using weft::on_receive;
using weft::on_send;
using weft::on_timeout;
using weft::select;
using parameters = std::tuple<setting, std::size_t>;

class select_contract : public testing::TestWithParam<parameters> {
protected:
    setting who() const { return std::get<0>(GetParam()); }
    std::size_t capacity() const { return std::get<1>(GetParam()); }
};

TEST_P(select_contract, seed_Q4_Q10_senders_and_receivers_select) {
    constexpr int parties = 3, each = 300;
    const channel<int> a(capacity()), b(capacity());
    const channel<std::string> c(capacity());
    std::atomic<long> sent{0}, received{0};
    std::atomic<int> count{0};
    crew all(who().workers);
    for (int p = 0; p < parties; ++p) {
        all.start(who().left, [&, p] {  // opposite orders: what deadlocks if locks are taken in order of appearance
            for (int i = 1; i <= each; ++i) {
                if (p % 2)
                    select(on_send(a, i), on_send(b, i), on_send(c, std::to_string(i)));
                else
                    select(on_send(c, std::to_string(i)), on_send(b, i), on_send(a, i));
                sent += i;
            }
        });
        all.start(who().right, [&, p] {
            const auto number = [&](std::optional<int> v) { received += v.value(); };
            const auto text = [&](const std::optional<std::string>& v) { received += std::stoi(v.value()); };
            for (int i = 0; i < each; ++i) {
                if (p % 2)
                    select(on_receive(b, number), on_receive(c, text), on_receive(a, number));
                else
                    select(on_receive(a, number), on_receive(b, number), on_receive(c, text));
                ++count;
            }
        });
    }
    all.finish();
    EXPECT_EQ(count, parties * each);
    EXPECT_EQ(sent, received);
}

TEST_P(select_contract, seed_Q4_Q10_timeouts_stress_conserve_values) {
    const auto seed = std::random_device{}();
    std::printf("seed %u\n", seed);
    constexpr int parties = 3, each = 200;
    const channel<int> a(capacity()), b(capacity());
    std::atomic<long> sent{0}, received{0};
    std::atomic<int> senders{parties};
    crew all(who().workers);
    for (unsigned p = 0; p < parties; ++p) {
        all.start(who().left, [&, p] {
            std::minstd_rand random(seed + p);
            for (int i = 1; i <= each; ++i)
                select(on_send(a, i, [&] { sent += i; }), on_send(b, i, [&] { sent += i; }),
                       on_timeout(std::chrono::microseconds(random() % 100)));
            if (--senders == 0) {
                a.close();
                b.close();
            }
        });
        all.start(who().right, [&, p] {
            std::minstd_rand random(seed + 100 + p);
            bool a_open = true, b_open = true;
            while (a_open || b_open)
                select(weft::when(a_open, on_receive(a, [&](auto v) { v ? void(received += *v) : void(a_open = false); })),
                       weft::when(b_open, on_receive(b, [&](auto v) { v ? void(received += *v) : void(b_open = false); })),
                       on_timeout(std::chrono::microseconds(random() % 100)));
        });
    }
    all.finish();
    EXPECT_EQ(sent, received);
}

std::string name_of_parameters(const testing::TestParamInfo<parameters>& info) {
    const auto capacity = std::get<1>(info.param);
    return name_of(std::get<0>(info.param)) + "_" + (capacity == weft::unbounded ? "unbounded" : std::to_string(capacity));
}

INSTANTIATE_TEST_SUITE_P(all, select_contract,
                         testing::Combine(testing::ValuesIn(all_settings()),
                                          testing::Values(std::size_t{0}, std::size_t{1}, weft::unbounded)),
                         name_of_parameters);

TEST(select_stress, stops_conserve_values) {
    const auto seed = std::random_device{}();
    std::printf("seed %u\n", seed);
    std::minstd_rand random(seed);
    for (const unsigned workers : {1u, 2u, 4u, 8u}) {
        const channel<std::string> a, b(1);
        std::atomic<long> sent{0}, received{0};
        weft::runtime rt({.workers = workers});
        const auto end = std::chrono::steady_clock::now() + 300ms;
        while (std::chrono::steady_clock::now() < end) {
            std::vector<weft::fiber<void>> crowd;
            for (int i = 0; i < 6; ++i) {
                crowd.push_back(rt.spawn([&] {
                    const auto count = [&] { ++sent; };
                    for (int n = 0; n < 20; ++n) select(on_send(a, "x", count), on_send(b, "x", count));
                }));
                crowd.push_back(rt.spawn([&] {
                    const auto count = [&](auto&&) { ++received; };
                    for (int n = 0; n < 20; ++n) select(on_receive(a, count), on_receive(b, count));
                }));
            }
            stop_in_any_order(crowd, random);
        }
        while (b.try_receive()) ++received;
        EXPECT_EQ(sent, received) << workers << " workers, seed " << seed;
    }
}

}  // namespace
