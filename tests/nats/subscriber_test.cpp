// subscriber_test.cpp - the messages of one subscription: each is received once, in order, within the bounds.
#include "nats/subscriber.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <weft/fiber.hpp>
#include <weft/runtime.hpp>

namespace {

using namespace weft::detail::nats;
namespace nats = weft::nats;

arrival message_of(std::string_view payload) {
    arrival a;
    a.subject = "s";
    a.payload = payload;
    return a;
}

struct fixture {
    explicit fixture(const nats::subscribe_options& how) : of(std::make_unique<subscriber>(2, "s", how, spares)) {}

    std::list<kept_message> spares;
    std::unique_ptr<subscriber> of;
};

/// What is received while some fibers receive and one sends `count` messages, each by one fiber.
std::vector<std::vector<int>> received_by(int fibers, int count, fixture& f) {
    std::vector<std::vector<int>> all(static_cast<std::size_t>(fibers));
    weft::runtime rt({.workers = 4});
    rt.run([&] {
        std::vector<weft::fiber<void>> receivers;
        for (auto& mine : all)
            receivers.push_back(weft::spawn([&mine, from = f.of->messages] {
                for (const auto& m : from) mine.push_back(std::stoi(m.payload.substr(20)));
            }));
        std::minstd_rand chance(1);
        for (int i = 0; i < count; ++i) {
            f.of->deliver(message_of("longer than in place" + std::to_string(i)));
            if (chance() % 16 == 0) f.of->announce();
            if (chance() % 64 == 0) weft::this_fiber::yield();
        }
        f.of->announce();
        f.of->messages.close();
        for (auto& r : receivers) r.join();
    });
    return all;
}

// A capacity beyond 256 KiB of tokens is a list of nodes in the channel, another is a ring.
TEST(nats_subscriber, NATS_SUBSCRIBER_1_each_message_is_delivered_once_and_in_order) {
    constexpr int count = 5000;
    for (const std::size_t capacity : {std::size_t{count}, std::size_t{1'000'000}})
        for (const int fibers : {1, 4}) {
            fixture f({.capacity = capacity});
            std::vector<int> seen(count);
            for (const auto& mine : received_by(fibers, count, f)) {
                EXPECT_TRUE(std::ranges::is_sorted(mine, std::less_equal<>())) << capacity;
                for (const int i : mine) ++seen.at(static_cast<std::size_t>(i));
            }
            EXPECT_EQ(std::ranges::count(seen, 1), count) << capacity << ' ' << fibers;
            EXPECT_EQ(f.of->lost, 0u);
        }
}

TEST(nats_subscriber, what_is_not_received_was_lost_and_is_counted) {
    constexpr int count = 5000;
    for (const auto when_full : {weft::overflow::drop_oldest, weft::overflow::drop_newest}) {
        fixture f({.capacity = 8, .when_full = when_full});
        std::size_t received = 0;
        for (const auto& mine : received_by(3, count, f)) {
            EXPECT_TRUE(std::ranges::is_sorted(mine, std::less_equal<>()));
            received += mine.size();
        }
        EXPECT_EQ(received + f.of->lost, std::size_t{count});
    }
}

/// Against a deque, with messages of all lengths, and places that are used again.
TEST(nats_subscriber, NATS_SUBSCRIBER_2_a_place_is_used_again_when_its_message_was_taken) {
    std::minstd_rand chance(7);
    for (const auto when_full : {weft::overflow::drop_oldest, weft::overflow::drop_newest}) {
        constexpr std::size_t capacity = 200, most_bytes = 4000;
        fixture f({.capacity = capacity, .most_bytes = most_bytes, .when_full = when_full});
        std::deque<std::string> expected;
        std::size_t bytes = 0, lost = 0;
        const auto forget = [&] {
            bytes -= expected.front().size();
            expected.pop_front();
        };
        for (int i = 0; i < 10'000; ++i) {
            if (const auto what = chance() % 8; what < 5) {
                const std::string text(chance() % (what == 0 ? 400 : 40), static_cast<char>('a' + i % 26));
                const auto full = [&] {
                    return expected.size() >= capacity || (bytes + text.size() > most_bytes && !expected.empty());
                };
                f.of->deliver(message_of(text));
                const bool kept = when_full == weft::overflow::drop_oldest || !full();
                for (; when_full == weft::overflow::drop_oldest && full(); ++lost) forget();
                if (kept) {
                    expected.push_back(text);
                    bytes += text.size();
                } else {
                    ++lost;
                }
            } else {
                f.of->announce();
                ASSERT_EQ(f.of->messages.size(), expected.size());
                for (auto n = chance() % (i % 2000 < 1000 ? 3 : 300); n != 0 && !expected.empty(); --n) {
                    const auto m = f.of->messages.try_receive();
                    ASSERT_TRUE(m);
                    ASSERT_EQ(m->payload, expected.front());
                    forget();
                }
            }
            ASSERT_EQ(f.of->lost, lost) << i;
        }
        EXPECT_GT(lost, 100u);
        EXPECT_LE(f.spares.size(), 1024u);
    }
}

TEST(nats_subscriber, NATS_SUBSCRIBER_3_a_receiver_may_outlive_the_subscription) {
    auto f = std::make_unique<fixture>(nats::subscribe_options{});
    f->of->deliver(message_of("one of those that stay, and are longer than a string holds in place"));
    f->of->deliver(message_of("two"));
    f->of->deliver(message_of("three"));
    f->of->announce();
    const auto kept = f->of->messages;
    f.reset();
    EXPECT_EQ(kept.receive()->payload, "one of those that stay, and are longer than a string holds in place");
    EXPECT_EQ(kept.receive()->payload, "two");
}

}  // namespace
