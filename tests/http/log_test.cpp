// log_test.cpp - what a server tells of its requests: whom they came from, the access log, and that nothing in it is forged.
#include <weft/http/log.hpp>
#include <weft/http/server.hpp>

#include <gtest/gtest.h>

#include <mutex>

#include "base/in_quotes.hpp"
#include "http/support/served.hpp"

namespace {

using namespace weft;
using namespace std::chrono_literals;
using test::get;

TEST(printable, holds_no_control_and_nothing_that_is_not_UTF_8) {
    using detail::printable;
    EXPECT_EQ(printable("plain text"), "plain text");
    EXPECT_EQ(printable("a\nb\x1b[2J\x7f"), "a\\x0ab\\x1b[2J\\x7f");
    EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
    EXPECT_EQ(printable("\x9b"
                        "31m"),
              "\\x9b31m");                 // CSI as one byte
    EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");                 // and as UTF-8
    EXPECT_EQ(printable("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"), "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
    EXPECT_EQ(printable("\xe2\x80\xa8"), "\\xe2\\x80\\xa8");        // LINE SEPARATOR
    EXPECT_EQ(printable("\xc0\x8a"), "\\xc0\\x8a");                 // an overlong line feed
    EXPECT_EQ(printable("\xe0\x80\x8a\xed\xa0\x80\xf0\x80\x80\x8a\xf4\x90\x80\x80\xff"),
              "\\xe0\\x80\\x8a\\xed\\xa0\\x80\\xf0\\x80\\x80\\x8a\\xf4\\x90\\x80\\x80\\xff");
    EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82");                 // cut off
}

TEST(http_log, common_log_line_has_the_form_and_forges_nothing) {
    const net::endpoint peer{.host = "192.0.2.1", .port = 7};
    const http::request q(http::request_parts{.method = "GET", .target = "/a\"\\\n\x9b"});
    const auto line = http::common_log_line({.asked = q, .peer = peer, .status = 200, .bytes = 12, .duration = 1ms});
    EXPECT_EQ(line.find("192.0.2.1 - - ["), 0u) << line;
    EXPECT_NE(line.find(" +0000] \"GET /a\\x22\\x5c\\x0a\\x9b HTTP/1.1\" 200 12"), std::string::npos) << line;
    const http::request unknown(http::request_parts{.method = {}, .target = {}});
    EXPECT_NE(
        http::common_log_line({.asked = unknown, .peer = {}, .status = 400, .bytes = 0, .duration = {}}).find("] \"-\" 400 -"),
        std::string::npos);
}

TEST(http_log, the_name_of_a_unix_socket_forges_nothing) {
    const net::endpoint peer{.host = "unix:@x\n127.0.0.1 - - [now] \"GET", .port = 0};
    const http::request q(http::request_parts{.target = "/"});
    const std::string shown = "unix:@x\\x0a127.0.0.1\\x20-\\x20-\\x20[now]\\x20\\x22GET - - [";
    const http::access a{.asked = q, .peer = peer, .status = 200, .bytes = 1, .duration = {}};
    for (const auto& line : {http::common_log_line(a), http::combined_log_line(a)}) {
        EXPECT_EQ(line.find(shown), 0u) << line;
        EXPECT_EQ(line.find('\n'), std::string::npos) << line;
    }
    EXPECT_EQ(to_string(http::cut_short{.asked = q, .peer = peer, .sent = 1, .total = 2, .why = "why"}).find('\n'),
              std::string::npos);
}

class http_log_of : public test::served {};
WEFT_ON_1_2_4_8_WORKERS(http_log_of);

TEST_P(http_log_of, a_failed_handler_forges_no_line) {
    app.get("/fail/{what}",
            [](const http::request& q) -> http::response { throw std::runtime_error("no such user: " + q.path("what")); });
    start();
    testing::internal::CaptureStderr();
    auto c = connect();
    EXPECT_EQ(c.ask(get("/fail/x%0Aweft:%20fatal%1b%9b")).status, 500);
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "weft: http: GET /fail/x%0Aweft:%20fatal%1b%9b: no such user: x\\x0aweft: fatal\\x1b\\x9b\n");
}

TEST_P(http_log_of, every_answer_is_told_once) {
    std::mutex lock;
    std::vector<std::string> seen;
    start({.on_access = [&](const http::access& a) {
        const std::lock_guard guard(lock);
        seen.push_back(a.asked.method() + ' ' + a.asked.target() + ' ' + std::to_string(a.status) + ' ' +
                       std::to_string(a.bytes));
        EXPECT_EQ(a.peer.host.substr(a.peer.host.size() - 9), "127.0.0.1");
        EXPECT_GE(a.duration.count(), 0);
        if (a.status == 404) throw 1;                               // harms nobody
    }});
    auto c = connect();
    c.ask(get("/users/77"));
    c.ask(get("/nothing"));
    c.ask(get("/throw"));
    c.ask(get("/large/20000"));
    c.send("HEAD /users/5 HTTP/1.1\r\nHost: a\r\n\r\n");
    c.receive(false);
    c.ask("nonsense\r\n");
    stop();
    EXPECT_EQ(seen[0], "GET /users/77 200 2");
    EXPECT_EQ(seen[1].find("GET /nothing 404"), 0u);
    EXPECT_EQ(seen[2].find("GET /throw 500"), 0u);
    EXPECT_EQ(seen[3], "GET /large/20000 200 20000");
    EXPECT_EQ(seen[4], "HEAD /users/5 200 0");
    EXPECT_EQ(seen[5].find("  400 "), 0u) << seen[5];
    EXPECT_EQ(seen.size(), 6u);
}

TEST_P(http_log_of, a_request_knows_its_peer_and_so_does_its_copy) {
    http::request kept;
    std::uint16_t port = 0;
    app.get("/peer", [&](const http::request& q) {
        kept = q;
        const http::request second(q);
        port = second.peer().port;
        return http::text(200, q.peer().host + (q.peer() == second.peer() ? "" : " is another"));
    });
    start();
    {
        auto c = connect();
        const auto body = c.ask(get("/peer")).body;
        EXPECT_EQ(body.substr(body.size() - 9), "127.0.0.1");
    }
    stop();
    EXPECT_EQ(kept.peer().port, port);
    EXPECT_NE(port, 0);
    EXPECT_EQ(http::request().peer(), net::endpoint{});
    EXPECT_EQ(http::request(http::request_parts{.peer = net::endpoint{.host = "::1", .port = 1}}).peer().port, 1);
}

}  // namespace
