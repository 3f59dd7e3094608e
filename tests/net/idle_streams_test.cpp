// idle_streams_test.cpp - streams that wait without a fiber: each comes back once, for the right reason, and none is lost.
#include "io/idle_streams.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <vector>

#include <weft/explore.hpp>
#include <weft/net/simulated_network.hpp>
#include <weft/net/tcp.hpp>
#include <weft/weft.hpp>

#include "eventually.hpp"
#include "no_leaks.hpp"
#include "random.hpp"
#include "scale.hpp"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using detail::never;
using steady = std::chrono::steady_clock;

struct entry final : detail::idle_stream {
    entry(io::byte_stream s, detail::time_point limit, int n = 0) noexcept : idle_stream(std::move(s), limit), number(n) {}
    int number;
};

class idle_streams : public on_workers {
protected:
    idle_streams() : rt(GetParam()) {}

    /// Two connected streams: that of the server, and its peer.
    struct pair {
        tcp::stream here, peer;
    };
    static pair connected() {
        tcp::listener at({.host = "127.0.0.1", .port = 0});
        auto peer = tcp::stream::connect(at.local());
        return {at.accept(), std::move(peer)};
    }
    static std::unique_ptr<entry> asleep(tcp::stream s, detail::time_point limit = never, int number = 0) {
        return std::make_unique<entry>(std::move(s), limit, number);
    }

    watched_runtime rt;
};
WEFT_ON_1_2_4_8_WORKERS(idle_streams);

TEST_P(idle_streams, come_back_when_their_peer_says_something) {
    rt.run([] {
        detail::idle_streams<entry> all;
        auto [here, peer] = connected();
        EXPECT_TRUE(all.add(asleep(std::move(here), never, 7)));
        EXPECT_EQ(all.size(), 1u);
        auto writer = spawn([&] {
            this_fiber::sleep_for(2ms);
            peer.write_all("hello");
        });
        const auto e = all.next();
        ASSERT_TRUE(e);
        EXPECT_EQ(e->number, 7);
        EXPECT_FALSE(e->has_timed_out());
        std::array<std::byte, 10> bytes;
        EXPECT_EQ(e->stream.read_some(bytes), 5u);
        EXPECT_EQ(all.size(), 0u);
        EXPECT_EQ(all.next(), nullptr);
        writer.join();
    });
}

TEST_P(idle_streams, are_due_at_once_if_there_is_something_to_read) {
    rt.run([] {
        detail::idle_streams<entry> all;
        auto [here, peer] = connected();
        peer.write_all("early");
        here.wait_readable();
        EXPECT_TRUE(all.add(asleep(std::move(here))));
        EXPECT_TRUE(with_timeout(5s, [&] { return all.next(); }));
    });
}

TEST_P(idle_streams, come_back_when_their_peer_leaves) {
    rt.run([] {
        detail::idle_streams<entry> all;
        auto [here, peer] = connected();
        EXPECT_TRUE(all.add(asleep(std::move(here))));
        peer.close();
        const auto e = with_timeout(5s, [&] { return all.next(); });
        std::array<std::byte, 10> bytes;
        EXPECT_EQ(e->stream.read_some(bytes), 0u);
    });
}

TEST_P(idle_streams, come_back_at_their_limit) {
    rt.run([] {
        detail::idle_streams<entry> all;
        auto first = connected(), second = connected();
        const auto begin = steady::now();
        EXPECT_TRUE(all.add(asleep(std::move(first.here), begin + 20ms, 1)));
        EXPECT_FALSE(all.add(asleep(std::move(second.here), begin + 30ms, 2)));
        for (const int number : {1, 2}) {
            const auto e = all.next();
            EXPECT_EQ(e->number, number);
            EXPECT_TRUE(e->has_timed_out());
            EXPECT_GE(steady::now() - begin, number == 1 ? 20ms : 30ms);
        }
    });
}

TEST_P(idle_streams, an_entry_that_is_due_wakes_a_caller_that_waits_for_others) {
    rt.run([] {
        detail::idle_streams<entry> all;
        auto first = connected(), second = connected();
        EXPECT_TRUE(all.add(asleep(std::move(first.here), never, 1)));
        auto watcher = spawn([&] { return all.next()->number; });
        this_fiber::sleep_for(2ms);
        second.peer.write_all("x");
        second.here.wait_readable();
        EXPECT_FALSE(all.add(asleep(std::move(second.here), never, 2)));
        EXPECT_EQ(watcher.join(), 2);
    });
}

