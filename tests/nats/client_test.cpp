// client_test.cpp - the client against a real nats-server.
#include <weft/nats/client.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <vector>

#include <weft/fiber.hpp>
#include <weft/runtime.hpp>
#include <weft/select.hpp>

#include "nats/support/nats_server.hpp"

namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using testing::ElementsAre;
using weft::test::nats_server;
namespace nats = weft::nats;

nats::nats_errc code_of(const std::function<void()>& f) {
    try {
        f();
    } catch (const nats::error& e) {
        return static_cast<nats::nats_errc>(e.code().value());
    }
    return {};
}

TEST(nats_client, what_is_published_is_received) {
    nats_server server;
    server.start();
    weft::run([&] {
        nats::client c({.servers = {server.url()}});
        auto all = c.subscribe("a.*");
        c.publish("a.b", "hello", {.reply = "r.x", .headers = {{"X-Y", "z"}}});
        c.publish("a.c", "");
        const auto first = all.receive(), second = all.receive();
        ASSERT_TRUE(first && second);
        EXPECT_EQ(*first, (nats::message{"a.b", "r.x", "hello", {{"X-Y", "z"}}}));
        EXPECT_EQ(*second, (nats::message{"a.c", "", "", {}}));
        EXPECT_FALSE(all.try_receive());
        EXPECT_TRUE(c.connected());
        EXPECT_FALSE(c.server().version.empty());
    });
}

TEST(nats_client, payloads_are_bytes_of_any_length) {
    nats_server server;
    server.start();
    weft::run([&] {
        nats::client c({.servers = {server.url()}});
        auto in = c.subscribe("x");
        std::string every_byte;
        for (int i = 0; i < 256; ++i) every_byte += static_cast<char>(i);
        for (const std::size_t n : {0u, 1u, 65'535u, 65'536u, 1'000'000u}) {
            auto text = std::string(n, 'x') + every_byte;
            c.publish("x", text);
            const auto got = in.receive();
            ASSERT_TRUE(got);
            EXPECT_EQ(got->payload, text);
        }
        EXPECT_EQ(code_of([&] { c.publish("x", std::string(2'000'000, 'x')); }), nats::nats_errc::payload_too_large);
        std::error_code failed;
        c.publish("x y", "", {}, failed);
        EXPECT_EQ(failed, nats::nats_errc::bad_subject);
        EXPECT_EQ(code_of([&] { c.publish("x", "", {.reply = "a.*"}); }), nats::nats_errc::bad_subject);
        EXPECT_EQ(code_of([&] { c.publish("x", "", {.headers = {{"a", "b\r\n"}}}); }), nats::nats_errc::bad_header);
        c.flush();
    });
}

TEST(nats_client, requests_are_answered_and_each_gets_its_own) {
    nats_server server;
    server.start();
    weft::run([&] {
        nats::client c({.servers = {server.url()}}), worker({.servers = {server.url()}});
        auto work = worker.subscribe("double");
        auto serves = weft::spawn([&] {
            for (const auto& m : work) worker.publish(m.reply, m.payload + m.payload);
        });
        worker.flush();
        std::vector<weft::fiber<void>> all;
        for (int i = 0; i < 100; ++i)
            all.push_back(
                weft::spawn([&c, text = std::to_string(i)] { EXPECT_EQ(c.request("double", text, 10s).payload, text + text); }));
        for (auto& f : all) f.join();
        work.unsubscribe();
        serves.join();
    });
}

TEST(nats_client, a_request_that_no_one_serves_fails_at_once_and_one_that_is_not_answered_in_time) {
    nats_server server;
    server.start();
    weft::run([&] {
        nats::client c({.servers = {server.url()}});
        const auto began = std::chrono::steady_clock::now();
        EXPECT_THROW(c.request("nobody", "", 60s), nats::no_responders);
        EXPECT_LT(std::chrono::steady_clock::now() - began, 30s);
        std::error_code failed;
        c.request("nobody", "", 60s, {}, failed);
        EXPECT_EQ(failed, nats::nats_errc::no_responders);
        auto deaf = c.subscribe("deaf");
        EXPECT_THROW(c.request("deaf", "", 50ms), weft::timeout_error);
        // A publish with a reply subject is told, too.
        const auto inbox = c.new_inbox();
        auto answers = c.subscribe(inbox);
        c.publish("nobody", "", {.reply = inbox});
        const auto told = answers.receive();
        ASSERT_TRUE(told);
        EXPECT_EQ(told->status(), 503);
        EXPECT_EQ(told->subject, inbox);
    });
}

