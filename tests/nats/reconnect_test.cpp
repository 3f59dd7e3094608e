// reconnect_test.cpp - servers that are away, die, come back, or are none.
#include <weft/nats/client.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include <weft/channel.hpp>
#include <weft/fiber.hpp>
#include <weft/runtime.hpp>

#include "nats/support/nats_server.hpp"
#include "redis/support/fake_server.hpp"

namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using testing::AllOf;
using testing::HasSubstr;
using weft::test::fake_peer;
using weft::test::fake_server;
using weft::test::nats_server;
namespace nats = weft::nats;
using kind = nats::event::kind;

/// The events of a client, in order.
struct journal {
    weft::channel<nats::event> all{weft::unbounded};

    std::function<void(const nats::event&)> hook() {
        return [ch = all](const nats::event& e) { ch.send(e); };
    }
    /// Waits for the next event of that kind.
    nats::event next(kind wanted) {
        nats::event e{};
        while (all.receive_for(e, 20s) == weft::channel_op::done)
            if (e.what == wanted) return e;
        ADD_FAILURE() << "no event of kind " << static_cast<int>(wanted);
        return e;
    }
};

nats::client_options quick(std::vector<std::string> servers, journal& j) {
    return {.servers = std::move(servers), .reconnect_pause = 10ms, .reconnect_pause_most = 50ms, .on_event = j.hook()};
}

constexpr std::string_view info =
    "INFO {\"server_id\":\"x\",\"version\":\"2.9.10\",\"headers\":true,\"max_payload\":1048576}\r\n";

/// Takes a connection as far as its login.
fake_peer greet(fake_server& at, std::string_view first = info) {
    auto peer = at.accept();
    peer.send(first);
    for (std::string said; said.find("PING") == std::string::npos;) {
        const auto more = peer.read_some();
        if (more.empty()) return peer;
        said += more;
    }
    peer.send("PONG\r\n");
    return peer;
}

TEST(nats_reconnect, a_server_that_is_away_at_start_is_named_and_found_later) {
    nats_server server;
    weft::run([&] {
        journal j;
        nats::client c(quick({server.url()}, j));
        EXPECT_THAT(j.next(kind::disconnected).text, AllOf(HasSubstr(server.address()), HasSubstr("Connection refused")));
        auto in = c.subscribe("s");
        c.publish("s", "kept");
        try {
            c.flush(50ms);
            ADD_FAILURE();
        } catch (const nats::error& e) {
            EXPECT_EQ(e.code(), nats::nats_errc::not_connected);
            EXPECT_THAT(e.what(), HasSubstr("Connection refused"));
        }
        EXPECT_THROW(c.request("s", "", 50ms), nats::error);
        server.start();
        j.next(kind::connected);
        EXPECT_EQ(in.receive()->payload, "kept");
    });
}

TEST(nats_reconnect, a_killed_server_is_noticed_and_its_successor_used) {
    nats_server server;
    server.start();
    weft::run([&] {
        journal j;
        nats::client c(quick({server.url()}, j));
        auto in = c.subscribe("s"), never_answers = c.subscribe("deaf");
        c.flush();
        for (int round = 0; round < 3; ++round) {
            auto asks = weft::spawn([&] {
                try {
                    c.request("deaf", "", 60s);
                    ADD_FAILURE();
                } catch (const nats::error& e) {
                    EXPECT_EQ(e.code(), nats::nats_errc::connection_lost);
                }
            });
            EXPECT_TRUE(never_answers.receive());
            server.kill();
            asks.join();
            j.next(kind::disconnected);
            c.publish("s", "between " + std::to_string(round));
            server.start();
            j.next(kind::connected);
            EXPECT_EQ(in.receive()->payload, "between " + std::to_string(round));
        }
        EXPECT_EQ(c.stats().reconnects, 3u);
    });
}

TEST(nats_reconnect, while_there_is_no_connection_the_buffer_is_bounded_and_what_is_refused_is_told) {
    nats_server server;
    weft::run([&] {
        journal j;
        auto o = quick({server.url()}, j);
        o.pending_bytes = 1000;
        nats::client c(o);
        auto in = c.subscribe("s");
        int kept = 0, refused = 0;
        for (int i = 0; i < 100; ++i) {
            std::error_code failed;
            c.publish("s", std::string(50, 'x'), {}, failed);
            if (!failed)
                ++kept;
            else if (++refused; failed != nats::nats_errc::buffer_full)
                ADD_FAILURE() << failed.message();
        }
        EXPECT_GT(kept, 5);
        EXPECT_LT(kept, 20);
        EXPECT_LE(c.stats().pending_bytes, 1000u);
        server.start();
        EXPECT_EQ(j.next(kind::dropped).count, static_cast<unsigned>(refused));
        for (int i = 0; i < kept; ++i) EXPECT_TRUE(in.receive());
        c.flush();
        EXPECT_EQ(in.size(), 0u);
        EXPECT_EQ(c.stats().dropped, static_cast<unsigned>(refused));
    });
}

