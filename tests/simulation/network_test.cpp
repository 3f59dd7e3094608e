// network_test.cpp - hosts in one process: what is sent arrives as a network would have it, in virtual time.
#include <gtest/gtest.h>

#include <weft/explore.hpp>
#include <weft/net/simulated_network.hpp>
#include <weft/weft.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>

using namespace std::chrono_literals;
using weft::net::endpoint;
using weft::net::network_faults;
using weft::net::simulated_network;
using weft::net::simulated_stream;

namespace {

const endpoint door{.host = "server", .port = 7};

std::string read_to_end(simulated_stream& s) {
    std::string all;
    std::array<std::byte, 100> buffer;
    while (const auto n = s.read_some(buffer)) all.append(reinterpret_cast<const char*>(buffer.data()), n);
    return all;
}

void echo(simulated_stream& s) {
    std::array<std::byte, 16> buffer;
    while (const auto n = s.read_some(buffer)) weft::io::write_all(s, std::span<const std::byte>(buffer).first(n));
}

weft::runtime_options seeded(std::uint64_t seed) { return {.simulate = weft::simulation{.seed = seed}}; }

std::string text_of(const std::vector<std::byte>& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

std::errc refusal(auto&& f) {
    try {
        f();
    } catch (const std::system_error& e) {
        for (const auto why : {std::errc::connection_refused, std::errc::connection_reset, std::errc::address_in_use,
                               std::errc::broken_pipe, std::errc::bad_file_descriptor})
            if (e.code() == why) return why;
    }
    return {};
}

}  // namespace

TEST(simulated_network, bytes_arrive_in_order_and_after_their_delay) {
    weft::explore(50, [] {
        simulated_network net({.least_delay = 5ms, .most_delay = 50ms, .split_one_in = 2});
        auto listener = net.listen(door);
        const auto from = weft::now();
        weft::with_scope([&](weft::scope& s) {
            s.spawn([&] {
                auto peer = listener.accept();
                echo(peer);
            });
            auto stream = net.connect("client", door);
            std::string sent;
            for (int i = 0; i < 50; ++i) sent += "line " + std::to_string(i) + '\n';
            weft::io::write_all(stream, sent);
            stream.shutdown_send();
            if (read_to_end(stream) != sent) throw std::runtime_error("not what was sent");
        });
        const auto took = weft::now() - from;
        if (took < 20ms || took > 1s) throw std::runtime_error("two ways there and back take 20 to 200 ms");
    });
}

TEST(simulated_network, who_is_not_there_refuses) {
    weft::run(
        [] {
            simulated_network net;
            EXPECT_EQ(refusal([&] { net.connect("client", door); }), std::errc::connection_refused);
            auto listener = net.listen(door);
            EXPECT_EQ(refusal([&] { static_cast<void>(net.listen(door)); }), std::errc::address_in_use);
            listener.close();
            EXPECT_EQ(refusal([&] { listener.accept(); }), std::errc::bad_file_descriptor);
            EXPECT_EQ(refusal([&] { net.connect("client", door); }), std::errc::connection_refused);
            auto again = net.listen(door);
            auto stream = net.connect("client", door);
            again.close();  // with one that nobody has accepted
            std::array<std::byte, 1> one;
            EXPECT_EQ(refusal([&] { stream.read_some(one); }), std::errc::connection_reset);
        },
        seeded(1));
}

TEST(simulated_network, a_closed_peer_is_a_broken_pipe) {
    weft::run(
        [] {
            simulated_network net;
            auto listener = net.listen(door);
            auto stream = net.connect("client", door);
            listener.accept().close();
            EXPECT_EQ(read_to_end(stream), "");
            EXPECT_EQ(refusal([&] { stream.write_some("x"); }), std::errc::broken_pipe);
            stream.close();
            EXPECT_FALSE(stream.is_open());
            std::error_code error;
            EXPECT_EQ(stream.write_some(std::as_bytes(std::span("x")), error), 0u);
            EXPECT_EQ(error, std::errc::bad_file_descriptor);
        },
        seeded(1));
}

TEST(simulated_network, a_cut_holds_streams_until_it_is_healed) {
    weft::run(
        [] {
            simulated_network net;
            auto listener = net.listen(door);
            auto stream = net.connect("client", door);
            auto peer = listener.accept();
            net.cut("server", "client");
            weft::io::write_all(stream, "hello");
            std::array<std::byte, 5> five;
            EXPECT_THROW(weft::with_timeout(1h, [&] { weft::io::read_exact(peer, five); }), weft::timeout_error);
            EXPECT_THROW(weft::with_timeout(1h, [&] { net.connect("client", door); }), weft::timeout_error);
            auto other = net.connect("another", door);  // is not cut off
            net.heal("client", "server");
            weft::io::read_exact(peer, five);
            EXPECT_EQ(std::string(reinterpret_cast<const char*>(five.data()), 5), "hello");
        },
        seeded(1));
}

TEST(simulated_network, writes_wait_while_much_is_under_way) {
    weft::run(
        [] {
            simulated_network net;
            auto listener = net.listen(door);
            auto stream = net.connect("client", door);
            auto peer = listener.accept();
            const std::string much(200'000, 'x');
            EXPECT_THROW(weft::with_timeout(1s, [&] { weft::io::write_all(stream, much); }), weft::timeout_error);
            stream.shutdown_send();
            EXPECT_EQ(read_to_end(peer).size(), 65'536u);
        },
        seeded(1));
}

TEST(simulated_network, a_reset_reaches_both_ends) {
    weft::run(
        [] {
            simulated_network net;
            auto listener = net.listen(door);
            auto stream = net.connect("client", door);
            auto peer = listener.accept();
            net.set_faults({.reset_one_in = 1});
            EXPECT_EQ(refusal([&] { stream.write_some("x"); }), std::errc::connection_reset);
            EXPECT_EQ(refusal([&] { read_to_end(peer); }), std::errc::connection_reset);
        },
        seeded(1));
}

TEST(simulated_network, streams_are_cases_of_a_select) {
    weft::explore(100, [] {
        simulated_network net({.least_delay = 1ms, .most_delay = 30ms, .split_one_in = 3});
        auto listener = net.listen(door);
        weft::with_scope([&](weft::scope& s) {
            for (const char* text : {"to be or not", "that is the question"})
                s.spawn([&net, text] {
                    auto stream = net.connect("client", door);
                    for (const char* c = text; *c; ++c) {
                        weft::io::write_all(stream, std::string_view(c, 1));
                        weft::this_fiber::sleep_for(3ms);
                    }
                });
            auto one = listener.accept(), other = listener.accept();
            std::string from_one, from_other;
            int open = 2;
            const auto take = [&](simulated_stream& from, std::string& text) {
                std::array<std::byte, 4> some;
                const auto before = weft::now();
                const auto n = from.read_some(some);
                if (weft::now() - before > 500us) throw std::runtime_error("it was not ready");
                if (n == 0) --open, from.close();
                text.append(reinterpret_cast<const char*>(some.data()), n);
            };
            while (open > 0)
                weft::select(weft::when(one.is_open(), weft::on_readable(one, [&] { take(one, from_one); })),
                             weft::when(other.is_open(), weft::on_readable(other, [&] { take(other, from_other); })),
                             weft::on_timeout(1s, [] { throw std::runtime_error("nothing for a second"); }));
            if (from_one.size() + from_other.size() != 32) throw std::runtime_error("not what was sent");
        });
    });
}

TEST(simulated_network, datagrams_are_lost_doubled_and_overtaken) {
    std::map<std::string, int> seen;
    for (std::uint64_t seed = 0; seed < 60; ++seed)
        weft::run(
            [&] {
                simulated_network net({.least_delay = 1ms, .most_delay = 9ms, .lose_one_in = 4, .duplicate_one_in = 4});
                auto a = net.bind({.host = "a", .port = 1});
                auto b = net.bind({.host = "b", .port = 1});
                for (const char* word : {"1", "2", "3"}) a.send_to({.host = "b", .port = 1}, word);
                a.send_to({.host = "nobody", .port = 1}, "4");
                std::string order;
                try {
                    weft::with_timeout(1s, [&] {
                        for (;;) {
                            const auto d = b.receive();
                            EXPECT_EQ(d.from, (endpoint{.host = "a", .port = 1}));
                            order += text_of(d.bytes);
                        }
                    });
                } catch (const weft::timeout_error&) {}
                seen["all"] += order == "123";
                seen["lost"] += std::set<char>(order.begin(), order.end()).size() < 3;
                seen["doubled"] += std::set<char>(order.begin(), order.end()).size() < order.size();
                seen["overtaken"] += !std::ranges::is_sorted(order);
                net.cut("a", "b");
                a.send_to({.host = "b", .port = 1}, "5");
                EXPECT_THROW(weft::with_timeout(1s, [&] { b.receive(); }), weft::timeout_error);
            },
            seeded(seed));
    EXPECT_GT(seen["all"], 0);
    EXPECT_GT(seen["lost"], 0);
    EXPECT_GT(seen["doubled"], 0);
    EXPECT_GT(seen["overtaken"], 0);
}

TEST(simulated_network, works_in_an_ordinary_runtime_in_real_time) {
    weft::run([] {
        simulated_network net({.least_delay = 1ms, .most_delay = 3ms});
        auto listener = net.listen(door);
        weft::with_scope([&](weft::scope& s) {
            s.spawn([&] {
                auto peer = listener.accept();
                echo(peer);
            });
            const auto from = std::chrono::steady_clock::now();
            auto stream = net.connect("client", door);
            weft::io::write_all(stream, "over there");
            stream.shutdown_send();
            EXPECT_EQ(read_to_end(stream), "over there");
            EXPECT_GE(std::chrono::steady_clock::now() - from, 4ms);
        });
    });
}

TEST(simulated_network, one_seed_gives_one_course) {
    const auto body = [] {
        simulated_network net({.most_delay = 9ms, .split_one_in = 3, .reset_one_in = 50});
        auto listener = net.listen(door);
        weft::with_scope([&](weft::scope& s) {
            auto serve = s.spawn([&] {
                for (;;)
                    s.spawn([peer = listener.accept()]() mutable {
                        std::error_code error;
                        std::array<std::byte, 16> buffer;
                        while (const auto n = peer.read_some(buffer, error))
                            peer.write_some(std::span<const std::byte>(buffer).first(n), error);
                    });
            });
            for (int i = 0; i < 3; ++i) {
                auto stream = net.connect("client", door);
                std::error_code error;
                stream.write_some(std::as_bytes(std::span("some bytes of it")), error);
                stream.shutdown_send();
                std::array<std::byte, 16> buffer;
                while (stream.read_some(buffer, error) != 0) {}
            }
            serve.request_stop();
        });
    };
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const auto first = weft::replay(seed, body), again = weft::replay(seed, body);
        EXPECT_FALSE(first.failure) << first.what;
        EXPECT_EQ(first.trace, again.trace) << "seed " << seed;
    }
}
