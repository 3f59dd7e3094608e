// url_test.cpp - which URLs a client takes, what it sends for them, and where references lead.
#include "http/client/url.hpp"

#include <gtest/gtest.h>

#include "http/client/proxy.hpp"
#include "http/client/request_head.hpp"

namespace weft::detail {
namespace {

std::string parsed(std::string_view text) {
    http_url u;
    if (const auto fault = parse_url(text, u)) return std::string("! ") + fault;
    return (u.login.empty() ? "" : u.login + " @ ") + u.text();
}

TEST(http_client_url, is_parsed) {
    const std::pair<const char*, const char*> cases[] = {
        {"http://a", "http://a/"},
        {"HTTP://A.Example:80/x", "http://a.example/x"},
        {"https://a:443?q", "https://a/?q"},
        {"https://a:80/", "https://a:80/"},
        {"http://a:/", "http://a/"},
        {"http://[::1]:8080/x", "http://[::1]:8080/x"},
        {"http://a/p?q#f", "http://a/p?q"},
        {"http://a#f", "http://a/"},
        {"http://a/ b\xc3\xa4\"<>`{}|\\^", "http://a/%20b%C3%A4%22%3C%3E%60%7B%7D%7C%5C%5E"},
        {"http://a/%41%zz", "http://a/%41%zz"},
        {"http://u:p%40@a/", "u:p@ @ http://a/"},
        {"http://u@a/", "u: @ http://a/"},
        {"http://a@b@c/", "a@b: @ http://c/"},
        {"http://a/@b", "http://a/@b"},
        {"", "! it must begin with http:// or https://"},
        {"a/b", "! it must begin with http:// or https://"},
        {"ftp://a/", "! it must begin with http:// or https://"},
        {"http:a", "! '//' must follow the scheme"},
        {"http:///x", "! the host is missing"},
        {"http://:80/", "! the host is missing"},
        {"http://[::1/", "! '[' without ']'"},
        {"http://[x]/", "! that is not a host"},
        {"http://[::1]x/", "! \":port\" or nothing must follow the host"},
        {"http://a b/", "! that is not a host"},
        {"http://a%20b/", "! that is not a host"},
        {"http://a\\b/", "! it has a '\\' before its path"},
        {"http://a\\@b/", "! it has a '\\' before its path"},
        {"http://a:x/", "! the port must be a number from 1 to 65535"},
        {"http://a:0/", "! the port must be a number from 1 to 65535"},
        {"http://a:65536/", "! the port must be a number from 1 to 65535"},
        {"http://a:80:80/", "! the port must be a number from 1 to 65535"},
        {"http://b\xc3\xbc/", "! the host is not ASCII: write it in Punycode (xn--...)"},
        {"http://a/\r\nX: y", "! it has a control byte"},
        {"http://u%0d%0a@a/", "! it has a control byte"},
        {"http://u%zz@a/", "! the login has a '%' that two hexadecimal digits do not follow"},
    };
    for (const auto& [text, expected] : cases) EXPECT_EQ(parsed(text), expected) << text;
}

TEST(http_client_url, resolves_references_as_rfc_3986_shows) {
    const std::pair<const char*, const char*> cases[] = {
        {"g", "http://a/b/c/g"},
        {"./g", "http://a/b/c/g"},
        {"g/", "http://a/b/c/g/"},
        {"/g", "http://a/g"},
        {"//g", "http://g/"},
        {"?y", "http://a/b/c/d;p?y"},
        {"g?y", "http://a/b/c/g?y"},
        {"#s", "http://a/b/c/d;p?q"},
        {"g#s", "http://a/b/c/g"},
        {";x", "http://a/b/c/;x"},
        {"", "http://a/b/c/d;p?q"},
        {".", "http://a/b/c/"},
        {"./", "http://a/b/c/"},
        {"..", "http://a/b/"},
        {"../g", "http://a/b/g"},
        {"../..", "http://a/"},
        {"../../g", "http://a/g"},
        {"../../../g", "http://a/g"},
        {"/./g", "http://a/g"},
        {"/../g", "http://a/g"},
        {"g.", "http://a/b/c/g."},
        {"..g", "http://a/b/c/..g"},
        {"./../g", "http://a/b/g"},
        {"./g/.", "http://a/b/c/g/"},
        {"g/../h", "http://a/b/c/h"},
        {"g;x=1/../y", "http://a/b/c/y"},
        {"g?y/../x", "http://a/b/c/g?y/../x"},
        {"https://h/x", "https://h/x"},
        {"a b", "http://a/b/c/a%20b"},
        {"//u:p@g/x", "http://g/x"},
    };
    http_url base, to;
    ASSERT_EQ(parse_url("http://a/b/c/d;p?q", base), nullptr);
    for (const auto& [reference, expected] : cases) {
        EXPECT_EQ(resolve_url(base, reference, to), nullptr) << reference;
        EXPECT_EQ(to.text(), expected) << reference;
    }
    EXPECT_NE(resolve_url(base, "mailto:x", to), nullptr);
    EXPECT_NE(resolve_url(base, "//", to), nullptr);
    EXPECT_NE(resolve_url(base, "x\r\ny", to), nullptr);
}

TEST(http_client_url, keeps_its_login_within_its_origin) {
    http_url base, to;
    ASSERT_EQ(parse_url("http://u:p@a/b", base), nullptr);
    for (const auto& [reference, login] :
         {std::pair("/c", "u:p"), std::pair("http://a:80/", "u:p"), std::pair("http://A/", "u:p"), std::pair("http://v@a/", "v:"),
          std::pair("https://a/", ""), std::pair("http://a:81/", ""), std::pair("http://b/", ""), std::pair("//b", "")}) {
        ASSERT_EQ(resolve_url(base, reference, to), nullptr) << reference;
        EXPECT_EQ(to.login, login) << reference;
    }
}

TEST(http_client_url, is_shown_without_its_login) {
    EXPECT_EQ(shown_url("http://u:p@a/x@y"), "\"http://a/x@y\"");
    EXPECT_EQ(shown_url("u:p@a"), "\"a\"");
    EXPECT_EQ(shown_url("http://a/\n"), "\"http://a/\\x0a\"");
    EXPECT_LT(shown_url("http://a/" + std::string(1000, 'x')).size(), 300u);
}

TEST(http_client_url, basic_logins_are_base64) {
    for (const auto& [login, text] :
         {std::pair("Aladdin:open sesame", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="), std::pair("a:b", "Basic YTpi"),
          std::pair("a:bc", "Basic YTpiYw=="), std::pair("", "Basic ")}) {
        std::string out;
        append_basic(out, login);
        EXPECT_EQ(out, text);
    }
}

TEST(http_client_proxy, is_left_out_for_excepted_servers) {
    const proxy_choice p(
        {.http = "http://p:1", .https = "u:w@q:2", .except = "example.org, .local *.in.side,10.0.0.1;[::1]:80, only:81"});
    const auto through = [&](std::string_view url) {
        http_url u;
        EXPECT_EQ(parse_url(url, u), nullptr) << url;
        const auto* const via = p.of(u);
        return via ? via->authority() + " " + via->login : "";
    };
    EXPECT_EQ(through("http://a/"), "p:1 ");
    EXPECT_EQ(through("https://a/"), "q:2 u:w");
    for (const char* direct : {"http://example.org", "https://EXAMPLE.ORG", "http://www.example.org", "http://a.local",
                               "http://local", "http://x.in.side", "http://only:81"})
        EXPECT_EQ(through(direct), "") << direct;
    for (const char* other : {"http://anexample.org", "http://example.org.evil", "http://only", "http://only:82"})
        EXPECT_NE(through(other), "") << other;
    const proxy_choice blocks({.http = "p", .except = "10.0.0.0/8,192.0.2.128/25 fd00::/9,2001:db8::/128,198.51.100.7/32"});
    const auto is_direct = [&](const char* host) { return blocks.of({.tls = false, .login = {}, .host = host}) == nullptr; };
    for (const char* in : {"10.0.0.0", "10.255.3.4", "192.0.2.128", "192.0.2.255", "fd7f::1", "2001:db8::", "198.51.100.7"})
        EXPECT_TRUE(is_direct(in)) << in;
    for (const char* out : {"11.0.0.0", "192.0.2.127", "fd80::1", "2001:db8::1", "198.51.100.6", "::10.0.0.0", "10.example.org",
                            "10.0.0.0.0", "a00::"})
        EXPECT_FALSE(is_direct(out)) << out;
    EXPECT_EQ(proxy_choice({.http = "p", .except = "0.0.0.0/0"}).of({.tls = false, .login = {}, .host = "9.9.9.9"}), nullptr);
    for (const char* bad : {"10.0.0.0/33", "10.0.0.0/", "10.0.0/8", "a/8", "::/129", "10.0.0.0/8x", "10.0.0.0/-1", "/8"})
        EXPECT_THROW(proxy_choice({.http = "p", .except = bad}), std::invalid_argument) << bad;
    EXPECT_EQ(proxy_choice({.http = "p", .except = "*"}).of({.tls = false, .login = {}, .host = "a"}), nullptr);
    EXPECT_THROW(proxy_choice({.http = "socks5://p"}), std::invalid_argument);
    EXPECT_THROW(proxy_choice({.http = "http://p/path"}), std::invalid_argument);
}

}  // namespace
}  // namespace weft::detail
