#include <weft/net/endpoint.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace weft::test {
namespace {

using net::endpoint;

std::string refusal(std::string_view text) {
    try {
        static_cast<void>(endpoint::parse(text));
    } catch (const std::invalid_argument& e) { return e.what(); }
    return "accepted";
}

TEST(endpoint, parses_names_and_numbers) {
    EXPECT_EQ(endpoint::parse("localhost:80"), (endpoint{.host = "localhost", .port = 80}));
    EXPECT_EQ(endpoint::parse("127.0.0.1:65535"), (endpoint{.host = "127.0.0.1", .port = 65535}));
    EXPECT_EQ(endpoint::parse("[::1]:80"), (endpoint{.host = "::1", .port = 80}));
    EXPECT_EQ(endpoint::parse("[fe80::1%eth0]:0"), (endpoint{.host = "fe80::1%eth0", .port = 0}));
    EXPECT_EQ(endpoint::parse(":7000"), (endpoint{.host = "", .port = 7000}));
}

TEST(endpoint, a_refusal_quotes_the_text_and_says_what_is_wrong) {
    using testing::HasSubstr;
    EXPECT_EQ(refusal("localhost"), "\"localhost\" is no HOST:PORT: the port is missing");
    EXPECT_THAT(refusal("localhost:"), HasSubstr("the port is missing"));
    EXPECT_THAT(refusal(""), HasSubstr("the port is missing"));
    EXPECT_THAT(refusal("a:65536"), HasSubstr("from 0 to 65535"));
    EXPECT_THAT(refusal("a:-1"), HasSubstr("from 0 to 65535"));
    EXPECT_THAT(refusal("a:80x"), HasSubstr("from 0 to 65535"));
    EXPECT_THAT(refusal("a: 80"), HasSubstr("from 0 to 65535"));
    EXPECT_THAT(refusal("::1:80"), HasSubstr("in brackets"));
    EXPECT_THAT(refusal("[::1"), HasSubstr("not closed"));
    EXPECT_THAT(refusal("[::1]80"), HasSubstr("colon"));
    EXPECT_THAT(refusal("[::1]"), HasSubstr("colon"));
    EXPECT_THAT(refusal("[]:80"), HasSubstr("no address"));
}

TEST(endpoint, a_refusal_is_one_line_whatever_the_text_is) {
    EXPECT_EQ(refusal("a\n\x1b"), "\"a\\x0a\\x1b\" is no HOST:PORT: the port is missing");
}

TEST(endpoint, refuses_hosts_that_it_would_not_read_again) {
    using testing::HasSubstr;
    for (const char* text : {"[[a]:80", "a]:80", "a b:80", "a\n:80", "[::1 ]:80"}) EXPECT_THAT(refusal(text), HasSubstr("the host has")) << text;
}

TEST(endpoint, prints_what_it_parses) {
    for (const char* text : {"localhost:80", "127.0.0.1:65535", "[::1]:80", ":7000"})
        EXPECT_EQ(to_string(endpoint::parse(text)), text);
}

TEST(endpoint, compares_by_host_then_port) {
    EXPECT_LT((endpoint{.host = "a", .port = 9}), (endpoint{.host = "b", .port = 1}));
    EXPECT_LT((endpoint{.host = "a", .port = 1}), (endpoint{.host = "a", .port = 2}));
}

}  // namespace
}  // namespace weft::test
