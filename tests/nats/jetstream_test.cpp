// jetstream_test.cpp - JetStream of a new server where WEFT_NEW_NATS_SERVER names one, and its refusal by an
// old one.
#include <weft/nats/jetstream.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include <weft/fiber.hpp>
#include <weft/runtime.hpp>

#include "nats/support/nats_server.hpp"
#include "redis/support/fake_server.hpp"

namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::ThrowsMessage;
using weft::test::fake_server;
namespace nats = weft::nats;

/// A server of that version that answers nothing but the login.
std::string opening_said_by(const std::string& version) {
    fake_server server([&](fake_server& at) {
        auto peer = at.accept();
        peer.send("INFO {\"version\":\"" + version + "\",\"headers\":true}\r\n");
        for (auto said = peer.read_some(); !said.empty(); said = peer.read_some())
            if (said.find("PING") != std::string::npos) peer.send("PONG\r\n");
    });
    std::string said = "taken";
    weft::run([&] {
        nats::client c({.servers = {"nats://127.0.0.1:" + std::to_string(server.port())}});
        for (int i = 0; i < 1000 && !c.connected(); ++i) weft::this_fiber::sleep_for(5ms);
        try {
            nats::jetstream js(c);
        } catch (const nats::error& e) {
            EXPECT_EQ(e.code(), nats::nats_errc::server_too_old);
            said = e.what();
        }
    });
    return said;
}

TEST(nats_jetstream, servers_that_lose_acknowledged_messages_are_refused) {
    EXPECT_THAT(opening_said_by("2.9.10"), HasSubstr("needs nats-server 2.12.3 or later, this is 2.9.10"));
    for (const auto* old : {"2.12.2", "1.99.99", "2.11.14", "", "x", "2.12"})
        EXPECT_THAT(opening_said_by(old), HasSubstr("2.12.3 or later")) << old;
    for (const auto* good : {"2.12.3", "2.12.14", "2.13.0-RC.1", "3.0.0"}) EXPECT_EQ(opening_said_by(good), "taken") << good;
}

TEST(nats_jetstream, what_a_reply_subject_says) {
    const auto info = [](std::string reply) {
        return nats::delivery(nullptr, {.subject = "s", .reply = std::move(reply), .payload = "", .headers = {}}, 1s).info();
    };
    for (const auto* reply : {"$JS.ACK.S.c.1.22.33.1700000000000000000.4", "$JS.ACK._.acc.S.c.1.22.33.1700000000000000000.4",
                              "$JS.ACK._.acc.S.c.1.22.33.1700000000000000000.4.rand"}) {
        const auto d = info(reply);
        EXPECT_EQ(d.stream, "S");
        EXPECT_EQ(d.consumer, "c");
        EXPECT_EQ(d.delivered, 1u);
        EXPECT_EQ(d.stream_sequence, 22u);
        EXPECT_EQ(d.consumer_sequence, 33u);
        EXPECT_EQ(d.time.time_since_epoch(), 1700000000s);
        EXPECT_EQ(d.pending, 4u);
    }
    EXPECT_THROW(info("$JS.ACK.S"), nats::error);
    EXPECT_THROW(info("a.b.c.d.e.f.g.h.i"), nats::error);
}

#ifdef WEFT_NEW_NATS_SERVER

TEST(nats_jetstream, streams_publish_and_pull) {
    weft::test::nats_server server("jetstream { store_dir: \"DIR/js\", sync_interval: always }", WEFT_NEW_NATS_SERVER);
    server.start();
    weft::run([&] {
        nats::client c({.servers = {server.url()}});
        nats::jetstream js(c);
        EXPECT_EQ(js.add_stream({.name = "S", .subjects = {"s.*"}}).name, "S");
        EXPECT_EQ(js.publish("s.a", "one", {.id = "1"}).sequence, 1u);
        EXPECT_TRUE(js.publish("s.a", "one", {.id = "1"}).duplicate);
        EXPECT_THAT([&] { js.publish("s.a", "two", {.expected_last_sequence = 7}); },
                    ThrowsMessage<nats::error>(HasSubstr("wrong last sequence")));
        EXPECT_EQ(js.publish("s.b", "two", {.expected_last_sequence = 1}).sequence, 2u);
        EXPECT_THROW(js.publish("other", ""), nats::no_responders);
        EXPECT_EQ(js.stream_info("S").messages, 2u);
        EXPECT_EQ(js.update_stream({.name = "S", .subjects = {"s.*", "t"}}).messages, 2u);
        EXPECT_EQ(js.change_limits("S", {.most_messages = 50, .most_bytes = 9999, .duplicate_window = 1min}).messages, 2u);
        const auto config = js.stream_configuration("S");
        EXPECT_EQ(config.subjects, (std::vector<std::string>{"s.*", "t"}));
        EXPECT_EQ(config.most_messages, 50);
        EXPECT_EQ(config.most_bytes, 9999);
        EXPECT_EQ(config.duplicate_window, 1min);
        EXPECT_EQ(config.replicas, 1u);
        EXPECT_THAT([&] { js.stream_info("none"); }, ThrowsMessage<nats::error>(HasSubstr("stream not found")));

        js.add_consumer("S", {.name = "c", .ack_wait = 1s});
        js.add_consumer("S", {.name = "other"});
        EXPECT_EQ(js.pull("S", "other", {.batch = 10, .no_wait = true}).size(), 2u);
        const auto began = std::chrono::steady_clock::now();
        EXPECT_TRUE(js.pull("S", "other", {.batch = 10, .no_wait = true}).empty());
        EXPECT_LT(std::chrono::steady_clock::now() - began, 4s);  // not `expires`
        auto got = js.pull("S", "c", {.batch = 10, .expires = 200ms});
        ASSERT_EQ(got.size(), 2u);
        EXPECT_EQ(got[0].content().payload, "one");
        EXPECT_EQ(got[0].info().stream_sequence, 1u);
        EXPECT_EQ(got[0].info().pending, 1u);
        got[0].ack_sure();
        got[1].in_progress();
        got[1].nak();
        got = js.pull("S", "c", {.batch = 1, .expires = 5s});
        ASSERT_EQ(got.size(), 1u);
        EXPECT_EQ(got[0].info().delivered, 2u);
        EXPECT_EQ(got[0].content().payload, "two");
        got[0].ack_sure();
        EXPECT_TRUE(js.pull("S", "c", {.batch = 1, .expires = 100ms}).empty());
        js.publish("t", "bad");
        got = js.pull("S", "c");
        ASSERT_EQ(got.size(), 1u);
        got[0].term();
        c.flush();
        EXPECT_TRUE(js.pull("S", "c", {.batch = 1, .expires = 1500ms}).empty());
        js.delete_consumer("S", "c");
        EXPECT_THROW(js.pull("S", "c", {.batch = 1, .expires = 100ms}), nats::error);
        js.delete_stream("S");
    });
}

#endif

}  // namespace
