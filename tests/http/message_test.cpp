// message_test.cpp - headers, requests and responses as values.
#include <weft/http/message.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

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

TEST(headers, HEADERS_3_a_constant_type_is_a_field_as_any_other) {
    auto h = http::text(200, "x").headers;
    h.add("X", "1");
    ASSERT_EQ(h.size(), 2u);
    EXPECT_EQ(h[0].name, "Content-Type");
    EXPECT_EQ(h.find("content-type"), "text/plain; charset=utf-8");
    EXPECT_EQ(h[1].name, "X");
    EXPECT_EQ(std::distance(h.begin(), h.end()), 2);
    const auto copy = h;
    h.set("content-type", "text/html");
    EXPECT_EQ(h.size(), 2u);
    EXPECT_EQ(h.find("Content-Type"), "text/html");
    EXPECT_EQ(copy.find("Content-Type"), "text/plain; charset=utf-8");
    h = copy;
    EXPECT_EQ(h.erase("CONTENT-TYPE"), 1u);
    EXPECT_FALSE(h.contains("Content-Type"));
    EXPECT_EQ(h.size(), 1u);
    h = copy;
    h.clear();
    EXPECT_TRUE(h.empty());
}

TEST(headers, HEADERS_1_a_stored_field_may_lie_anywhere_in_the_text) {
    const std::string head = "Near: 1\r\nFar:" + std::string(300, ' ') + "2\r\n";
    const std::string_view all = head, elsewhere = "3";
    http::headers h;
    h.store(all);
    h.add_stored({all.substr(0, 4), all.substr(6, 1)}, all);
    h.add_stored({all.substr(9, 3), all.substr(313, 1)}, all);
    h.add_stored({all.substr(0, 4), elsewhere}, all);
    EXPECT_EQ(h.size(), 3u);
    EXPECT_EQ(h.find("near"), "1");
    EXPECT_EQ(h.find("far"), "2");
    EXPECT_EQ(h[2].name, "Near");
    EXPECT_EQ(h[2].value, "3");
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
    parts.target = "/a/b?x=1&x=2&y&z=%41+%zz&&=v";
    parts.path_parameters = {{"id", "7"}};
    const http::request q(parts);
    const http::request copy = q;
    EXPECT_EQ(copy.path(), "/a/b");
    EXPECT_EQ(copy.path("id"), "7");
    EXPECT_THROW(static_cast<void>(copy.path("name")), std::out_of_range);
    EXPECT_EQ(copy.query("x"), "1");
    EXPECT_TRUE(copy.has_query("y"));
    EXPECT_EQ(copy.query("y"), "");
    EXPECT_EQ(copy.query("z"), "A %zz");
    EXPECT_FALSE(copy.has_query("w"));
    EXPECT_EQ(copy.query("w"), "");
    EXPECT_EQ(copy.header("Host"), "");
}

http::request asked_for(std::string target) {
    http::request_parts parts;
    parts.target = std::move(target);
    return http::request(std::move(parts));
}

TEST(request, lists_all_query_parameters_in_order) {
    const auto q = asked_for("/?x=1&x=2&y&z=%41+%zz&&=v&%61%3d=b%26c&k=a=b");
    const http::request_parts::pairs all{{"x", "1"}, {"x", "2"},    {"y", ""},   {"z", "A %zz"},
                                         {"", "v"},  {"a=", "b&c"}, {"k", "a=b"}};
    EXPECT_EQ(q.query_parameters(), all);
    for (const auto& [name, value] : all) EXPECT_TRUE(q.has_query(name)) << name;
    EXPECT_EQ(q.query(""), "v");
    EXPECT_EQ(q.query("a="), "b&c");
    EXPECT_EQ(q.query("k"), "a=b");
    for (const char* none : {"/", "/?", "/?&&", "*"}) EXPECT_TRUE(asked_for(none).query_parameters().empty()) << none;
}

TEST(request, finds_in_any_query_what_the_list_of_all_has) {
    const auto seed = std::random_device{}();
    SCOPED_TRACE(seed);
    std::minstd_rand random(seed);
    constexpr std::string_view alphabet = "ab&&==%%4146+";
    for (int round = 0; round < 2000; ++round) {
        std::string target = "/?";
        for (auto n = random() % 40; n > 0; --n) target += alphabet[random() % alphabet.size()];
        const auto q = asked_for(target);
        const auto all = q.query_parameters();
        for (const auto& [name, value] : all) {
            const auto first = std::ranges::find(all, name, &std::pair<std::string, std::string>::first);
            ASSERT_TRUE(q.has_query(name)) << target;
            ASSERT_EQ(q.query(name), first->second) << target << " asked for " << name;
        }
        ASSERT_EQ(q.has_query("aa"), std::ranges::count(all, "aa", &std::pair<std::string, std::string>::first) > 0) << target;
    }
}

TEST(request, query_parameters_made_by_hand_stand_for_those_of_the_target) {
    http::request_parts parts;
    parts.target = "/?x=1";
    parts.query_parameters = {{"y", "2"}};
    const http::request q(parts);
    EXPECT_EQ(q.query("y"), "2");
    EXPECT_FALSE(q.has_query("x"));
    EXPECT_EQ(q.query("x"), "");
    EXPECT_EQ(q.query_parameters(), parts.query_parameters);
}

TEST(request, MESSAGE_1_references_to_query_parameters_hold_as_long_as_the_request) {
    const std::string value(100, 'v');
    auto q = asked_for("/?a=" + value + "&b=" + value + "b");
    const std::string& a = q.query("a");
    const std::string& b = q.query("b");
    EXPECT_EQ(&q.query("a"), &a);
    const http::request copy = q;
    EXPECT_NE(&copy.query("a"), &a) << "a copy has its own";
    const http::request moved = std::move(q);
    EXPECT_EQ(&moved.query("a"), &a) << "who moves takes them along";
    EXPECT_EQ(a, value);
    EXPECT_EQ(b, value + "b");
}

TEST(request, asks_anew_once_its_parts_have_changed) {
    auto q = asked_for("/?a=1");
    EXPECT_EQ(q.query("a"), "1");
    q.parts().target = "/?a=2";
    EXPECT_EQ(q.query("a"), "2");
    q = asked_for("/?a=3");
    EXPECT_EQ(q.query("a"), "3");
    const auto other = asked_for("/?a=4");
    q = other;
    EXPECT_EQ(q.query("a"), "4");
}

TEST(request, MESSAGE_2_stress_many_ask_at_once) {
    std::string target = "/?";
    for (int i = 0; i < 50; ++i)
        target += "n" + std::to_string(i) + "=a+value+of+more+than+fifteen+bytes+" + std::to_string(i) + "&";
    for (int round = 0; round < 50; ++round) {
        const auto q = asked_for(target);
        std::vector<std::jthread> threads;
        for (int t = 0; t < 4; ++t)
            threads.emplace_back([&q] {
                for (int i = 0; i < 50; ++i) {
                    const auto number = std::to_string(i);
                    EXPECT_EQ(q.query("n" + number), "a value of more than fifteen bytes " + number);
                }
            });
    }
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