TEST_P(idle_streams, can_be_taken_back_while_nothing_happens) {
    rt.run([] {
        detail::idle_streams<entry> all;
        auto first = connected(), second = connected();
        auto a = asleep(std::move(first.here), steady::now() + 1h, 1), b = asleep(std::move(second.here), never, 2);
        auto& one = *a;
        auto& two = *b;
        EXPECT_TRUE(all.add(std::move(a)));
        EXPECT_FALSE(all.add(std::move(b)));
        const auto taken = all.take(one);
        ASSERT_EQ(taken.get(), &one);
        EXPECT_EQ(all.size(), 1u);
        first.peer.write_all("x");  // of no interest to `all` any more
        std::array<std::byte, 8> bytes;
        EXPECT_EQ(taken->stream.read_some(bytes), 1u);
        second.peer.write_all("y");
        for (std::unique_ptr<entry> again; (again = all.take(two)); this_fiber::sleep_for(1ms))  // until the event has come
            EXPECT_FALSE(all.add(std::move(again)));
        EXPECT_EQ(with_timeout(5s, [&] { return all.next(); }).get(), &two);
        EXPECT_EQ(all.take_oldest(), nullptr);
        EXPECT_EQ(all.next(), nullptr);
    });
}

TEST_P(idle_streams, the_oldest_is_taken_first_and_each_can_be_added_again) {
    rt.run([] {
        detail::idle_streams<entry> all;
        std::vector<tcp::stream> peers;
        for (int i = 0; i < 3; ++i) {
            auto p = connected();
            static_cast<void>(all.add(asleep(std::move(p.here), never, i)));
            peers.push_back(std::move(p.peer));
        }
        for (const int expected : {0, 1, 2, 0}) {
            auto e = all.take_oldest();
            ASSERT_TRUE(e);
            EXPECT_EQ(e->number, expected);
            e->set_limit(steady::now() + 1h);
            EXPECT_FALSE(all.add(std::move(e)));  // the duty of the first add() has not ended
        }
    });
}

TEST_P(idle_streams, an_empty_watch_ends_with_all) {
    rt.run([] {
        detail::idle_streams<entry> all;
        auto p = connected();
        auto e = asleep(std::move(p.here), never);
        auto& only = *e;
        EXPECT_TRUE(all.add(std::move(e)));
        auto watcher = spawn([&] { return all.next() == nullptr; });
        this_fiber::sleep_for(2ms);
        EXPECT_TRUE(all.take(only));
        all.end();
        EXPECT_TRUE(with_timeout(5s, [&] { return watcher.join(); }));
    });
}

TEST_P(idle_streams, are_returned_once_by_take_or_by_next) {
    constexpr int streams = 16;
    const int rounds = scaled(300);
    const seed seed;
    rt.run([&] {
        detail::idle_streams<entry> all;
        mutex lock;  // as a pool has one: entries are not destroyed while others look for them
        std::vector<tcp::stream> peers;
        std::vector<std::unique_ptr<entry>> held;
        for (int i = 0; i < streams; ++i) {
            auto p = connected();
            held.push_back(asleep(std::move(p.here), never, i));
            peers.push_back(std::move(p.peer));
        }
        std::atomic<int> by_take{0}, by_next{0};
        for (int round = 0; round < rounds; ++round) {
            std::vector<entry*> added;
            bool watches = false;
            for (auto& h : held) {
                added.push_back(h.get());
                watches |= all.add(std::move(h));
            }
            EXPECT_TRUE(watches);
            with_scope([&](scope& s) {
                s.spawn([&] {
                    while (auto e = all.next()) {  // until all.end(), as take() does not wake it
                        const std::lock_guard guard(lock);
                        ++by_next;
                        auto& home = held[static_cast<std::size_t>(e->number)];
                        EXPECT_FALSE(home);
                        home = std::move(e);
                    }
                });
                s.spawn([&, round] {
                    auto r = seed.of(static_cast<std::uint64_t>(2 * round));
                    for (auto& p : peers) {
                        if (below(r, 3) == 0) this_fiber::yield();
                        p.write_all("x");
                    }
                });
                s.spawn([&, round] {
                    auto r = seed.of(static_cast<std::uint64_t>(2 * round + 1));
                    for (int i = 0; i < streams; ++i) {
                        if (below(r, 3) == 0) this_fiber::yield();
                        const std::lock_guard guard(lock);
                        auto& home = held[static_cast<std::size_t>(i)];
                        if (home) continue;  // next() was first
                        home = all.take(*added[static_cast<std::size_t>(i)]);
                        by_take += home != nullptr;
                    }
                });
                while (by_take + by_next < (round + 1) * streams) this_fiber::sleep_for(100us);
                all.end();
            });
            all.clear();
            std::array<std::byte, 8> bytes;
            for (const auto& h : held) EXPECT_EQ(h->stream.read_some(bytes), 1u);
        }
        EXPECT_EQ(by_take + by_next, rounds * streams);
        std::cout << by_take << " of " << by_take + by_next << " were taken\n";
    });
}

