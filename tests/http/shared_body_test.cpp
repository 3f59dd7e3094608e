// shared_body_test.cpp - one body in memory that many answers have.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include <weft/http/compress.hpp>
#include <weft/weft.hpp>

#include "http/support/served.hpp"

namespace {

using namespace weft;

std::shared_ptr<const std::string> body_of(std::size_t bytes) {
    std::string s(bytes, 'a');
    for (std::size_t i = 0; i < bytes; i += 7) s[i] = static_cast<char>('b' + i % 23);
    return std::make_shared<const std::string>(std::move(s));
}

class http_shared_body : public test::served {};
WEFT_ON_1_2_4_8_WORKERS(http_shared_body);

TEST_P(http_shared_body, is_sent_whole_to_each_and_kept_by_the_program_alone) {
    const auto small = body_of(5), large = body_of(1'000'003), empty = body_of(0);
    app.get("/small", [&](const http::request&) { return http::shared_body(200, "text/plain", small); });
    app.get("/large", [&](const http::request&) { return http::shared_body(200, "text/html", large); });
    app.get("/empty", [&](const http::request&) { return http::shared_body(404, "text/plain", empty); });
    start();
    auto c = connect();
    for (int round = 0; round < 3; ++round) {
        const auto little = c.ask(test::get("/small"));
        EXPECT_EQ(little.body, *small);
        EXPECT_EQ(little.header("Content-Length"), "5");
        const auto much = c.ask(test::get("/large"));
        EXPECT_TRUE(much.body == *large);
        EXPECT_EQ(much.header("Content-Type"), "text/html");
        EXPECT_EQ(much.header("Transfer-Encoding"), "");
        const auto none = c.ask(test::get("/empty"));
        EXPECT_EQ(none.status, 404);
        EXPECT_EQ(none.header("Content-Length"), "0");
        c.send("HEAD /large HTTP/1.1\r\nHost: a\r\n\r\n");
        EXPECT_EQ(c.receive(false).header("Content-Length"), "1000003");
    }
    stop();
    EXPECT_EQ(small.use_count(), 1);
    EXPECT_EQ(large.use_count(), 1);
    EXPECT_EQ(empty.use_count(), 1);
}

TEST_P(http_shared_body, is_compressed_for_each_client_that_takes_it) {
    const auto page = std::make_shared<const std::string>(100'000, 'x');
    app.use(http::compress());
    app.get("/page", [&](const http::request&) { return http::shared_body(200, "text/html", page); });
    start();
    auto c = connect();
    const auto packed = c.ask("GET /page HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n");
    EXPECT_EQ(packed.header("Content-Encoding"), "gzip");
    EXPECT_LT(packed.body.size(), 5000u);
    const auto plain = c.ask(test::get("/page"));
    EXPECT_EQ(plain.header("Content-Encoding"), "");
    EXPECT_TRUE(plain.body == *page);
    stop();
}

/// Tells which memory is written.
struct watching_sink final : detail::body_sink {
    std::string_view written;

    void write(std::string_view piece) override { written = piece; }
    void write_file(int, std::uint64_t, std::uint64_t) override {}
    void flush() override {}
    bool stopping() const noexcept override { return false; }
};

TEST(http_shared_body_alone, is_written_from_where_it_is_if_it_is_large) {
    const auto page = body_of(16384);
    const auto answer = http::shared_body(200, "text/html", page);
    EXPECT_EQ(answer.stream_length, 16384u);
    watching_sink sink;
    http::body_writer to(sink);
    answer.stream(to);
    EXPECT_EQ(sink.written.data(), page->data());
    EXPECT_EQ(sink.written.size(), 16384u);
    EXPECT_EQ(http::collect(answer.stream), *page);
    const auto small = http::shared_body(200, "text/html", body_of(16383));
    EXPECT_FALSE(small.stream);
    EXPECT_EQ(small.body, *body_of(16383));
    EXPECT_THROW(static_cast<void>(http::shared_body(200, "text/html", nullptr)), std::invalid_argument);
}

}  // namespace
