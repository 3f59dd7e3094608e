// refusal_test.cpp - which commands are kept off a shared connection.
#include "redis/refusal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;
using weft::detail::redis::command_rules;
using weft::redis::argument;

std::string refusal(std::initializer_list<argument> words, const command_rules& rules = {}) {
    return std::string(rules.refusal(std::vector<argument>(words)));
}

bool refused(std::initializer_list<argument> words, const command_rules& rules = {}) { return !refusal(words, rules).empty(); }

TEST(redis_refusal, what_blocks_or_changes_the_connection) {
    for (const char* name : {"BLPOP", "blpop", "BzPopMin", "WAIT", "MULTI", "exec", "WATCH", "SUBSCRIBE", "PSUBSCRIBE", "MONITOR",
                             "SELECT", "AUTH", "HELLO", "QUIT", "RESET", "SYNC", "READONLY", "asking"})
        EXPECT_TRUE(refused({name, "x"})) << name;
    for (const char* sub : {"reply", "TRACKING", "Caching", "NO-EVICT", "NO-TOUCH", "SETNAME"})
        EXPECT_THAT(refusal({"CLIENT", sub, "OFF"}), HasSubstr("change")) << sub;
    EXPECT_TRUE(refused({}));
    EXPECT_TRUE(refused({""}));
}

TEST(redis_refusal, what_has_no_single_reply) {
    EXPECT_THAT(refusal({"REPLCONF", "ACK", 0}), HasSubstr("no single reply"));
    EXPECT_THAT(refusal({"replconf", "listening-port", 1}), HasSubstr("no single reply"));
    EXPECT_THAT(refusal({"CLUSTER", "SYNCSLOTS"}), HasSubstr("no single reply"));
    EXPECT_THAT(refusal({"SHUTDOWN", "NOSAVE"}), HasSubstr("end"));
}

TEST(redis_refusal, what_belongs_to_the_developers_of_the_server) {
    for (const auto* const sub : {"YES", "SYNC", "NO"}) EXPECT_TRUE(refused({"SCRIPT", "DEBUG", sub}));
    for (const char* name : {"DEBUG", "PFSELFTEST", "PFDEBUG"}) EXPECT_TRUE(refused({name, "SLEEP"})) << name;
}

TEST(redis_refusal, a_read_of_streams_that_would_block_however_its_words_are_named) {
    EXPECT_TRUE(refused({"XREAD", "COUNT", 1, "block", 0, "STREAMS", "s", "0"}));
    EXPECT_TRUE(refused({"XREADGROUP", "GROUP", "g", "c", "BLOCK", 0, "STREAMS", "s", ">"}));
    EXPECT_TRUE(refused({"XREADGROUP", "GROUP", "STREAMS", "c", "BLOCK", 0, "STREAMS", "s", ">"})) << "a group of that name";
    EXPECT_TRUE(refused({"XREADGROUP", "NOACK", "GROUP", "g", "STREAMS", "BLOCK", 0, "STREAMS", "s", ">"})) << "a consumer";
    EXPECT_TRUE(refused({"XREAD", "NEW-OPTION", "STREAMS", "BLOCK", 0, "STREAMS", "s", ">"})) << "nobody knows what it takes";
    EXPECT_FALSE(refused({"XREADGROUP", "GROUP", "BLOCK", "BLOCK", "COUNT", 1, "STREAMS", "s", ">"}));
    EXPECT_FALSE(refused({"XREAD", "STREAMS", "BLOCK", "0"})) << "a stream of that name";
}

TEST(redis_refusal, what_answers_once_passes) {
    for (const char* name :
         {"GET", "set", "HSET", "LPOP", "EVAL", "PUBLISH", "PING", "JSON.SET", "FT.CONFIG", "CLIENT", "COMMAND"})
        EXPECT_FALSE(refused({name, "LIST"})) << name;
    EXPECT_FALSE(refused({"COMMAND"}));
    EXPECT_FALSE(refused({"OBJECT", "encoding", "k"}));
}

TEST(redis_refusal, what_is_not_known_is_refused_unless_the_program_vouches_for_it) {
    const std::vector<std::string> names{"graph.query", "Client|New"};
    const command_rules more(names);
    for (const char* name : {"WAITER", "GRAPH.QUERY", "POST", "Host:", "CLIENT|LIST", "GE", "GETS", "\r\n"}) {
        EXPECT_TRUE(refused({name, "x"})) << name;
        EXPECT_EQ(refused({name, "x"}, more), std::string_view(name) != "GRAPH.QUERY") << name;
    }
    EXPECT_THAT(refusal({"CLIENT", "NEW"}), HasSubstr("module_commands"));
    EXPECT_FALSE(refused({"CLIENT", "NEW"}, more));
    EXPECT_TRUE(refused({std::string(10'000, 'A')}));
    EXPECT_TRUE(refused({"CLIENT", std::string(10'000, 'A')}));
}

TEST(redis_refusal, a_program_cannot_vouch_for_what_is_known_to_be_wrong) {
    const auto made_with = [](const char* name) {
        const std::vector<std::string> names{name};
        const command_rules rules(names);
    };
    EXPECT_THAT([&] { made_with("blpop"); }, ThrowsMessage<std::invalid_argument>(HasSubstr("block")));
    EXPECT_THAT([&] { made_with("CLIENT|REPLY"); }, ThrowsMessage<std::invalid_argument>(HasSubstr("CLIENT|REPLY")));
    EXPECT_THAT([&] { made_with(""); }, ThrowsMessage<std::invalid_argument>(HasSubstr("no name")));
    EXPECT_NO_THROW(made_with("get"));
}

}  // namespace
