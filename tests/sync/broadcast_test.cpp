// broadcast_test.cpp - each subscriber gets each value, at its own pace and by its own rule for values without room.
#include <weft/broadcast.hpp>

#include <weft/deadline.hpp>

#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "sync/crew.hpp"

namespace {

using weft::broadcast;
using weft::overflow;

class broadcast_contract : public testing::TestWithParam<setting> {};

TEST_P(broadcast_contract, seed_Q3_Q10_every_subscriber_gets_every_value) {
    const auto who = GetParam();
    constexpr int n = 500, subscribers = 3;
    const broadcast<std::string> news;
    crew all(who.workers);
    for (int s = 0; s < subscribers; ++s)
        all.start(who.right, [&, rx = news.subscribe({.capacity = s == 0 ? 0u : 4u})] {
            int next = 0;
            for (const std::string& v : rx) EXPECT_EQ(v, std::to_string(next++));
            EXPECT_EQ(next, n);
        });
    all.start(who.left, [&] {
        for (int i = 0; i < n; ++i) news.send(std::to_string(i));
        news.close();
    });
    all.finish();
}

TEST_P(broadcast_contract, seed_Q3_Q10_subscribers_come_and_go_stress) {
    const auto who = GetParam();
    const broadcast<int> news;
    std::atomic<bool> done{false};
    crew all(who.workers);
    for (int s = 0; s < 3; ++s)
        all.start(who.right, [&] {
            while (!done) {
                const auto rx = news.subscribe({.capacity = 1});  // the sender waits for us, until we go
                int last = -1;
                for (int i = 0; i < 5 && !done; ++i) {
                    int v = 0;
                    if (rx.receive_for(v, 1ms) != weft::channel_op::done) break;
                    EXPECT_LT(last, v);
                    last = v;
                }
            }
        });
    all.start(who.left, [&] {
        for (int i = 0; i < 1'000; ++i) {
            news.send(i);
            if (i % 16 == 0) weft::this_fiber::yield();
        }
        done = true;
    });
    all.finish();
}

INSTANTIATE_TEST_SUITE_P(all, broadcast_contract, testing::ValuesIn(all_settings()),
                         [](const auto& p) { return name_of(p.param); });

std::vector<int> drain(const weft::receiver<int>& from) {
    std::vector<int> all;
    while (const auto v = from.try_receive()) all.push_back(*v);
    return all;
}

TEST(broadcast, seed_Q3_each_subscriber_has_its_own_overflow_policy) {
    const broadcast<int> news;
    const auto oldest = news.subscribe({.capacity = 2, .overflow = overflow::drop_oldest});
    const auto newest = news.subscribe({.capacity = 2, .overflow = overflow::drop_newest});
    const auto fails = news.subscribe({.capacity = 3, .overflow = overflow::fail});
    for (int i = 1; i <= 3; ++i) news.send(i);
    EXPECT_THROW(news.send(4), std::system_error);
    EXPECT_EQ(drain(oldest), (std::vector{3, 4}));
    EXPECT_EQ(drain(newest), (std::vector{1, 2}));
    EXPECT_EQ(drain(fails), (std::vector{1, 2, 3}));
    EXPECT_THROW(static_cast<void>(news.subscribe({.capacity = 0, .overflow = overflow::drop_oldest})), std::invalid_argument);
}

TEST(broadcast, who_comes_later_misses_what_was_sent_before) {
    const broadcast<int> news;
    news.send(1);
    const auto rx = news.subscribe();
    news.send(2);
    EXPECT_EQ(drain(rx), std::vector{2});
}

TEST(broadcast, rule_3_who_goes_is_forgotten) {
    const broadcast<int> news;
    auto a = std::make_unique<weft::receiver<int>>(news.subscribe());
    const auto same = std::make_unique<weft::receiver<int>>(*a);
    const auto b = news.subscribe();
    a.reset();
    EXPECT_EQ(news.size(), 2u);
    b.close();
    EXPECT_EQ(news.size(), 1u);
    news.send(1);
    EXPECT_EQ(same->receive(), 1);
}

TEST(broadcast, rule_3_a_sender_that_waits_for_who_goes_goes_on) {
    const broadcast<int> news;
    auto rx = std::make_unique<weft::receiver<int>>(news.subscribe({.capacity = 1}));
    crew all(1);
    all.start(party::fiber, [&] {
        news.send(1);
        news.send(2);
    });
    ASSERT_TRUE(eventually_wait_for(all.runtime(), "channel send", 1));
    rx.reset();
    all.finish();
    EXPECT_EQ(news.size(), 0u);
}

TEST(broadcast, its_end_ends_the_receivers_once_drained) {
    auto news = std::make_unique<broadcast<int>>();
    const auto same = *news;
    const auto rx = news->subscribe();
    news->send(1);
    news.reset();
    same.send(2);
    same.close();
    same.close();
    EXPECT_TRUE(same.closed());
    EXPECT_EQ(drain(rx), (std::vector{1, 2}));
    EXPECT_EQ(rx.receive(), std::nullopt);
    EXPECT_THROW(same.send(3), weft::channel_closed);
    EXPECT_THROW(static_cast<void>(same.subscribe()), weft::channel_closed);
    EXPECT_EQ(same.size(), 0u);
    std::optional<weft::receiver<int>> left;
    {
        const broadcast<int> gone;
        left = gone.subscribe();
    }
    EXPECT_EQ(left->receive(), std::nullopt);
}

TEST(broadcast, a_send_that_waits_is_interrupted) {
    const broadcast<int> news;
    const auto rx = news.subscribe({.capacity = 1});
    news.send(1);
    EXPECT_THROW(weft::with_timeout(1ms, [&] { news.send(2); }), weft::timeout_error);
    EXPECT_EQ(drain(rx), std::vector{1});
}

TEST(broadcast, the_number_of_subscribers_can_be_asked_at_any_moment) {
    const broadcast<int> news;
    static_assert(noexcept(news.size()));
    EXPECT_EQ(news.size(), 0u);
    const auto first = news.subscribe();
    {
        const auto second = news.subscribe();
        EXPECT_EQ(news.size(), 2u);
    }
    EXPECT_EQ(news.size(), 1u);
    first.close();
    EXPECT_EQ(news.size(), 0u);
    const auto third = news.subscribe();
    std::jthread closes([same = news] { same.close(); });
    while (news.size() != 0) std::this_thread::yield();
    EXPECT_EQ(news.size(), 0u);
}

}  // namespace
