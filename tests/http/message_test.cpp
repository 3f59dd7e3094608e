// message_test.cpp - headers, requests and responses as values.
#include <weft/http/message.hpp>

#include <gtest/gtest.h>

#include <stdexcept>

#include "http/response_writer.hpp"
#include "http/uri.hpp"

namespace {

using namespace weft;

TEST(headers, are_found_whatever_the_case) {
    http::headers h{{"Content-Type", "a"}, {"X", "1"}, {"x", "2"}};
    EXPECT_EQ(h.find("content-TYPE"), "a");
    EXPECT_EQ(h.find("X"), "1");
    EXPECT_FALSE(h.find("Y"));
    EXPECT_EQ(h.size(), 3u);
    EXPECT_EQ(h[2].value, "2");
}

TEST(headers, set_replaces_all_of_a_name) {
    http::headers h{{"X", "1"}, {"Y", "2"}, {"x", "3"}};
    h.set("X", *h.find("Y"));
    EXPECT_EQ(h.size(), 2u);
    EXPECT_EQ(h.find("x"), "2");
    EXPECT_EQ(h.erase("y"), 1u);
    EXPECT_EQ(h.erase("y"), 0u);
}

TEST(headers, cannot_be_split_by_a_value) {
    http::headers h;
    EXPECT_THROW(h.add("X", "1\r\nSet-Cookie: y"), std::invalid_argument);
    EXPECT_THROW(h.add("X: 1", "1"), std::invalid_argument);
    EXPECT_THROW(h.add("", "1"), std::invalid_argument);
    EXPECT_THROW(h.set("X", std::string_view("\0", 1)), std::invalid_argument);
    EXPECT_TRUE(h.empty());
}

TEST(request, answers_about_its_parts) {
    http::request_parts parts;
    parts.method = "PUT";
    parts.target = "/a/b?x=1&x=2&y";
    parts.path_parameters = {{"id", "7"}};
    detail::parse_query("x=1&x=2&y&z=%41+%zz&&=v", parts.query_parameters);
    const http::request q(parts);
    const http::request copy = q;
    EXPECT_EQ(copy.path(), "/a/b");
    EXPECT_EQ(copy.path("id"), "7");
    EXPECT_THROW(copy.path("name"), std::out_of_range);
    EXPECT_EQ(copy.query("x"), "1");
    EXPECT_TRUE(copy.has_query("y"));
    EXPECT_EQ(copy.query("y"), "");
    EXPECT_EQ(copy.query("z"), "A %zz");
    EXPECT_FALSE(copy.has_query("w"));
    EXPECT_EQ(copy.query("w"), "");
    EXPECT_EQ(copy.header("Host"), "");
}

TEST(response, is_made_of_text_or_json) {
    EXPECT_EQ(http::text(200, "a").headers.find("content-type"), "text/plain; charset=utf-8");
    EXPECT_EQ(http::text(404, std::string("b")).body, "b");
    EXPECT_EQ(http::text(200, std::string_view("c")).body, "c");
    const auto j = http::json(201, "{}");
    EXPECT_EQ(j.status, 201);
    EXPECT_EQ(j.headers.find("Content-Type"), "application/json");
}

std::string head_of(const http::response& r, detail::framing f) {
    std::string out;
    detail::append_head(out, r, f, "D");
    return out;
}

TEST(response_writer, writes_one_head) {
    EXPECT_EQ(head_of(http::json(201, "{}"), {}),
              "HTTP/1.1 201 Created\r\nDate: D\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n");
}

TEST(response_writer, says_whether_the_connection_goes_on) {
    EXPECT_NE(head_of({}, {.keep_alive = false}).find("\r\nConnection: close\r\n"), std::string::npos);
    EXPECT_NE(head_of({}, {.minor_version = 0}).find("\r\nConnection: keep-alive\r\n"), std::string::npos);
    EXPECT_EQ(head_of({}, {}).find("Connection"), std::string::npos);
}

TEST(response_writer, ignores_framing_by_the_handler) {
    http::response r{
        .status = 200,
        .headers = {{"content-length", "99"}, {"Transfer-Encoding", "chunked"}, {"connection", "close"}, {"date", "x"}},
        .body = "ab"};
    EXPECT_EQ(head_of(r, {}), "HTTP/1.1 200 OK\r\nDate: D\r\nContent-Length: 2\r\n\r\n");
}

TEST(response_writer, sends_no_body_where_none_may_be) {
    const http::response empty{.status = 204, .headers = {}, .body = "ignored"};
    EXPECT_EQ(head_of(empty, {}), "HTTP/1.1 204 No Content\r\nDate: D\r\n\r\n");
    EXPECT_FALSE(detail::has_body(empty, {}));
    EXPECT_FALSE(detail::has_body(http::text(200, "x"), {.head_only = true}));
    EXPECT_NE(head_of(http::text(200, "x"), {.head_only = true}).find("Content-Length: 1\r\n"), std::string::npos);
}

TEST(response_writer, dates_as_the_rfc_does) {
    detail::date_room room;
    EXPECT_EQ(detail::http_date(784111777, room), "Sun, 06 Nov 1994 08:49:37 GMT");
}

}  // namespace
