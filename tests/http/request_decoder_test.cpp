// request_decoder_test.cpp - bytes to requests: framing, limits, and every way to smuggle one request inside another.
#include "http/request_decoder.hpp"

#include <gtest/gtest.h>

#include "http/support/decoding.hpp"

namespace {

using weft::detail::decode_limits;
using weft::detail::decode_phase;
using weft::test::decode;
using weft::test::decode_cut_at;
using weft::test::decode_in_pieces;
using weft::test::transcript;

/// Whatever the cut, the outcome is that of the bytes in one piece.
transcript decode_every_way(std::string_view bytes, decode_limits limits = {}) {
    const auto whole = decode(bytes, limits);
    for (std::size_t at = 1; at < bytes.size(); ++at)
        EXPECT_EQ(decode_cut_at(bytes, at, limits), whole) << bytes << "\ncut at " << at;
    for (std::size_t piece : {1, 2, 3, 7})
        EXPECT_EQ(decode_in_pieces(bytes, piece, limits), whole) << bytes << "\npieces of " << piece;
    return whole;
}

void expect_one(std::string_view bytes, std::string_view described) {
    const auto seen = decode_every_way(bytes);
    EXPECT_EQ(seen.refused, 0) << seen.words << "\n" << bytes;
    ASSERT_EQ(seen.requests.size(), 1u) << bytes;
    EXPECT_EQ(seen.requests[0], described);
    EXPECT_EQ(seen.left, decode_phase::idle);
}

void expect_refused(int status, std::string_view bytes, decode_limits limits = {}) {
    const auto seen = decode_every_way(bytes, limits);
    EXPECT_EQ(seen.refused, status) << bytes << "\n" << seen.words;
    EXPECT_TRUE(seen.requests.empty()) << bytes;
}

TEST(request_decoder, reads_a_plain_request) {
    expect_one("GET /users/7?x=1 HTTP/1.1\r\nHost: a\r\nX-Y:  two words \r\n\r\n",
               "GET /users/7?x=1 1.1 keep Host=a X-Y=two words []");
}

TEST(request_decoder, reads_a_body_by_content_length) {
    expect_one("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello", "POST / 1.1 keep Host=a Content-Length=5 [hello]");
    expect_one("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", "POST / 1.1 keep Host=a Content-Length=0 []");
}

TEST(request_decoder, reads_a_chunked_body) {
    expect_one(
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nA;x=\"y\"\r\n, 10 bytes\r\n0\r\n\r\n",
        "POST / 1.1 keep Host=a Transfer-Encoding=chunked [hello, 10 bytes]");
    expect_one("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n",
               "POST / 1.1 keep Host=a Transfer-Encoding=Chunked []");
}

TEST(request_decoder, drops_trailers) {
    expect_one("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX-Sum: 1\r\nHost: b\r\n\r\n",
               "POST / 1.1 keep Host=a Transfer-Encoding=chunked [x]");
}

TEST(request_decoder, knows_when_a_connection_may_go_on) {
    expect_one("GET / HTTP/1.0\r\n\r\n", "GET / 1.0 close []");
    expect_one("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "GET / 1.0 keep Connection=keep-alive []");
    expect_one("GET / HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n", "GET / 1.1 close Host=a Connection=Close []");
    expect_one("GET / HTTP/1.1\r\nHost: a\r\nConnection: x, close\r\n\r\n", "GET / 1.1 close Host=a Connection=x, close []");
}

TEST(request_decoder, close_wins_over_keep_alive_in_HTTP_1_0_too) {
    expect_one("GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", "GET / 1.0 close Connection=keep-alive, close []");
    expect_one("GET / HTTP/1.0\r\nConnection: Close\r\nConnection: keep-alive\r\n\r\n",
               "GET / 1.0 close Connection=Close Connection=keep-alive []");
    expect_one("GET / HTTP/1.0\r\nConnection: keep-alive, closed\r\n\r\n", "GET / 1.0 keep Connection=keep-alive, closed []");
}

TEST(request_decoder, keeps_pipelined_requests_in_order) {
    const auto seen = decode_every_way(
        "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nPOST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi"
        "GET /3 HTTP/1.1\r\nHost: a\r\n\r\n\r\n\r\nGET /4 HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_EQ(seen.requests.size(), 4u);
    EXPECT_EQ(seen.requests[1], "POST /2 1.1 keep Host=a Content-Length=2 [hi]");
    EXPECT_EQ(seen.requests[3], "GET /4 1.1 keep Host=a []");
}

TEST(request_decoder, takes_the_absolute_form) {
    expect_one("GET http://a:80/x?y HTTP/1.1\r\nHost: a:80\r\n\r\n", "GET /x?y 1.1 keep Host=a:80 []");
    expect_one("GET HTTPS://a HTTP/1.1\r\nHost: a\r\n\r\n", "GET / 1.1 keep Host=a []");
    expect_one("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS * 1.1 keep Host=a []");
}

TEST(request_decoder, takes_the_host_of_an_absolute_target_instead_of_that_of_the_field) {
    expect_one("GET http://b:81/x HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\n", "GET /x 1.1 keep X=y Host=b:81 []");
    expect_one("GET http://b HTTP/1.0\r\n\r\n", "GET / 1.0 close Host=b []");
}

TEST(request_decoder, refuses_other_targets) {
    expect_refused(400, "GET x HTTP/1.1\r\nHost: a\r\n\r\n");
    expect_refused(400, "GET * HTTP/1.1\r\nHost: a\r\n\r\n");
    expect_refused(400, "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n");
    expect_refused(400, "GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n");
    expect_refused(400, "GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n");
    for (const char* host : {"u:p@a", "a:b:c", ":80", "[::1", "a|b", "a\x80"})
        expect_refused(400, "GET http://" + std::string(host) + "/x HTTP/1.1\r\nHost: a\r\n\r\n");
    expect_refused(501, "CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n");
}

TEST(request_decoder, refuses_raw_bytes_from_0x80_in_targets) {
    for (const char* target : {"/\xff", "/\x80", "/caf\xc3\xa9", "/1234567\xff",
                               "/12345678\xff"
                               "123456789",
                               "/?a=\xc3\xa9", "http://a/\xff"})
        expect_refused(400, "GET " + std::string(target) + " HTTP/1.1\r\nHost: a\r\n\r\n");
    expect_one("GET /caf%C3%A9?a=\x7e|^{} HTTP/1.1\r\nHost: a\r\nX: \xc3\xa9\r\n\r\n",
               "GET /caf%C3%A9?a=~|^{} 1.1 keep Host=a X=\xc3\xa9 []");
}

TEST(request_decoder, refuses_what_is_no_request_line) {
    expect_refused(400, "\x16\x03\x01\x02\x05 TLS");
    expect_refused(400, "GET /\r\nHost: a\r\n\r\n");
    expect_refused(400, "GET  / HTTP/1.1\r\nHost: a\r\n\r\n");
    expect_refused(400, "GET / HTTP/1.1 \r\nHost: a\r\n\r\n");
    expect_refused(400, " GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    expect_refused(400, "G@T / HTTP/1.1\r\nHost: a\r\n\r\n");
    expect_refused(400, "GET / HTTP/x\r\nHost: a\r\n\r\n");
    expect_refused(400, "GET / http/1.1\r\nHost: a\r\n\r\n");
    expect_refused(400, "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n");
    expect_refused(400, "GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n");
    expect_refused(400, "hello\r\n");
}

TEST(request_decoder, refuses_other_versions_by_505) {
    expect_refused(505, "GET / HTTP/2.0\r\nHost: a\r\n\r\n");
    expect_refused(505, "GET / HTTP/0.9\r\nHost: a\r\n\r\n");
    expect_refused(505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
}

TEST(request_decoder, says_so_before_a_bad_head_is_whole) {
    EXPECT_EQ(decode("\x16").refused, 400);
    EXPECT_EQ(decode("hello\r\n").refused, 400);
    EXPECT_EQ(decode("GET / HTTP/1.1\r\nHost: a\n").refused, 400);
    EXPECT_EQ(decode("GET / HTTP/3.0\r\n").refused, 505);
}

TEST(request_decoder, refuses_bad_fields) {
    expect_refused(400, "GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n");
    expect_refused(400, "GET / HTTP/1.1\r\nHost: a\r\n: nothing\r\n\r\n");
    expect_refused(400, "GET / HTTP/1.1\r\nHost : a\r\n\r\n");
    expect_refused(400, "GET / HTTP/1.1\r\nHost: a\r\nX(Y): 1\r\n\r\n");
    expect_refused(400, "GET / HTTP/1.1\r\nHost: a\r\nX\x01: 1\r\n\r\n");
    expect_refused(400, "GET / HTTP/1.1\r\nHost: a\r\nX: 1\x02\r\n\r\n");
    expect_refused(400, "GET / HTTP/1.1\r\nHost: a\r\nX: 1\x7f\r\n\r\n");
    expect_refused(400, std::string_view("GET / HTTP/1.1\r\nHost: a\r\nX: 1\0\r\n\r\n", 34));
    expect_refused(400, "GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n folded\r\n\r\n");
    expect_refused(400, "GET / HTTP/1.1\r\n Host: a\r\n\r\n");
    expect_refused(400, "GET / HTTP/1.1\r\nHost: a\r\nConnection: (\r\n\r\n");
}

TEST(request_decoder, refuses_bare_line_feeds_and_carriage_returns) {
    expect_refused(400, "GET / HTTP/1.1\nHost: a\n\n");
    expect_refused(400, "GET / HTTP/1.1\r\nHost: a\r\n\n");
    expect_refused(400, "GET / HTTP/1.1\r\nHost: a\nX: 1\r\n\r\n");
    expect_refused(400, "GET / HTTP/1.1\r\nX: 1\rY: 2\r\nHost: a\r\n\r\n");
}

TEST(request_decoder, wants_one_good_host) {
    expect_refused(400, "GET / HTTP/1.1\r\n\r\n");
    expect_refused(400, "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n");
    expect_refused(400, "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n");
    expect_refused(400, "GET / HTTP/1.1\r\nHost: a b\r\n\r\n");
    expect_refused(400, "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n");
    expect_refused(400, "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n");
    expect_refused(400, "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n");
    expect_one("GET / HTTP/1.1\r\nhost: [::1]:80\r\n\r\n", "GET / 1.1 keep host=[::1]:80 []");
    for (const char* host : {"a", "a.b-c_d~e", "a:80", "a:", "a:65535", "127.0.0.1:8080", "[::1]", "[::1]:", "[::ffff:1.2.3.4]:1",
                             "xn--9ca", "a%C3%A9b", "!$&'*+;=", "A"})
        EXPECT_EQ(decode("GET / HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n").refused, 0) << host;
    for (const char* host : {"a#b",
                             "a^b",
                             "a`b",
                             "a|b",
                             "a%zz",
                             "a%4",
                             "a%",
                             "::::",
                             ":",
                             ":80",
                             "[",
                             "]",
                             "[]",
                             "[::1",
                             "::1]",
                             "[::1]80",
                             "[::1]:x",
                             "[::1]]",
                             "[g::1]",
                             "[1.2.3.4]",
                             "[a]",
                             "[v1.a]",
                             "[fe80::1%25eth0]",
                             "a[b]c",
                             "()",
                             "a:b:c",
                             "a:80:80",
                             "a:99999999",
                             "a:65536",
                             "a:-1",
                             "a:8o",
                             "::1",
                             "a,b",
                             "a\\b",
                             "<a>",
                             "\"a\"",
                             "a?b",
                             "a\x80",
                             "\xc3\xa4",
                             "[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]"})
        EXPECT_EQ(decode("GET / HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n").refused, 400) << host;
    expect_one("GET / HTTP/1.1\r\nHost:\r\n\r\n", "GET / 1.1 keep Host= []");
}

TEST(request_decoder, refuses_doubtful_content_lengths) {
    for (const char* length : {"-1", "+1", "0x5", "5,5", "5, 5", "5 5", "", "five", "5;", "99999999999999999999999"})
        expect_refused(400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::string(length) + "\r\n\r\nhello");
    expect_refused(400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello");
    expect_refused(400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello");
}

TEST(request_decoder, refuses_content_length_with_transfer_encoding) {
    expect_refused(400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    expect_refused(400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n");
    expect_refused(400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello");
}

TEST(request_decoder, refuses_transfer_encodings_but_chunked) {
    for (const char* coding : {"gzip", "gzip, chunked", "chunked, gzip", "chunked, chunked", "identity", "xchunked",
                               "chunked;q=1", "\"chunked\"", ",chunked", "chunked,", "",
                               "\x0b"
                               "chunked"})
        expect_refused(400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: " + std::string(coding) + "\r\n\r\n0\r\n\r\n");
    expect_refused(400,
                   "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    expect_refused(400,
                   "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n");
    expect_refused(400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n");
    expect_refused(400, "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
}

TEST(request_decoder, refuses_bad_chunks) {
    const std::string head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (const char* body : {"x\r\n", "-1\r\n", "+1\r\nx\r\n", " 1\r\nx\r\n", "\r\n\r\n", "1 \r\nx\r\n0\r\n\r\n",
                             "1;\r\nx\r\n0\r\n\r\n", "1\r\nxy\r\n0\r\n\r\n", "1\nx\n0\n\n0\r\n\r\n", "00000000000000001\r\nx",
                             "0x1\r\nx\r\n0\r\n\r\n", "1\r\nx0\r\n\r\n", "1\r\nx\r\r\n0\r\n\r\n"})
        expect_refused(400, head + body);
}

TEST(request_decoder, an_unfinished_body_is_no_request) {
    for (const char* bytes : {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhell",
                              "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n"}) {
        const auto seen = decode_every_way(bytes);
        EXPECT_EQ(seen.refused, 0);
        EXPECT_TRUE(seen.requests.empty());
        EXPECT_EQ(seen.left, decode_phase::body);
    }
}

TEST(request_decoder, limits_the_head) {
    const decode_limits limits{.max_header_bytes = 64, .max_body_bytes = 100};
    const std::string head = "GET / HTTP/1.1\r\nHost: a\r\nX: ";
    const std::string fits = head + std::string(64 - head.size() - 4, 'x') + "\r\n\r\n";
    ASSERT_EQ(fits.size(), 64u);
    EXPECT_EQ(decode_every_way(fits, limits).requests.size(), 1u);
    expect_refused(431, head + std::string(64 - head.size() - 3, 'x') + "\r\n\r\n", limits);
    expect_refused(431, "GET /" + std::string(200, 'a'), limits);
    expect_refused(431, head + std::string(5000, 'x'), limits);
}

TEST(request_decoder, limits_the_number_of_fields) {
    const std::string head = "GET / HTTP/1.1\r\nHost: a\r\n", field = "a:\r\n";
    const decode_limits limits{.max_header_fields = 3};
    EXPECT_EQ(decode_every_way(head + field + field + "\r\n", limits).requests.size(), 1u);
    expect_refused(431, head + field + field + field + "\r\n", limits);
    std::string many = head;
    for (int i = 0; i < 127; ++i) many += field;
    EXPECT_EQ(decode(many + "\r\n").requests.size(), 1u);
    EXPECT_EQ(decode(many + field + "\r\n").refused, 431);
}

TEST(request_decoder, limits_the_number_of_query_parameters) {
    const std::string rest = " HTTP/1.1\r\nHost: a\r\n\r\n";
    const decode_limits limits{.max_query_parameters = 3};
    EXPECT_EQ(decode_every_way("GET /?a&b=1&&&c&" + rest, limits).requests.size(), 1u);
    expect_refused(414, "GET /?a&b=1&&&c&d" + rest, limits);
    expect_refused(414, "GET http://a/?a&b&c&d" + rest, limits);
    expect_refused(414, "GET /?a" + rest, {.max_query_parameters = 0});
    EXPECT_EQ(decode("GET /?" + rest, {.max_query_parameters = 0}).requests.size(), 1u);
    std::string many = "GET /?a";
    for (int i = 1; i < 1000; ++i) many += "&a";
    EXPECT_EQ(decode(many + rest).requests.size(), 1u);
    EXPECT_EQ(decode(many + "&a" + rest).refused, 414);
}

TEST(request_decoder, limits_the_body) {
    const decode_limits limits{.max_header_bytes = 1000, .max_body_bytes = 4};
    expect_refused(413, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello", limits);
    expect_refused(413, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", limits);
    expect_refused(413, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nhello", limits);
    expect_refused(413, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nh\r\nffffffffffffffff\r\nhello",
                   limits);
    expect_refused(413, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
                   limits);
    EXPECT_EQ(decode_every_way("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nhell", limits).requests.size(), 1u);
}

TEST(request_decoder, limits_what_stands_around_chunks) {
    const decode_limits limits{.max_header_bytes = 100, .max_body_bytes = 1000};
    const std::string head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    EXPECT_EQ(decode(head + "1;" + std::string(5000, 'x'), limits).refused, 431);
    EXPECT_EQ(decode(head + "0\r\nX: " + std::string(200, 'x') + "\r\n\r\n", limits).refused, 431);
    std::string many = head;
    for (int i = 0; i < 100; ++i) many += "1;abcdef\r\nx\r\n";
    EXPECT_EQ(decode(many + "0\r\n\r\n", limits).refused, 431);
}

TEST(request_decoder, tells_once_that_the_sender_waits) {
    const std::string head = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\n";
    EXPECT_EQ(decode(head).expectations, 1u);
    EXPECT_EQ(decode_in_pieces(head + "h", 1).expectations, 1u);
    EXPECT_EQ(decode(head + "hi").expectations, 0u);
    EXPECT_EQ(decode("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n").expectations, 0u);
    expect_refused(417, "POST / HTTP/1.1\r\nHost: a\r\nExpect: miracles\r\nContent-Length: 2\r\n\r\nhi");
}

TEST(request_decoder, refuses_for_good) {
    weft::test::decoding d;
    EXPECT_FALSE(d.receive("hello\r\n"));
    EXPECT_FALSE(d.receive("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
    EXPECT_TRUE(d.result().requests.empty());
}

TEST(request_decoder, reads_large_bodies_through_a_small_buffer) {
    const std::string body(1 << 20, 'b');
    const auto seen = decode_in_pieces("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1048576\r\n\r\n" + body, 1000);
    ASSERT_EQ(seen.requests.size(), 1u);
    EXPECT_EQ(seen.requests[0].size(), sizeof("POST / 1.1 keep Host=a Content-Length=1048576 []") - 1 + body.size());
}

}  // namespace
