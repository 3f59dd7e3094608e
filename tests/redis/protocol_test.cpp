// protocol_test.cpp - the client with RESP3, against a real server; without hiredis 1.x, how that is refused.
#include <weft/redis/client.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>

#include <weft/runtime.hpp>

#include "redis/codec.hpp"
#include "redis/support/fake_server.hpp"
#include "redis/support/redis_server.hpp"

namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;
using weft::test::fake_server;
using weft::test::redis_server;
namespace redis = weft::redis;

const redis::client_options third{.connections = 1, .protocol = 3};

/// Whether hiredis knows RESP3. If it does not, a client that wants it is not made, which is then what the test shows.
bool is_there() {
    try {
        weft::detail::redis::require_resp3();
        return true;
    } catch (const std::invalid_argument&) {
        weft::run([] {
            EXPECT_THAT([] { redis::client db("redis://h", third); },
                        ThrowsMessage<std::invalid_argument>(AllOf(HasSubstr("protocol 3"), HasSubstr("hiredis 1.1"))));
        });
        return false;
    }
}

TEST(redis_protocol, other_numbers_are_refused) {
    weft::run([] {
        EXPECT_THAT([] { redis::client db("redis://h", {.protocol = 4}); },
                    ThrowsMessage<std::invalid_argument>(HasSubstr("protocol is 4")));
    });
}

TEST(redis_protocol, with_RESP3_replies_have_their_types) {
    if (!is_there()) return;
    redis_server server({"--requirepass", "x"});
    weft::run([&] {
        redis::client db("redis://:x@127.0.0.1:" + std::to_string(server.port()) + "/2", third);
        db.command("HSET", "h", "a", 1);
        ASSERT_EQ(db.command("HGETALL", "h").entries().size(), 1u);
        EXPECT_EQ(db.command("HGETALL", "h").entries()[0].second.text(), "1");
        db.command("SADD", "s", "x");
        EXPECT_EQ(db.command("SMEMBERS", "s"), redis::value(redis::set{{redis::value(std::string("x"))}}));
        db.command("ZADD", "z", "1.5", "m");
        EXPECT_EQ(db.command("ZSCORE", "z", "m").number(), 1.5);
        EXPECT_EQ(db.get("none"), std::nullopt);
        db.set("k", "v");
        EXPECT_EQ(db.get("k"), "v");
        EXPECT_TRUE(std::holds_alternative<redis::verbatim>(db.command("LOLWUT", "VERSION", 5).content()));
        EXPECT_EQ(db.transaction({{"SET", "n", 1}, {"HGETALL", "h"}})[1].entries().size(), 1u);
        db.exclusive([](redis::session& s) { EXPECT_TRUE(s.command("BLPOP", "empty", "0.01").is_nil()); });
        const auto c = db.subscribe("c");
        db.command("PUBLISH", "c", "as before");
        EXPECT_EQ(c.receive()->payload, "as before");
    });
}

TEST(redis_protocol, a_server_without_RESP3_is_the_reason) {
    if (!is_there()) return;
    fake_server server([](fake_server& s) {
        auto peer = s.accept();
        EXPECT_THAT(peer.command(), ElementsAre("HELLO", "3"));
        peer.send("-ERR unknown command `HELLO`\r\n");
        peer.await_end();
    });
    weft::run([&] {
        redis::client db(server.url(), third);
        EXPECT_THAT([&] { db.get("k"); },
                    ThrowsMessage<redis::error>(AllOf(HasSubstr("HELLO: ERR unknown command"), HasSubstr("protocol 2"))));
    });
}

}  // namespace
