// cost_test.cpp - what a client can make an exchange hold: no more than a small multiple of what it has sent.
#include "http/exchange.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "http/support/counted_new.hpp"

namespace {

using namespace weft::detail;
using weft::test::new_bytes;

std::string repeated(std::string_view piece, std::size_t bytes) {
    std::string text;
    while (text.size() + piece.size() <= bytes) text += piece;
    return text;
}

std::string fields(std::size_t count, const std::string& each) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += each;
    return text;
}

struct attack {
    const char* name;
    std::string bytes;
};

/// Each ends in a request that is not whole, or is refused: the exchange keeps what it holds for as long as a time limit lasts.
std::vector<attack> attacks() {
    const std::string host = " HTTP/1.1\r\nHost: a\r\n", waits = "Content-Length: 10\r\n\r\n";
    const std::string chunked = "POST /" + host + "Transfer-Encoding: chunked\r\n\r\n";
    return {
        {"a query of many parameters", "POST /?" + repeated("a&", 1998) + host + waits},
        {"a query of many bytes", "POST /?" + repeated("a=%41", 4900) + host + waits},
        {"a query of one parameter", "POST /?" + std::string(16000, 'a') + host + waits},
        {"too many parameters", "POST /?" + repeated("a&", 16000) + host + waits},
        {"many small fields", "POST /" + host + fields(126, "a:\r\n") + waits},
        {"many middling fields", "POST /" + host + fields(126, "a:" + std::string(110, 'b') + "\r\n") + waits},
        {"too many fields", "POST /" + host + fields(4000, "a:\r\n") + waits},
        {"one large field", "POST /" + host + "a:" + std::string(16000, 'b') + "\r\n" + waits},
        {"a field a little larger than the first buffer", "POST /" + host + "a:" + std::string(4060, 'b') + "\r\n" + waits},
        {"a long method", std::string(16000, 'A') + " /" + host + waits},
        {"a long path", "POST /" + repeated("a/", 16000) + host + waits},
        {"a head without an end", "POST /" + host + "a:" + std::string(16000, 'b')},
        {"a head that is too large", "POST /" + host + "a:" + std::string(20000, 'b')},
        {"a body that is announced only", "POST /" + host + "Content-Length: 1048576\r\n\r\n"},
        {"a body that comes", "POST /" + host + "Content-Length: 1048576\r\n\r\n" + std::string(300'000, 'x')},
        {"a chunk that is announced only", chunked + "fffff\r\n"},
        {"small chunks", chunked + repeated("1\r\nx\r\n", 60'000)},
        {"a long extension", chunked + "1;a=" + std::string(16000, 'x')},
        {"trailers", chunked + "0\r\n" + repeated("a:b\r\n", 16000)},
        {"expectations", "POST /" + host + "Expect: 100-continue\r\n" + waits},
        {"empty lines", repeated("\r\n", 60'000)},
    };
}

/// Receives as a connection does.
class attacked {
public:
    attacked() : before_(new_bytes()), x_({}) {}

    void receive(std::string_view bytes) {
        while (!bytes.empty() && x_.decoder.phase() != decode_phase::refused) {
            const auto room = x_.in.room();
            const auto piece = bytes.substr(0, std::min<std::size_t>(room.size(), 1500));
            piece.copy(room.data(), room.size());
            x_.in.received(piece.size());
            bytes.remove_prefix(piece.size());
            ASSERT_NE(x_.decoder.next(x_.in, x_.request), decoded::request);
        }
    }

    /// While it waits for more.
    std::size_t held() const { return static_cast<std::size_t>(new_bytes() - before_); }

private:
    std::ptrdiff_t before_;
    exchange x_;
};

TEST(http_cost, EXCHANGE_3_an_exchange_holds_at_most_its_resting_size_and_four_times_what_was_sent) {
    for (const auto& [name, bytes] : attacks()) {
        for (std::size_t sent = 1; sent < bytes.size() + 700; sent += 701) {
            const auto at_rest = [] {
                attacked one;
                one.receive("G");
                return one.held();
            }();
            attacked x;
            x.receive(std::string_view(bytes).substr(0, sent));
            EXPECT_LE(x.held(), at_rest + 4 * std::min(sent, bytes.size())) << name << ", " << sent << " bytes sent";
        }
    }
}

TEST(http_cost, EXCHANGE_2_the_pool_keeps_little_after_any_attack) {
    for (const auto& [name, bytes] : attacks()) {
        const auto before = new_bytes();
        exchange_pool pool({});
        auto x = pool.take();
        for (std::string_view rest = bytes; !rest.empty() && x->decoder.phase() != decode_phase::refused;) {
            const auto n = rest.copy(x->in.room().data(), x->in.room().size());
            x->in.received(n);
            rest.remove_prefix(n);
            ASSERT_NE(x->decoder.next(x->in, x->request), decoded::request);
        }
        x.reset();
        const auto bodies = pool.held_for_bodies();
        EXPECT_LE(new_bytes() - before, static_cast<std::ptrdiff_t>(sizeof(exchange) + exchange::kept_bytes + bodies + 1))
            << name;
        EXPECT_LE(bodies, 2 * bytes.size()) << name;
    }
}

}  // namespace
