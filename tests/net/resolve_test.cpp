#include <weft/net/resolve.hpp>

#include <gtest/gtest.h>
#include <netdb.h>

#include <algorithm>

#include <weft/deadline.hpp>
#include <weft/net/tcp.hpp>
#include <weft/runtime.hpp>

#include "net/socket_address.hpp"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
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

TEST(resolve, what_can_be_no_host_is_refused_wherever_an_endpoint_leads) {
    const auto local_port = [] { return tcp::listener({.host = "127.0.0.1", .port = 0}).local().port; }();
    for (const std::string& host : {"127.0.0.1\0.example.com"s, "localhost\0"s, "\0"s, "::1\0x"s, "fe80::1%1\0"s, "127.0.0.1 x"s,
                                    "[::1]"s, "a\nb"s, "local\x7fhost"s}) {
        SCOPED_TRACE(host);
        const endpoint e{.host = host, .port = local_port};
        EXPECT_FALSE(detail::parse_numeric(e));
        std::error_code error;
        EXPECT_TRUE(net::resolve(host, 80, error).empty());
        EXPECT_EQ(error, std::errc::invalid_argument);
        EXPECT_EQ(error.category(), net::resolve_category());
        EXPECT_FALSE(tcp::stream::connect(e, error).is_open());
        EXPECT_EQ(error, std::errc::invalid_argument);
        EXPECT_THROW(tcp::stream::connect(e), std::system_error);
        EXPECT_THROW(tcp::listener{e}, std::system_error);
    }
}

TEST(resolve, a_refused_host_is_shown_whole) {
    try {
        tcp::stream::connect({.host = "127.0.0.1\0.example.com"s, .port = 80});
        ADD_FAILURE() << "connected";
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.what(),
                  "weft: connect to \"127.0.0.1\\x00.example.com:80\": the host has a space, a bracket or a control byte"s);
    }
}

TEST(resolve, a_mapped_address_is_the_IPv4_address_it_is) {
    const auto there_and_back = [](const char* host) {
        return detail::to_endpoint(detail::parse_numeric({.host = host, .port = 80}).value());
    };
    EXPECT_EQ(there_and_back("::ffff:10.1.2.3"), (endpoint{.host = "10.1.2.3", .port = 80}));
    EXPECT_EQ(there_and_back("::ffff:0:0"), (endpoint{.host = "0.0.0.0", .port = 80}));
    EXPECT_EQ(there_and_back("::10.1.2.3").host, "::10.1.2.3") << "a compatible one is not mapped";
    EXPECT_EQ(there_and_back("64:ff9b::1").host, "64:ff9b::1");
}

TEST(resolve, an_IPv4_client_of_a_listener_for_both_has_an_IPv4_address) {
    weft::run([] {
        tcp::listener both({.host = "", .port = 0});
        const auto client = tcp::stream::connect({.host = "127.0.0.1", .port = both.local().port});
        const auto peer = both.accept();
        EXPECT_EQ(peer.remote(), client.local());
        EXPECT_EQ(peer.local(), client.remote());
        EXPECT_EQ(peer.remote().host, "127.0.0.1");
    });
}

TEST(resolve, a_failure_names_the_host_and_has_a_category) {
    weft::run([] {
        std::error_code error;
        EXPECT_TRUE(net::resolve("no..such.host", 80, error).empty());
        EXPECT_EQ(error.category(), net::resolve_category());
        EXPECT_FALSE(error.message().empty());
        try {
            static_cast<void>(net::resolve("no..such.host", 80));
            FAIL();
        } catch (const std::system_error& e) {
            EXPECT_NE(std::string(e.what()).find("no..such.host"), std::string::npos);
        }
    });
}

TEST(resolve, try_again_is_the_standard_condition) {
    EXPECT_EQ(std::error_code(EAI_AGAIN, net::resolve_category()), std::errc::resource_unavailable_try_again);
    EXPECT_EQ(std::error_code(EAI_MEMORY, net::resolve_category()), std::errc::not_enough_memory);
}

TEST(resolve, a_passed_deadline_is_seen_on_entry) {
    weft::run([] {
        EXPECT_THROW(weft::with_timeout(0ns, [] { return net::resolve("127.1", 80); }), weft::timeout_error);
        weft::with_timeout(0ns, [] {
            std::error_code error;
            static_cast<void>(net::resolve("127.1", 80, error));
            EXPECT_EQ(error, std::errc::timed_out);
        });
    });
}

TEST(socket_address, numbers_survive_the_way_to_the_system_and_back) {
    for (const char* text : {"127.0.0.1:80", "[::1]:1", "[2001:db8::7]:65535", "0.0.0.0:0", "255.255.255.255:1", "10.9.100.99:7", "[fe80::1%7]:9"}) {
        const auto e = endpoint::parse(text);
        const auto a = detail::parse_numeric(e);
        ASSERT_TRUE(a) << text;
        EXPECT_EQ(detail::to_endpoint(*a), e);
    }
    const auto mapped = detail::parse_numeric(endpoint::parse("[::ffff:192.0.2.10]:80"));
    ASSERT_TRUE(mapped);
    EXPECT_EQ(detail::to_endpoint(*mapped), endpoint::parse("192.0.2.10:80"));
    for (const char* host : {"localhost", "127.1", "1.2.3", "1.2.3.4.5", "::g", "fe80::1%no-such-interface", ""})
        EXPECT_FALSE(detail::parse_numeric({.host = host, .port = 1})) << host;
}

}  // namespace
}  // namespace weft::test