TEST(nats_client, a_queue_shares_its_messages) {
    nats_server server;
    server.start();
    weft::run([&] {
        nats::client c({.servers = {server.url()}});
        auto a = c.subscribe("jobs", {.queue = "q"}), b = c.subscribe("jobs", {.queue = "q"}), alone = c.subscribe("jobs");
        for (int i = 0; i < 200; ++i) c.publish("jobs", std::to_string(i));
        c.flush();
        EXPECT_EQ(a.size() + b.size(), 200u);
        EXPECT_GT(a.size(), 0u);
        EXPECT_GT(b.size(), 0u);
        EXPECT_EQ(alone.size(), 200u);
    });
}

TEST(nats_client, a_subscription_is_a_case_of_select_and_ends) {
    nats_server server;
    server.start();
    weft::run([&] {
        nats::client c({.servers = {server.url()}});
        auto in = c.subscribe("s");
        std::string got = "none";
        weft::select(weft::on_receive(in, [&](std::optional<nats::message>) { got = "some"; }), weft::on_timeout(20ms));
        EXPECT_EQ(got, "none");
        c.publish("s", "text");
        weft::select(weft::on_receive(in, [&](std::optional<nats::message> m) { got = m->payload; }), weft::on_timeout(20s));
        EXPECT_EQ(got, "text");
        c.publish("s", "last");
        in.drain();
        c.publish("s", "behind");
        EXPECT_EQ(in.receive()->payload, "last");
        EXPECT_FALSE(in.receive());
        auto second = c.subscribe("s");
        second = c.subscribe("t");
        c.publish("t", "moved");
        EXPECT_EQ(second.receive()->payload, "moved");
        c.close();
        EXPECT_FALSE(second.receive());
        EXPECT_EQ(code_of([&] { c.publish("s", ""); }), nats::nats_errc::closed);
        EXPECT_EQ(code_of([&] { c.flush(); }), nats::nats_errc::closed);
    });
}

TEST(nats_client, a_slow_subscription_loses_messages_and_holds_nothing_up) {
    nats_server server;
    server.start();
    std::atomic<int> told{0};
    weft::run([&] {
        nats::client c({.servers = {server.url()}, .on_event = [&](const nats::event& e) {
                            if (e.what == nats::event::kind::slow_consumer) ++told;
                        }});
        auto newest_lost = c.subscribe("s", {.capacity = 10});
        auto oldest_lost = c.subscribe("s", {.capacity = 10, .when_full = weft::overflow::drop_oldest});
        auto few_bytes = c.subscribe("s", {.most_bytes = 20});
        auto roomy = c.subscribe("s");
        for (int i = 100; i < 200; ++i) c.publish("s", std::to_string(i));
        c.flush();
        EXPECT_EQ(roomy.size(), 100u);
        EXPECT_EQ(newest_lost.size(), 10u);
        EXPECT_EQ(newest_lost.receive()->payload, "100");
        EXPECT_EQ(newest_lost.dropped(), 90u);
        EXPECT_EQ(oldest_lost.receive()->payload, "190");
        EXPECT_EQ(oldest_lost.dropped(), 90u);
        EXPECT_EQ(few_bytes.size(), 6u);
        EXPECT_EQ(told, 3);
        // Once it has caught up, the next loss is told again.
        while (newest_lost.try_receive()) {}
        for (int i = 0; i < 20; ++i) c.publish("s", "x");
        c.flush();
        EXPECT_EQ(newest_lost.dropped(), 100u);
        EXPECT_EQ(c.stats().undelivered, newest_lost.dropped() + oldest_lost.dropped() + few_bytes.dropped());
        EXPECT_GE(told, 4);
        EXPECT_THROW(static_cast<void>(c.subscribe("s", {.when_full = weft::overflow::park})), std::invalid_argument);
    });
}

TEST(nats_client, drain_delivers_what_has_come) {
    nats_server server;
    server.start();
    weft::run([&] {
        nats::client c({.servers = {server.url()}}), other({.servers = {server.url()}});
        auto in = c.subscribe("d");
        auto seen = other.subscribe("e");
        other.flush();
        c.flush();
        for (int i = 0; i < 1000; ++i) other.publish("d", std::to_string(i));
        other.flush();
        c.publish("e", "before the end");
        c.drain();
        int n = 0;
        while (const auto m = in.receive()) EXPECT_EQ(m->payload, std::to_string(n++));
        EXPECT_EQ(n, 1000);
        EXPECT_EQ(seen.receive()->payload, "before the end");
        EXPECT_EQ(code_of([&] { c.publish("e", ""); }), nats::nats_errc::closed);
    });
}

}  // namespace