TEST_P(idle_streams, all_are_due_at_the_end_and_after_it) {
    rt.run([] {
        detail::idle_streams<entry> all;
        std::vector<tcp::stream> peers;
        constexpr int n = 200;  // more than are claimed at once
        const auto add = [&](int number) {
            auto p = connected();
            static_cast<void>(all.add(asleep(std::move(p.here), number % 2 ? never : steady::now() + 1h, number)));
            peers.push_back(std::move(p.peer));
        };
        for (int i = 0; i < n; ++i) add(i);
        all.end();
        add(n);
        std::vector<bool> seen(n + 1);
        while (const auto e = all.next()) {
            EXPECT_FALSE(seen[static_cast<std::size_t>(e->number)]);
            EXPECT_FALSE(e->has_timed_out());
            seen[static_cast<std::size_t>(e->number)] = true;
        }
        EXPECT_EQ(std::count(seen.begin(), seen.end(), true), n + 1);
    });
}

TEST_P(idle_streams, IDLE_STREAMS_5_a_stop_ends_the_wait_and_another_caller_may_follow) {
    rt.run([] {
        detail::idle_streams<entry> all;
        auto p = connected();
        EXPECT_TRUE(all.add(asleep(std::move(p.here))));
        auto watcher = spawn([&] {
            try {
                return all.next() == nullptr;
            } catch (const cancelled&) {
                return true;
            }
        });
        this_fiber::sleep_for(2ms);
        watcher.request_stop();
        EXPECT_TRUE(watcher.join());
        auto second = connected();
        EXPECT_TRUE(all.add(asleep(std::move(second.here)))) << "nobody watches";
        p.peer.write_all("x");
        EXPECT_TRUE(all.next());
    });
}

TEST_P(idle_streams, that_are_left_are_closed) {
    rt.run([] {
        auto p = connected();
        {
            detail::idle_streams<entry> all;
            EXPECT_TRUE(all.add(asleep(std::move(p.here))));
        }
        std::array<std::byte, 10> bytes;
        EXPECT_EQ(p.peer.read_some(bytes), 0u);
    });
}

TEST_P(idle_streams, IDLE_STREAMS_3_stress_each_comes_back_once_whatever_ends_its_wait) {
    rt.run([] {
        const seed seed;
        constexpr int streams = 40;
        const int rounds = scaled(60);
        detail::idle_streams<entry> all;
        std::vector<tcp::stream> peers;
        std::vector<io::byte_stream> held;
        for (int i = 0; i < streams; ++i) {
            auto p = connected();
            held.push_back(std::move(p.here));
            peers.push_back(std::move(p.peer));
        }
        std::atomic<int> returned{0}, late{0};
        auto random = seed.of(0);
        for (int round = 0; round < rounds; ++round) {
            const std::chrono::nanoseconds life = round % 2 ? up_to(random, 300us) : std::chrono::nanoseconds(1h);
            const auto next_of_all = [&] {
                while (const auto e = all.next()) {
                    late += e->has_timed_out();
                    std::array<std::byte, 8> bytes;
                    EXPECT_EQ(e->stream.read_some(bytes), 1u);
                    held[static_cast<std::size_t>(e->number)] = std::move(e->stream);
                    ++returned;
                }
            };
            with_scope([&](scope& s) {
                s.spawn([&, round] {  // the peers, each in its turn
                    auto r = seed.of(static_cast<std::uint64_t>(1 + round));
                    for (auto& p : peers) {
                        if (below(r, 4) == 0) this_fiber::yield();
                        p.write_all("x");
                    }
                });
                for (int i = 0; i < streams; ++i) {
                    const auto limit = steady::now() + life;
                    auto stream = std::move(held[static_cast<std::size_t>(i)]);
                    s.spawn([&, i, limit, stream = std::move(stream)]() mutable {
                        if (all.add(std::make_unique<entry>(std::move(stream), limit, i))) next_of_all();
                    });
                }
            });
        }
        EXPECT_EQ(returned, rounds * streams);
        EXPECT_EQ(all.size(), 0u);
        std::cout << late << " of " << returned << " had timed out\n";
    });
}

TEST(simulated_idle_streams, come_back_when_bytes_have_arrived) {
    explore(100, [] {
        net::simulated_network net({.least_delay = 1ms, .most_delay = 5ms});
        auto at = net.listen({.host = "bank", .port = 80});
        auto peer = net.connect("shop", {.host = "bank", .port = 80});
        detail::idle_streams<entry> all;
        if (!all.add(std::make_unique<entry>(at.accept(), never))) throw std::logic_error("who else");
        auto writer = spawn([&] {
            this_fiber::sleep_for(3ms);
            io::write_all(peer, "x");
        });
        const auto e = all.next();
        std::array<std::byte, 8> bytes;
        if (!e || e->has_timed_out() || e->stream.read_some(bytes) != 1) throw std::logic_error("not the byte");
        if (all.next()) throw std::logic_error("one too many");
        writer.join();
    });
}

}  // namespace
}  // namespace weft::test
