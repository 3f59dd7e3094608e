// refusal_test.cpp - what a server says to bad and slow clients, and that it says it to nobody else.
#include "http/support/served.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace {

using namespace weft;
using namespace std::chrono_literals;
using test::get;

class http_refusal : public test::served {};
WEFT_ON_1_2_4_8_WORKERS(http_refusal);

struct bad_input {
    int status;
    std::string bytes;
};

std::vector<bad_input> bad_inputs() {
    const std::string post = "POST /echo HTTP/1.1\r\nHost: a\r\n";
    return {
        {400, "hello\r\n\r\n"},
        {400, "GET / HTTP/1.1\nHost: a\n\n"},
        {400, std::string("\0\0\0", 3)},
        {400, "GET / HTTP/1.1\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n 2\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\nHost: a\r\nX: \x01\r\n\r\n"},
        {400, "GET /users/%zz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"},
        {400, post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
        {400, post + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello"},
        {400, post + "Content-Length: -5\r\n\r\nhello"},
        {400, post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"},
        {400, post + "Transfer-Encoding: identity\r\n\r\n"},
        {400, post + "Transfer-Encoding: chunked\r\n\r\nzz\r\n"},
        {417, post + "Expect: a miracle\r\nContent-Length: 5\r\n\r\nhello"},
        {431, "GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(20000, 'x') + "\r\n\r\n"},
        {431, "GET /" + std::string(20000, 'x') + " HTTP/1.1\r\nHost: a\r\n\r\n"},
        {413, post + "Content-Length: 1048577\r\n\r\n"},
        {413, post + "Transfer-Encoding: chunked\r\n\r\n100001\r\n"},
        {501, "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n"},
        {505, "GET / HTTP/2.0\r\nHost: a\r\n\r\n"},
    };
}

TEST_P(http_refusal, answers_bad_input_and_closes) {
    start();
    auto neighbour = connect();
    for (const auto& [status, bytes] : bad_inputs()) {
        auto c = connect();
        const auto r = c.ask(bytes);
        EXPECT_EQ(r.status, status) << bytes.substr(0, 100);
        EXPECT_EQ(r.header("Connection"), "close") << bytes.substr(0, 100);
        EXPECT_TRUE(r.body.starts_with(std::to_string(status))) << r.body;
        EXPECT_TRUE(c.ended()) << bytes.substr(0, 100);
        EXPECT_EQ(neighbour.ask(get("/users/1")).body, "1");
    }
}

TEST_P(http_refusal, answers_what_came_before_the_bad_input) {
    start();
    auto c = connect();
    c.send(get("/users/1") + get("/users/2") + "nonsense\r\n" + get("/users/3"));
    EXPECT_EQ(c.receive().body, "1");
    EXPECT_EQ(c.receive().body, "2");
    EXPECT_EQ(c.receive().status, 400);
    EXPECT_TRUE(c.ended());
}

TEST_P(http_refusal, reaches_a_client_that_goes_on_sending) {
    start({.max_body_bytes = 1000});
    auto c = connect();
    c.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\n\r\n");
    c.send(std::string(3000000, 'x'));
    EXPECT_EQ(c.receive().status, 413);
    c.half_close();
    EXPECT_TRUE(c.ended());
}

TEST_P(http_refusal, says_so_when_a_request_ends_early) {
    start();
    for (std::string_view bytes : {"GET / HT", "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc"}) {
        auto c = connect();
        c.send(bytes);
        c.half_close();
        EXPECT_EQ(c.receive().status, 400);
        EXPECT_TRUE(c.ended());
    }
}

TEST_P(http_refusal, gives_a_slow_header_408) {
    start({.header_timeout = 60ms});
    auto c = connect();
    EXPECT_TRUE(c.silent_for(100));                                // the time runs from the first byte
    c.send("GET / HTTP/1.1\r\n");
    EXPECT_EQ(c.receive().status, 408);
    EXPECT_TRUE(c.ended());
}

TEST_P(http_refusal, is_not_put_off_by_single_bytes) {
    start({.header_timeout = 60ms, .body_timeout = 60ms});
    auto head = connect();
    for (int i = 0; i < 15 && head.send("G"); ++i) std::this_thread::sleep_for(10ms);
    EXPECT_EQ(head.receive().status, 408);
    auto body = connect();
    body.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n");
    for (int i = 0; i < 15 && body.send("x"); ++i) std::this_thread::sleep_for(10ms);
    EXPECT_EQ(body.receive().status, 408);
}

TEST_P(http_refusal, times_each_pipelined_request_from_its_own_first_byte) {
    start({.header_timeout = 1500ms});
    auto c = connect();
    for (int i = 0; i < 4; ++i) {              // together longer than one limit
        c.send("GET /users/1 HTTP/1.1\r\n");
        std::this_thread::sleep_for(450ms);
        c.send("Host: a\r\n\r\n");
        EXPECT_EQ(c.receive().body, "1");
    }
}

TEST_P(http_refusal, closes_an_idle_connection_without_a_word) {
    start({.idle_timeout = 60ms});
    auto fresh = connect();
    auto used = connect();
    EXPECT_EQ(used.ask(get("/")).status, 200);
    EXPECT_TRUE(fresh.ended());
    EXPECT_TRUE(used.ended());
}

TEST_P(http_refusal, empty_lines_keep_no_idle_connection) {
    start({.idle_timeout = 150ms});
    auto c = connect();
    int lines = 0;
    for (; lines < 500 && c.silent_for(20); ++lines) c.send("\r\n");
    EXPECT_LT(lines, 500);
}

TEST_P(http_refusal, gives_up_a_client_that_never_reads) {
    start({.write_timeout = 60ms});
    auto deaf = connect();
    deaf.send(get("/large/30000000"));
    auto other = connect();
    EXPECT_EQ(other.ask(get("/users/1")).body, "1");
    stop();                                                        // would not return within the test's time otherwise
}

}  // namespace
