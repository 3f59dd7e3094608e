// Bodies that are received into their own memory, which has bytes of an earlier body.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "http/body_intake.hpp"
#include "http/exchange.hpp"
#include "random.hpp"
#include "scale.hpp"

using namespace weft;
using detail::decode_phase;
using detail::decoded;

namespace {

/// Sends `wire` to an exchange in pieces of any size, each in one of the ways that a connection has.
class any_way {
public:
    any_way(detail::exchange_pool& pool, std::minstd_rand& random) : pool_(pool), random_(random) {}

    decoded send(detail::exchange& x, std::string_view wire) {
        for (auto result = decoded::more;; result = x.decoder.next(x.in, x.request)) {
            if (result != decoded::more) return result;
            if (wire.empty()) return x.decoder.next(x.in, x.request);
            const auto left = static_cast<std::size_t>(x.decoder.body_left());
            wire.remove_prefix(left == 0 || random_() % 4 == 0 ? by_buffer(x, wire) : past_buffer(x, wire, left));
        }
    }
    int in_place() const { return in_place_; }

private:
    std::size_t by_buffer(detail::exchange& x, std::string_view wire) {
        const auto room = x.in.room();
        const auto n = std::min({wire.size(), room.size(), 1 + random_() % room.size()});
        std::memcpy(room.data(), wire.data(), n);
        x.in.received(n);
        return n;
    }
    std::size_t past_buffer(detail::exchange& x, std::string_view wire, std::size_t left) {
        if (random_() % 2 == 0) pool_.reserve_body(x, left);
        const auto room = x.decoder.body_room(x.request);
        const auto most = room.empty() || random_() % 4 == 0 ? std::min(left, detail::intake_memory::piece_bytes) : room.size();
        const auto n = std::min(wire.size(), 1 + random_() % most);
        if (!room.empty() && n <= room.size()) {
            std::memcpy(room.data(), wire.data(), n);
            x.decoder.body_filled(n);
            ++in_place_;
        } else {
            x.decoder.put_body(wire.substr(0, n), x.request);
        }
        return n;
    }

    detail::exchange_pool& pool_;
    std::minstd_rand& random_;
    int in_place_ = 0;
};

std::string chunked(std::string_view body, std::minstd_rand& random) {
    std::string wire;
    while (!body.empty()) {
        const auto n = std::min<std::size_t>(body.size(), 1 + random() % 100'000);
        char size[32];
        std::snprintf(size, sizeof size, "%zx\r\n", n);
        wire.append(size).append(body.substr(0, n)).append("\r\n");
        body.remove_prefix(n);
    }
    return wire + "0\r\n\r\n";
}

}  // namespace

TEST(body_in_place, has_nothing_of_an_earlier_body_however_it_arrives) {
    const test::seed seed;
    auto random = seed.of(0);
    detail::decode_limits limits;
    limits.max_body_bytes = 8 << 20;
    detail::exchange_pool pool(limits);
    any_way sender(pool, random);
    for (int i = 0; i < test::scaled(300); ++i) {
        const auto x = pool.take();
        for (int kept = 0; kept < 2; ++kept) {
            std::string body(random() % (random() % 8 == 0 ? 3'000'000 : 300'000), static_cast<char>('a' + i % 26));
            if (!body.empty()) body.front() = '<', body.back() = '>';
            const bool in_chunks = random() % 4 == 0;
            const std::string head = in_chunks ? "Transfer-Encoding: chunked" : "Content-Length: " + std::to_string(body.size());
            const auto wire = "POST / HTTP/1.1\r\nHost: a\r\n" + head + "\r\n\r\n" + (in_chunks ? chunked(body, random) : body);
            ASSERT_EQ(sender.send(*x, wire), decoded::request);
            ASSERT_EQ(x->request.body().size(), body.size());
            ASSERT_TRUE(x->request.body() == body) << i;
        }
        if (random() % 2 == 0) continue;  // the pool gets the body as it is
        ASSERT_EQ(sender.send(*x, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"), decoded::request);
        ASSERT_EQ(x->request.body(), "");
    }
    EXPECT_GT(sender.in_place(), 50);
}

TEST(body_in_place, a_body_that_stays_away_has_no_more_memory_than_the_budget) {
    detail::decode_limits limits;
    limits.max_body_bytes = 64 << 20;
    detail::exchange_pool pool(limits);
    std::vector<detail::exchange_pool::lease> waiting;
    for (int i = 0; i < 100; ++i) {
        auto& x = *waiting.emplace_back(pool.take());
        const std::string_view head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 50000000\r\n\r\n";
        std::memcpy(x.in.room().data(), head.data(), head.size());
        x.in.received(head.size());
        ASSERT_EQ(x.decoder.next(x.in, x.request), decoded::more);
        pool.reserve_body(x, static_cast<std::size_t>(x.decoder.body_left()));
        static_cast<void>(x.decoder.body_room(x.request));
    }
    std::size_t all = 0;
    for (const auto& x : waiting) all += x->request.body().capacity();
    EXPECT_LE(all, detail::body_pool::budget + 100 * 64);
}
