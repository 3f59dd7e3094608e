// refusal_test.cpp - which commands are kept off a shared connection.
#include "redis/refusal.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace {

using weft::redis::argument;

bool refused(std::initializer_list<argument> words) {
    return !weft::detail::redis::refusal(std::vector<argument>(words)).empty();
}

TEST(redis_refusal, what_blocks_or_changes_the_connection) {
    for (const char* name : {"BLPOP", "blpop", "BzPopMin", "WAIT", "MULTI", "exec", "WATCH", "SUBSCRIBE", "PSUBSCRIBE",
                             "MONITOR", "SELECT", "AUTH", "HELLO", "QUIT", "RESET", "SYNC"})
        EXPECT_TRUE(refused({name, "x"})) << name;
    EXPECT_TRUE(refused({"XREAD", "COUNT", 1, "block", 0, "STREAMS", "s", "0"}));
    EXPECT_TRUE(refused({"XREADGROUP", "GROUP", "g", "c", "BLOCK", 0, "STREAMS", "s", ">"}));
    EXPECT_TRUE(refused({"CLIENT", "reply", "OFF"}));
    EXPECT_TRUE(refused({}));
    EXPECT_TRUE(refused({""}));
}

TEST(redis_refusal, everything_else_passes) {
    for (const char* name : {"GET", "SET", "HSET", "LPOP", "EVAL", "PUBLISH", "WAITER", "PING"})
        EXPECT_FALSE(refused({name, "x"})) << name;
    EXPECT_FALSE(refused({"XREAD", "STREAMS", "BLOCK", "0"})) << "a stream of that name";
    EXPECT_FALSE(refused({"CLIENT", "LIST"}));
}

}  // namespace
