#include <weft/net/resolve.hpp>

#include <gtest/gtest.h>
#include <netdb.h>

#include <algorithm>

#include <weft/deadline.hpp>
#include <weft/runtime.hpp>

#include "net/socket_address.hpp"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using net::endpoint;

TEST(resolve, a_number_stands_for_itself) {
    EXPECT_EQ(net::resolve("10.1.2.3", 80), (std::vector<endpoint>{{.host = "10.1.2.3", .port = 80}}));
    EXPECT_EQ(net::resolve("::1", 80), (std::vector<endpoint>{{.host = "::1", .port = 80}}));
}

TEST(resolve, an_empty_host_is_loopback) {
    const auto found = net::resolve("", 5);
    EXPECT_NE(std::find(found.begin(), found.end(), endpoint{.host = "127.0.0.1", .port = 5}), found.end());
}

// "127.1" is no address to weft's own parser, so it is looked up; getaddrinfo() knows it on every machine, also where no file names localhost.
TEST(resolve, a_name_is_looked_up_on_fibers_and_threads) {
    const auto check = [] { EXPECT_EQ(net::resolve("127.1", 80), (std::vector<endpoint>{{.host = "127.0.0.1", .port = 80}})); };
    check();
    weft::run(check);
}

TEST(resolve, a_failure_names_the_host_and_has_a_category) {
    weft::run([] {
        std::error_code error;
        EXPECT_TRUE(net::resolve("no such host", 80, error).empty());
        EXPECT_EQ(error.category(), net::resolve_category());
        EXPECT_FALSE(error.message().empty());
        try {
            net::resolve("no such host", 80);
            FAIL();
        } catch (const std::system_error& e) { EXPECT_NE(std::string(e.what()).find("no such host"), std::string::npos); }
    });
}

TEST(resolve, try_again_is_the_standard_condition) {
    EXPECT_EQ(std::error_code(EAI_AGAIN, net::resolve_category()), std::errc::resource_unavailable_try_again);
    EXPECT_EQ(std::error_code(EAI_MEMORY, net::resolve_category()), std::errc::not_enough_memory);
}

TEST(resolve, a_passed_deadline_is_seen_on_entry) {
    weft::run([] {
        EXPECT_THROW(weft::with_timeout(0ns, [] { net::resolve("127.1", 80); }), weft::timeout_error);
        weft::with_timeout(0ns, [] {
            std::error_code error;
            net::resolve("127.1", 80, error);
            EXPECT_EQ(error, std::errc::timed_out);
        });
    });
}

TEST(socket_address, numbers_survive_the_way_to_the_system_and_back) {
    for (const char* text : {"127.0.0.1:80", "[::1]:1", "[2001:db8::7]:65535", "0.0.0.0:0", "[fe80::1%7]:9"}) {
        const auto e = endpoint::parse(text);
        const auto a = detail::parse_numeric(e);
        ASSERT_TRUE(a) << text;
        EXPECT_EQ(detail::to_endpoint(*a), e);
    }
    for (const char* host : {"localhost", "127.1", "1.2.3", "1.2.3.4.5", "::g", "fe80::1%no-such-interface", ""})
        EXPECT_FALSE(detail::parse_numeric({.host = host, .port = 1})) << host;
}

}  // namespace
}  // namespace weft::test
