// body_test.cpp - large bodies: they arrive whole however they are sent, and their memory is bounded and used again.
#include "http/body_pool.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "http/support/decoding.hpp"
#include "http/support/served.hpp"
#include "random.hpp"

namespace {

using namespace weft;
using detail::body_pool;

TEST(body_pool, BODY_POOL_2_reserves_what_is_announced_but_not_all_of_it) {
    body_pool pool;
    std::string body = "begun", huge;
    EXPECT_EQ(pool.reserve(body, body.size(), 200'000), 200'005u);
    EXPECT_GE(body.capacity(), 200'005u);
    EXPECT_EQ(body, "begun");
    const auto reserved = pool.reserve(huge, huge.size(), std::size_t{1} << 40);
    EXPECT_EQ(reserved, body_pool::ahead);
    EXPECT_LT(huge.capacity(), 2 * body_pool::ahead);
    EXPECT_EQ(pool.reserve(body, body.size(), 1000), 0u) << "there is room already";
    std::string small;
    EXPECT_EQ(pool.reserve(small, small.size(), 10'000), 0u) << "not worth it";
}

TEST(body_pool, BODY_POOL_1_what_is_only_announced_is_bounded) {
    body_pool pool;
    std::vector<std::string> bodies(100);
    std::size_t reserved = 0;
    for (auto& b : bodies) reserved += pool.reserve(b, b.size(), body_pool::ahead);
    EXPECT_EQ(reserved, body_pool::budget);
    EXPECT_EQ(pool.held(), body_pool::budget);
    EXPECT_LT(bodies.back().capacity(), 100u);
    for (auto& b : bodies) pool.free(std::move(b), b.capacity() > 100 ? body_pool::ahead : 0);
    EXPECT_LE(pool.held(), body_pool::budget);
}

TEST(body_pool, gives_a_later_body_the_memory_of_an_earlier_one) {
    body_pool pool;
    std::string body;
    const auto reserved = pool.reserve(body, body.size(), 500'000);
    body.assign(500'000, 'x');
    const char* const where = body.data();
    pool.free(std::move(body), reserved);
    std::string next = "ab";
    const auto again = pool.reserve(next, next.size(), 400'000);
    EXPECT_EQ(next.data(), where);
    EXPECT_EQ(next.substr(0, 2), "ab");
    EXPECT_LE(next.size(), 400'002u) << "no more than is announced";
    pool.free(std::move(next), again);
    EXPECT_EQ(pool.held(), again);
}

TEST(body_pool, a_body_that_was_moved_out_gives_only_its_budget_back) {
    body_pool pool;
    std::string body;
    const auto reserved = pool.reserve(body, body.size(), 500'000);
    const std::string taken = std::move(body);
    pool.free({}, reserved);
    EXPECT_EQ(pool.held(), 0u);
    EXPECT_GE(taken.capacity(), 500'000u);
}

TEST(body_pool, BODY_POOL_2_too_large_memory_is_not_kept) {
    body_pool pool;
    std::string large;
    const auto reserved = pool.reserve(large, large.size(), body_pool::ahead);
    large.resize(3 * body_pool::ahead);
    EXPECT_GE(pool.free(std::move(large), reserved), 3 * body_pool::ahead);
    EXPECT_EQ(pool.held(), 0u);
}

TEST(body_pool, frees_what_was_not_needed_for_long) {
    body_pool pool;
    std::vector<std::string> bodies(10);
    std::vector<std::size_t> reserved;
    for (auto& b : bodies) reserved.push_back(pool.reserve(b, b.size(), 200'000));
    for (std::size_t i = 0; i < bodies.size(); ++i) pool.free(std::move(bodies[i]), reserved[i]);
    const auto before = pool.held();
    EXPECT_GE(before, 2'000'000u);
    for (int i = 0; i < 600; ++i) {
        std::string one;
        const auto n = pool.reserve(one, one.size(), 200'000);
        pool.free(std::move(one), n);
    }
    EXPECT_LE(pool.held(), before / 5);
    EXPECT_GT(pool.held(), 0u);
}

TEST(large_parts, of_a_body_may_pass_by_the_buffer) {
    for (const bool chunked : {false, true}) {
        detail::decode_limits limits;
        detail::input_buffer in(limits.max_header_bytes);
        detail::request_decoder d(limits);
        http::request q;
        in.append(chunked ? "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nab"
                          : "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nab");
        ASSERT_EQ(d.next(in, q), detail::decoded::more);
        EXPECT_EQ(d.body_left(), 4u);
        d.put_body("cd", q);
        EXPECT_EQ(d.next(in, q), detail::decoded::more);
        EXPECT_EQ(d.body_left(), 2u);
        d.put_body("ef", q);
        if (chunked) {
            EXPECT_EQ(d.next(in, q), detail::decoded::more);
            EXPECT_EQ(d.body_left(), 0u);
            in.append("\r\n0\r\n\r\n");
        }
        EXPECT_EQ(d.next(in, q), detail::decoded::request);
        EXPECT_EQ(q.body(), "abcdef");
    }
}

class http_bodies : public test::served {
protected:
    static std::string pattern(std::size_t n) {
        std::string s(n, ' ');
        for (std::size_t i = 0; i < n; ++i) s[i] = static_cast<char>('a' + (i * 31 + i / 251) % 26);
        return s;
    }
    static std::string with_length(const std::string& body) {
        return "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    }
    static std::string in_chunks(const std::string& body, std::size_t chunk) {
        std::string s = "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
        for (std::size_t at = 0; at < body.size(); at += chunk) {
            const auto part = body.substr(at, chunk);
            char size[32];
            std::snprintf(size, sizeof size, "%zx\r\n", part.size());
            s.append(size).append(part).append("\r\n");
        }
        return s += "0\r\n\r\n";
    }
};
WEFT_ON_1_2_4_8_WORKERS(http_bodies);

TEST_P(http_bodies, of_every_size_arrive_whole) {
    start({.max_body_bytes = 4 << 20});
    auto c = connect();
    for (const std::size_t n : {0u, 1u, 511u, 4096u, 16383u, 16384u, 16385u, 65536u, 65537u, 200'000u, 1u << 20, 3'000'001u}) {
        const auto body = pattern(n);
        EXPECT_EQ(c.ask(with_length(body)).body, body) << n;
        for (const std::size_t chunk : {7'777u, 100'000u})
            EXPECT_EQ(c.ask(in_chunks(body, chunk)).body, body) << n << ' ' << chunk;
    }
}

TEST_P(http_bodies, that_follow_each_other_closely_stay_apart) {
    start();
    auto c = connect();
    std::string all;
    std::vector<std::string> bodies;
    for (const std::size_t n : {100'000u, 3u, 70'000u, 20'000u, 0u, 150'000u}) {
        bodies.push_back(pattern(n + bodies.size()));
        all += bodies.size() % 2 ? with_length(bodies.back()) : in_chunks(bodies.back(), 30'000);
    }
    std::thread sender([&] { c.send(all); });
    std::vector<std::string> got;
    for (std::size_t i = 0; i < bodies.size(); ++i) got.push_back(c.receive().body);
    sender.join();
    EXPECT_EQ(got, bodies);
}

TEST_P(http_bodies, a_client_that_leaves_in_the_middle_disturbs_no_other) {
    start();
    for (int i = 0; i < 40; ++i) {
        auto c = connect();
        c.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n" + pattern(static_cast<std::size_t>(i) * 5000));
        if (i % 2) c.reset();
    }
    auto c = connect();
    EXPECT_EQ(c.ask(with_length(pattern(500'000))).body, pattern(500'000));
}

TEST_P(http_bodies, the_answer_to_a_last_request_is_not_lost) {
    start();
    for (int i = 0; i < 20; ++i) {
        auto c = connect();
        const auto r = c.ask("GET /large/100000 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        EXPECT_EQ(r.body.size(), 100'000u);
        EXPECT_TRUE(c.ended());
    }
}

}  // namespace
