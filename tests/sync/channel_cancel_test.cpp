// channel_cancel_test.cpp - stop and deadlines at a channel's park points: no value is lost and none is made up.
#include <weft/channel.hpp>
#include <weft/deadline.hpp>

#include <random>

#include "support/no_leaks.hpp"
#include "sync/crew.hpp"

namespace {

using weft::channel;

TEST(channel_cancel, a_stopped_receive_takes_nothing) {
    weft::runtime rt({.workers = 2});
    channel<std::string> c;
    auto f = rt.spawn([&] { c.receive(); });
    ASSERT_TRUE(eventually_wait_for(rt, "channel receive", 1));
    f.request_stop();
    EXPECT_THROW(f.join(), weft::fiber_cancelled);
    EXPECT_FALSE(c.try_send("nobody waits any more"));
}

TEST(channel_cancel, a_stopped_send_sends_nothing) {
    for (const std::size_t capacity : {std::size_t{0}, std::size_t{1}}) {
        weft::runtime rt({.workers = 2});
        channel<std::unique_ptr<int>> c(capacity);
        if (capacity) c.send(nullptr);
        auto f = rt.spawn([&] {
            auto v = std::make_unique<int>(3);
            try {
                c.send_for(v, 1h);
            } catch (const weft::cancelled&) { return v != nullptr; }
            return false;
        });
        ASSERT_TRUE(eventually_wait_for(rt, "channel send", 1));
        f.request_stop();
        EXPECT_TRUE(f.join());
        for (std::size_t i = 0; i < capacity; ++i) EXPECT_EQ(c.try_receive().value(), nullptr);
        EXPECT_FALSE(c.try_receive());
    }
}

TEST(channel_cancel, stop_is_seen_on_entry_even_if_the_operation_need_not_wait) {
    weft::runtime rt(weft::test::one_fiber_at_a_time);
    channel<int> c(2);
    c.send(1);
    std::atomic<bool> go{false};
    auto f = rt.spawn([&] {
        while (!go) {}
        EXPECT_THROW(c.receive(), weft::cancelled);
        EXPECT_THROW(c.send(2), weft::cancelled);
        EXPECT_EQ(c.try_receive(), 1);  // never waits, so it is no park point
        EXPECT_TRUE(c.try_send(2));
    });
    f.request_stop();
    go = true;
    f.join();
    EXPECT_EQ(c.size(), 1u);
}

TEST(channel_cancel, a_shielded_receive_is_not_stopped) {
    weft::runtime rt({.workers = 2});
    channel<int> c;
    auto f = rt.spawn([&] {
        const weft::shield no_cancel;
        return c.receive();
    });
    ASSERT_TRUE(eventually_wait_for(rt, "channel receive", 1));
    f.request_stop();
    std::this_thread::sleep_for(1ms);
    EXPECT_TRUE(c.try_send(8));
    EXPECT_EQ(f.join(), 8);
}

TEST(channel_cancel, a_deadline_around_a_receive_becomes_timeout_error) {
    channel<int> c;
    EXPECT_THROW(weft::with_timeout(2ms, [&] { return c.receive(); }), weft::timeout_error);
    weft::run([&] {
        EXPECT_THROW(weft::with_timeout(2ms, [&] { return c.receive(); }), weft::timeout_error);
        EXPECT_THROW(weft::with_timeout(2ms, [&] { c.send(1); }), weft::timeout_error);
    });
    EXPECT_EQ(c.try_receive(), std::nullopt);
}

class channel_cancel_stress : public testing::TestWithParam<std::size_t> {};

TEST_P(channel_cancel_stress, stops_conserve_values) {
    const auto seed = std::random_device{}();
    std::printf("seed %u\n", seed);
    std::minstd_rand random(seed);
    for (const unsigned workers : {1u, 2u, 4u, 8u}) {
        channel<std::string> c(GetParam());
        std::atomic<long> sent{0}, received{0};
        weft::runtime rt({.workers = workers});
        const auto end = std::chrono::steady_clock::now() + 300ms;
        while (std::chrono::steady_clock::now() < end) {
            std::vector<weft::fiber<void>> crowd;
            for (int i = 0; i < 8; ++i) {
                crowd.push_back(rt.spawn([&] {
                    for (int n = 0; n < 20; ++n) {
                        c.send("x");
                        ++sent;
                    }
                }));
                crowd.push_back(rt.spawn([&] {
                    for (int n = 0; n < 20; ++n)
                        if (c.receive()) ++received;
                }));
            }
            stop_in_any_order(crowd, random);
        }
        while (c.try_receive()) ++received;
        EXPECT_EQ(sent, received) << workers << " workers, seed " << seed;
    }
}

INSTANTIATE_TEST_SUITE_P(capacities, channel_cancel_stress, testing::Values(std::size_t{0}, std::size_t{2}, weft::unbounded));

}  // namespace
