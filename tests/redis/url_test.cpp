// url_test.cpp - what a redis:// URL may say, and which part a wrong one names.
#include "redis/url.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;
using weft::detail::redis::check_path_of_socket;
using weft::detail::redis::parse_url;

TEST(redis_url, a_host_is_enough) {
    const auto url = parse_url("redis://db.example");
    EXPECT_EQ(url.host, "db.example");
    EXPECT_EQ(url.port, 6379);
    EXPECT_EQ(url.database, 0u);
    EXPECT_EQ(url.user, "");
    EXPECT_EQ(url.password, "");
    EXPECT_EQ(url.name(), "db.example:6379");
}

TEST(redis_url, everything_at_once) {
    EXPECT_TRUE(parse_url("rediss://h").tls);
    const auto url = parse_url("redis://ann:p%40ss%3aword@10.0.0.1:7000/15");
    EXPECT_FALSE(url.tls);
    EXPECT_EQ(url.host, "10.0.0.1");
    EXPECT_EQ(url.port, 7000);
    EXPECT_EQ(url.database, 15u);
    EXPECT_EQ(url.user, "ann");
    EXPECT_EQ(url.password, "p@ss:word");
}

TEST(redis_url, a_password_without_a_user) {
    const auto url = parse_url("redis://:secret@h/");
    EXPECT_EQ(url.user, "");
    EXPECT_EQ(url.password, "secret");
    EXPECT_EQ(url.database, 0u);
}

TEST(redis_url, an_ipv6_host_stands_in_brackets) {
    const auto url = parse_url("redis://[::1]:6380/2");
    EXPECT_EQ(url.host, "::1");
    EXPECT_EQ(url.port, 6380);
    EXPECT_EQ(url.name(), "[::1]:6380");
}

TEST(redis_url, a_unix_socket_is_a_path) {
    const auto plain = parse_url("unix:///run/redis.sock");
    EXPECT_EQ(plain.path, "/run/redis.sock");
    EXPECT_EQ(plain.host, "");
    EXPECT_EQ(plain.database, 0u);
    EXPECT_EQ(plain.name(), "/run/redis.sock");

    const auto full = parse_url("redis+unix://ann:p%40ss@/run/a%20b@c%3f?db=3");
    EXPECT_EQ(full.path, "/run/a b@c?");
    EXPECT_EQ(full.user, "ann");
    EXPECT_EQ(full.password, "p@ss");
    EXPECT_EQ(full.database, 3u);
    EXPECT_EQ(parse_url("unix://:secret@/s?db=1").password, "secret");
    EXPECT_EQ(parse_url("redis+unix:///s").user, "");
    EXPECT_EQ(parse_url("redis://h").path, "");
}

TEST(redis_url, a_wrong_part_is_named_and_the_password_is_not_shown) {
    const std::pair<const char*, const char*> wrong[] = {
        {"http://h", "redis://"},
        {"redis://", "host"},
        {"redis://:6379", "host"},
        {"redis://h:port", "port"},
        {"redis://h:0", "port"},
        {"redis://h:70000", "port"},
        {"redis://h:6379/x", "database"},
        {"redis://h/-1", "database"},
        {"redis://[::1:6379", "]"},
        {"redis://[::1]x", "port"},
        {"redis://u:hush%zz@h", "login"},
        {"redis://hush@h", "password"},
        {"redis://u:@h", "password"},
        {"redis://:hush@h:x", "port"},
        {"redis://h?db=1", "'?'"},
        {"redis://a\nb", "host"},
        {"redis://[[h]", "host"},
        {"redis://:hush@a b:1", "host"},
        {"unix://", "'/'"},
        {"unix://run/redis.sock", "'/'"},
        {"unix://:hush@run", "'/'"},
        {"unix://hush@/run", "password"},
        {"unix:///run?db=x", "database"},
        {"unix:///run?db=", "database"},
        {"unix:///run?timeout=1", "db=N"},
        {"unix:///run#x", "'#'"},
        {"unix:///a%0", "path"},
        {"unix:///a%00b", "zero byte"},
        {"unix:/run", "must begin"},
    };
    for (const auto& [text, part] : wrong)
        EXPECT_THAT([&] { parse_url(text); },
                    ThrowsMessage<std::invalid_argument>(AllOf(HasSubstr(part), Not(HasSubstr("hush")))))
            << text;
    EXPECT_THAT([] { check_path_of_socket(parse_url("unix:///" + std::string(107, 'a'))); },
                ThrowsMessage<std::invalid_argument>(HasSubstr("longer than 107 bytes")));
}

}  // namespace
