// conditions_test.cpp - dates, entity tags and ranges as clients send them.
#include "http/conditions.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace weft;
using detail::outcome;

constexpr std::time_t then = 784111777;  // Sun, 06 Nov 1994 08:49:37 GMT
constexpr detail::validators state{"\"a,b\"", then};

outcome judged(http::headers fields) { return detail::outcome_of(fields, state); }

std::string part(std::string_view range, std::uint64_t size = 100, http::headers more = {}, std::time_t now = then + 100) {
    more.add("Range", range);
    const auto wanted = detail::wanted_range(more, state, size, now);
    if (std::holds_alternative<detail::whole_file>(wanted)) return "whole";
    if (std::holds_alternative<detail::unsatisfiable>(wanted)) return "none";
    const auto [first, bytes] = std::get<detail::byte_range>(wanted);
    return std::to_string(first) + "+" + std::to_string(bytes);
}

TEST(http_dates, have_three_forms) {
    EXPECT_EQ(detail::parsed_http_date("Sun, 06 Nov 1994 08:49:37 GMT"), then);
    EXPECT_EQ(detail::parsed_http_date("Sunday, 06-Nov-94 08:49:37 GMT"), then);
    EXPECT_EQ(detail::parsed_http_date("Sun Nov  6 08:49:37 1994"), then);
    EXPECT_EQ(detail::parsed_http_date("Thu, 01 Jan 1970 00:00:00 GMT"), 0);
    for (const char* bad :
         {"", "Sun", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 06 Now 1994 08:49:37 GMT",
          "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
          "Sun, 32 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT x", "784111777",
          "Sun, +6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08-49-37 GMT"})
        EXPECT_EQ(detail::parsed_http_date(bad), std::nullopt) << bad;
}

TEST(conditions, of_none_match) {
    EXPECT_EQ(judged({{"If-None-Match", "\"a,b\""}}), outcome::not_modified);
    EXPECT_EQ(judged({{"If-None-Match", "\"x\", W/\"a,b\""}}), outcome::not_modified) << "compared weakly";
    EXPECT_EQ(judged({{"If-None-Match", "\"x\""}, {"if-none-match", "\"a,b\""}}), outcome::not_modified);
    EXPECT_EQ(judged({{"If-None-Match", " * "}}), outcome::not_modified);
    EXPECT_EQ(judged({{"If-None-Match", "\"a\", \"b\""}}), outcome::go_on);
    EXPECT_EQ(judged({{"If-None-Match", "a,b"}}), outcome::go_on);
    EXPECT_EQ(judged({{"If-None-Match", "\"a,b"}}), outcome::go_on);
    EXPECT_EQ(judged({{"If-None-Match", "\"x\""}, {"If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT"}}), outcome::go_on)
        << "the tag counts alone";
}

TEST(conditions, of_match) {
    EXPECT_EQ(judged({{"If-Match", "\"a,b\""}}), outcome::go_on);
    EXPECT_EQ(judged({{"If-Match", "*"}}), outcome::go_on);
    EXPECT_EQ(judged({{"If-Match", "\"x\""}}), outcome::failed);
    EXPECT_EQ(judged({{"If-Match", "W/\"a,b\""}}), outcome::failed) << "compared strongly";
    EXPECT_EQ(judged({{"If-Match", "\"a,b\""}, {"If-None-Match", "\"a,b\""}}), outcome::not_modified);
}

TEST(conditions, of_dates) {
    EXPECT_EQ(judged({{"If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT"}}), outcome::not_modified);
    EXPECT_EQ(judged({{"If-Modified-Since", "Sun, 06 Nov 1994 08:49:38 GMT"}}), outcome::not_modified);
    EXPECT_EQ(judged({{"If-Modified-Since", "Sun, 06 Nov 1994 08:49:36 GMT"}}), outcome::go_on);
    EXPECT_EQ(judged({{"If-Modified-Since", "yesterday"}}), outcome::go_on);
    EXPECT_EQ(judged({{"If-Unmodified-Since", "Sun, 06 Nov 1994 08:49:37 GMT"}}), outcome::go_on);
    EXPECT_EQ(judged({{"If-Unmodified-Since", "Sun, 06 Nov 1994 08:49:36 GMT"}}), outcome::failed);
    EXPECT_EQ(judged({{"If-Unmodified-Since", "Sun, 06 Nov 1994 08:49:36 GMT"}, {"If-Match", "\"a,b\""}}), outcome::go_on)
        << "the tag counts alone";
    EXPECT_EQ(judged({}), outcome::go_on);
}

TEST(ranges, of_one_part) {
    EXPECT_EQ(part("bytes=0-0"), "0+1");
    EXPECT_EQ(part("bytes=10-19"), "10+10");
    EXPECT_EQ(part("bytes=90-"), "90+10");
    EXPECT_EQ(part("bytes=90-1000"), "90+10");
    EXPECT_EQ(part("bytes=0-99999999999999999999999"), "0+100");
    EXPECT_EQ(part("bytes=-10"), "90+10");
    EXPECT_EQ(part("bytes=-1000"), "0+100");
    EXPECT_EQ(part("BYTES = 5-6"), "5+2");
}

TEST(ranges, that_do_not_lie_in_the_file) {
    for (const char* out : {"bytes=100-", "bytes=100-200", "bytes=99999999999999999999999-", "bytes=-0"})
        EXPECT_EQ(part(out), "none") << out;
    EXPECT_EQ(part("bytes=0-", 0), "none");
    EXPECT_EQ(part("bytes=-5", 0), "whole");
}

TEST(ranges, that_are_ignored) {
    for (const char* odd : {"bytes=0-1,3-4", "bytes=5-4", "bytes=", "bytes=-", "bytes=a-b", "bytes", "lines=0-1", "bytes=1-x",
                            "bytes=--1", "bytes=0x1-2", ""})
        EXPECT_EQ(part(odd), "whole") << odd;
    EXPECT_TRUE(std::holds_alternative<detail::whole_file>(detail::wanted_range({}, state, 100, then)));
}

TEST(ranges, of_another_state_of_the_file) {
    const auto if_range = [](std::string_view condition, std::time_t now = then + 100) {
        return part("bytes=0-9", 100, {{"If-Range", condition}}, now);
    };
    EXPECT_EQ(if_range("\"a,b\""), "0+10");
    EXPECT_EQ(if_range("\"x\""), "whole");
    EXPECT_EQ(if_range("W/\"a,b\""), "whole");
    EXPECT_EQ(if_range("Sun, 06 Nov 1994 08:49:37 GMT"), "0+10");
    EXPECT_EQ(if_range("Sun, 06 Nov 1994 08:49:38 GMT"), "whole") << "only the very same date";
    EXPECT_EQ(if_range("Sun, 06 Nov 1994 08:49:37 GMT", then + 1), "whole") << "it may change again in this second";
    EXPECT_EQ(if_range("nonsense"), "whole");
}

}  // namespace