TEST(nats_reconnect, while_there_is_a_connection_publishers_park_at_the_bound) {
    nats_server server;
    server.start();
    weft::run([&] {
        journal j;
        auto o = quick({server.url()}, j);
        o.pending_bytes = 1000;
        nats::client c(o);
        auto in = c.subscribe("s", {.capacity = 100'000});
        c.flush();
        std::vector<weft::fiber<void>> all;
        for (int f = 0; f < 10; ++f)
            all.push_back(weft::spawn([&] {
                for (int i = 0; i < 200; ++i) c.publish("s", std::string(50, 'x'));
            }));
        for (auto& f : all) f.join();
        EXPECT_LE(c.stats().pending_bytes, 1000u);
        c.publish("s", std::string(5000, 'y'));  // larger than the buffer: alone in it
        c.flush();
        EXPECT_EQ(in.size(), 2001u);
        EXPECT_EQ(c.stats().dropped, 0u);
        bool refused = false;
        for (int i = 0; i < 1000 && !refused; ++i) refused = !c.try_publish("s", std::string(50, 'x'));
        EXPECT_TRUE(refused);
    });
}

TEST(nats_reconnect, another_server_of_the_list_is_taken) {
    nats_server away, first, second;
    first.start();
    second.start();
    weft::run([&] {
        journal j;
        nats::client c(quick({away.url(), first.url(), second.url()}, j));
        EXPECT_EQ(j.next(kind::connected).text, first.address());
        first.kill();
        EXPECT_EQ(j.next(kind::connected).text, second.address());
    });
}

TEST(nats_reconnect, a_client_with_a_limit_gives_up) {
    nats_server away;
    weft::run([&] {
        journal j;
        auto o = quick({away.url()}, j);
        o.most_reconnects = 3;
        nats::client c(o);
        auto in = c.subscribe("s");
        EXPECT_THAT(j.next(kind::closed).text, AllOf(HasSubstr("given up after 4 failures"), HasSubstr("Connection refused")));
        EXPECT_FALSE(in.receive());
        EXPECT_THROW(c.publish("s", ""), nats::error);
    });
}

TEST(nats_reconnect, garbage_and_huge_frames_are_named_and_survived) {
    const std::vector<std::pair<std::string, std::string>> lies{
        {"HTTP/1.1 400 Bad Request\r\n\r\n", "an unknown word: 'HTTP/1.1 400 Bad Request'"},
        {std::string(70'000, '\0'), "a line of more than 4096 bytes"},
        {"INFO " + std::string(100'000, '[') + "\r\n", "more than 4096 bytes"},
        {"INFO " + std::string(1000, '[') + "\r\n", "INFO is nested too deeply"},
        {"INFO 7\r\n", "INFO is no JSON object"},
        {"MSG a 1 1\r\nx\r\n", "a message before the login"},
        {std::string(info) + "-ERR 'Authorization Violation'\r\n", "Authorization Violation"},
        {"", "closed by the server"}};
    const std::vector<std::pair<std::string, std::string>> later{{"MSG s 2 99999999999\r\n", "a message of 99999999999 bytes"},
                                                                 {"PONG\r\n", "a PONG that nothing asked for"},
                                                                 {"+OK\r\n\x01\x02\r\n", "an unknown word: '?"}};
    fake_server server([&](fake_server& at) {
        for (const auto& [bytes, why] : lies) {
            auto peer = at.accept();
            peer.send(bytes);
            if (!bytes.empty()) peer.await_end();
        }
        for (const auto& [bytes, why] : later) {
            auto peer = greet(at);
            peer.send(bytes);
            peer.await_end();
        }
        auto peer = greet(at);
        peer.send("MSG s 2 4\r\ngood\r\n");
        peer.await_end();
    });
    weft::run([&] {
        journal j;
        nats::client c(quick({"nats://127.0.0.1:" + std::to_string(server.port())}, j));
        auto in = c.subscribe("s");
        for (const auto& [bytes, why] : lies) EXPECT_THAT(j.next(kind::disconnected).text, HasSubstr(why));
        for (const auto& [bytes, why] : later) EXPECT_THAT(j.next(kind::disconnected).text, HasSubstr(why));
        EXPECT_EQ(in.receive()->payload, "good");
    });
}

TEST(nats_reconnect, a_server_that_is_silent_is_lost) {
    fake_server server([&](fake_server& at) {
        {
            auto deaf = at.accept();
            deaf.await_end();
        }
        auto peer = greet(at);
        peer.await_end();
    });
    weft::run([&] {
        journal j;
        auto o = quick({"nats://127.0.0.1:" + std::to_string(server.port())}, j);
        o.connect_timeout = 200ms;
        o.ping_interval = 30ms;
        nats::client c(o);
        EXPECT_THAT(j.next(kind::disconnected).text, HasSubstr("no answer in time"));
        j.next(kind::connected);
        EXPECT_THROW(c.flush(20ms), weft::timeout_error);
        EXPECT_THAT(j.next(kind::disconnected).text, HasSubstr("two pings were not answered"));
    });
}

TEST(nats_reconnect, a_lame_duck_says_so) {
    nats_server server("lame_duck_duration: \"30s\"\nlame_duck_grace_period: \"1s\"");
    server.start();
    weft::run([&] {
        journal j;
        nats::client c(quick({server.url()}, j));
        j.next(kind::connected);
        server.signal(SIGUSR2);
        j.next(kind::lame_duck);
        EXPECT_TRUE(c.server().lame_duck);
    });
}

}  // namespace
