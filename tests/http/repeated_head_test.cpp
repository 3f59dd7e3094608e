// repeated_head_test.cpp - heads that repeat the fields of the last one are decoded as if there had been none.
#include "http/repeated_head.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/head_parser.hpp"
#include "http/support/decoding.hpp"
#include "support/random.hpp"
#include "support/scale.hpp"

namespace weft::test {
namespace {

using detail::repeated_head;

constexpr std::string_view line = "GET /a HTTP/1.1\r\n", fields = "Host: a\r\nCookie: 0123456789abcdef\r\n\r\n";

/// A head that was parsed, and is remembered.
struct parsed {
    explicit parsed(const std::string& head) {
        detail::head_facts facts;
        EXPECT_FALSE(detail::parse_head(head, parts, facts, {}));
        last.remember(head, head.find('\n') + 1, parts.headers);
    }
    std::size_t found(const std::string& bytes) const { return last.find(bytes, parts.headers).size; }

    http::request_parts parts;
    repeated_head last;
};

std::string head(std::string_view first, std::string_view rest = fields) { return std::string(first).append(rest); }

TEST(repeated_head, finds_the_same_fields_behind_the_same_line_or_another_one) {
    const parsed p(head(line));
    EXPECT_EQ(p.found(head(line)), head(line).size());
    EXPECT_TRUE(p.last.find(head(line), p.parts.headers).is_last_line);
    const auto other = head("POST /a/longer/path?x=1 HTTP/1.1\r\n");
    EXPECT_EQ(p.found(other), other.size());
    EXPECT_EQ(p.last.find(other, p.parts.headers).line, other.find('\n') + 1);
    EXPECT_FALSE(p.last.find(other, p.parts.headers).is_last_line);
    EXPECT_EQ(p.found(head(line) + "GET /next"), head(line).size()) << "what follows is another request";
}

TEST(repeated_head, REPEATED_HEAD_1_finds_nothing_where_one_byte_differs_or_is_missing) {
    const parsed p(head(line));
    for (std::size_t at = line.size() - 10; at < head(line).size(); ++at) {  // from the version on
        auto changed = head(line);
        changed[at] ^= 1;
        EXPECT_EQ(p.found(changed), 0u) << changed;
        EXPECT_EQ(p.found(head(line).substr(0, at)), 0u);
    }
}

TEST(repeated_head, REPEATED_HEAD_1_finds_nothing_once_the_headers_are_others) {
    parsed erased(head(line)), added(head(line)), forgotten(head(line)), cleared(head(line));
    erased.parts.headers.erase("Cookie");
    EXPECT_EQ(erased.found(head(line)), 0u);
    added.parts.headers.add("X", "1");
    EXPECT_EQ(added.found(head(line)), 0u);
    forgotten.last.forget();
    EXPECT_EQ(forgotten.found(head(line)), 0u);
    cleared.parts.headers.clear();
    EXPECT_EQ(cleared.found(head(line)), 0u);
    const parsed with_host_of_its_target(head("GET http://b/ HTTP/1.1\r\n"));
    EXPECT_EQ(with_host_of_its_target.found(head("GET http://b/ HTTP/1.1\r\n")), 0u);
}

TEST(repeated_head, REPEATED_HEAD_2_finds_nothing_behind_a_line_that_is_none) {
    const parsed p(head(line));
    for (const std::string_view bad : {"GET /\r/ HTTP/1.1\r\n", "GET /\n HTTP/1.1\r\n", "\r\nHTTP/1.1\r\n", "HTTP/1.1\r\n"})
        EXPECT_EQ(p.found(head(bad)), bad == "HTTP/1.1\r\n" ? head(bad).size() : 0) << bad;
    EXPECT_EQ(p.found(head(std::string("GET /\0/ HTTP/1.1\r\n", 18))), 0u);
}

TEST(repeated_head, what_was_found_is_stored_as_it_was_received) {
    parsed p(head(line));
    for (const std::string_view other : {"GET /a/longer/path HTTP/1.1\r\n", "GET / HTTP/1.1\r\n", "PUT / HTTP/1.1\r\n"}) {
        const auto bytes = head(other);
        EXPECT_EQ(p.last.find(bytes, p.parts.headers).line, other.size());
        p.last.take(bytes, other.size(), p.parts.headers);
        EXPECT_EQ(detail::stored_text(p.parts.headers), bytes);
        EXPECT_EQ(p.parts.headers.find("Cookie"), "0123456789abcdef");
        EXPECT_TRUE(p.last.find(bytes, p.parts.headers).is_last_line);
        EXPECT_FALSE(p.last.find(head(line), p.parts.headers).is_last_line);
    }
}

// ---- with the decoder

const std::vector<std::string_view> lines = {"GET / HTTP/1.1\r\n",
                                             "GET /a?x=1 HTTP/1.1\r\n",
                                             "POST /a HTTP/1.1\r\n",
                                             "HEAD / HTTP/1.1\r\n",
                                             "OPTIONS * HTTP/1.1\r\n",
                                             "GET / HTTP/1.0\r\n",
                                             "POST /b HTTP/1.0\r\n",
                                             "GET http://other/x HTTP/1.1\r\n",
                                             "GET http://other HTTP/1.1\r\n",
                                             "CONNECT a:1 HTTP/1.1\r\n",
                                             "GET / HTTP/2.0\r\n",
                                             "GET  / HTTP/1.1\r\n",
                                             "GET /\x80 HTTP/1.1\r\n",
                                             "GET /#x HTTP/1.1\r\n",
                                             "GET / HTTP/1.1 \r\n",
                                             "GET /a\tb HTTP/1.1\r\n",
                                             "GET /?a&b&c&d&e HTTP/1.1\r\n",
                                             "\r\nGET / HTTP/1.1\r\n",
                                             "GET / HTTP/1.1\n",
                                             "G@T / HTTP/1.1\r\n"};

struct rest {
    std::string_view fields, body;
};
const std::vector<rest> rests = {{"Host: a\r\n\r\n", ""},
                                 {"Host: a\r\nAccept: */*\r\nCookie: a=b; c=d\r\n\r\n", ""},
                                 {"Host: a\r\nAccept: */*\r\nCookie: a=b; c=e\r\n\r\n", ""},
                                 {"Host: a\r\nContent-Length: 5\r\n\r\n", "hello"},
                                 {"Host: a\r\nContent-Length: 0\r\n\r\n", ""},
                                 {"Host: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n", "hello"},
                                 {"Host: a\r\nTransfer-Encoding: chunked\r\n\r\n", "3\r\nabc\r\n0\r\nX: y\r\n\r\n"},
                                 {"Host: a\r\nConnection: keep-alive\r\n\r\n", ""},
                                 {"Connection: keep-alive\r\n\r\n", ""},
                                 {"\r\n", ""},
                                 {"Host: a\r\nConnection: close\r\n\r\n", ""},
                                 {"Host: a\r\nHost: a\r\n\r\n", ""},
                                 {"Host: a b\r\n\r\n", ""},
                                 {"Host: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", "hello"},
                                 {"Host: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", "0\r\n\r\n"},
                                 {"Host: a\r\n X: y\r\n\r\n", ""},
                                 {"Host: a\nX: y\r\n\r\n", ""}};

// Exchanges are lent: one decoder, and connections that keep what they know.
TEST(repeated_head, REPEATED_HEAD_3_stress_connections_that_share_a_decoder_see_their_own_heads_only) {
    const seed seed;
    auto random = seed.of(0);
    detail::request_decoder decoder({});
    http::request request;
    struct connection {
        std::string sends;
        std::unique_ptr<detail::known_head> known;
    };
    std::vector<connection> all(4);
    for (int round = 0; round < scaled(5'000); ++round) {
        auto& c = all[below(random, 4)];
        if (c.sends.empty() || below(random, 3) == 0)
            c.sends = head(below(random, 2) ? "GET /a HTTP/1.1\r\n" : "PUT /b/c HTTP/1.1\r\n",
                           "Host: a\r\nX: " + std::to_string(below(random, 3)) + "\r\n\r\n");
        detail::input_buffer in(256);
        std::copy(c.sends.begin(), c.sends.end(), in.room().begin());
        in.received(c.sends.size());
        if (c.known) decoder.exchange_known(*c.known, request);
        ASSERT_EQ(decoder.next(in, request), detail::decoded::request);
        decoding alone;
        alone.receive(c.sends);
        ASSERT_EQ(described(request, decoder.keep_alive()), alone.result().requests.at(0)) << c.sends;
        ASSERT_EQ(detail::stored_text(request.headers()), c.sends);
        if (!c.known) c.known = std::make_unique<detail::known_head>();
        if (below(random, 5) != 0)
            decoder.exchange_known(*c.known, request);
        else
            c.known.reset();  // the connection has ended, and left its head behind
        decoder.restart();
    }
}

TEST(repeated_head, REPEATED_HEAD_3_what_a_connection_has_not_taken_out_is_forgotten) {
    detail::input_buffer in(256);
    detail::request_decoder decoder({});
    http::request request;
    const auto sent = head(line);
    std::copy(sent.begin(), sent.end(), in.room().begin());
    in.received(sent.size());
    EXPECT_EQ(decoder.next(in, request), detail::decoded::request);
    decoder.restart();
    detail::known_head left;
    decoder.exchange_known(left, request);
    EXPECT_EQ(left.last.find(sent, left.headers).size, 0u);
}

TEST(repeated_head, REPEATED_HEAD_1_what_was_refused_is_refused_again) {
    detail::input_buffer in(256);
    detail::request_decoder decoder({});
    http::request request;
    const auto decoded_of = [&](std::string_view bytes) {
        detail::known_head known;  // keeps what the decoder would forget
        decoder.exchange_known(known, request);
        decoder.restart();
        decoder.exchange_known(known, request);
        in.clear();
        std::copy(bytes.begin(), bytes.end(), in.room().begin());
        in.received(bytes.size());
        return decoder.next(in, request);
    };
    EXPECT_EQ(decoded_of("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), detail::decoded::request);
    for (int i = 0; i < 2; ++i) {  // as long, and all of its fields are read before it is refused
        EXPECT_EQ(decoded_of("GET / HTTP/1.1\r\nTsoH: a\r\n\r\n"), detail::decoded::refused);
        EXPECT_EQ(decoder.why().status, 400);
    }
    EXPECT_EQ(decoded_of("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), detail::decoded::request);
}

TEST(repeated_head, stress_a_decoder_makes_the_same_of_it_as_one_that_has_seen_nothing_before) {
    const seed seed;
    auto random = seed.of(0);
    const detail::decode_limits limits{.max_header_bytes = 256, .max_query_parameters = 3};
    std::size_t accepted = 0, refused = 0;
    for (int round = 0; round < scaled(20'000); ++round) {
        // Few different ones, so that they repeat; the doubtful ones are at the ends.
        const auto some_lines = 1 + below(random, lines.size()), some_rests = 1 + below(random, rests.size());
        std::string all;
        transcript apart;
        bool goes_on = true;
        for (int i = 0; i < 6; ++i) {
            const auto& r = rests[std::min(below(random, some_rests), below(random, some_rests))];
            auto bytes = head(lines[std::min(below(random, some_lines), below(random, some_lines))], r.fields).append(r.body);
            all += bytes;
            if (!goes_on) continue;
            decoding alone(limits);
            goes_on = alone.receive(bytes);
            const auto seen = alone.result();
            apart.requests.insert(apart.requests.end(), seen.requests.begin(), seen.requests.end());
            apart.stored.insert(apart.stored.end(), seen.stored.begin(), seen.stored.end());
            apart.refused = seen.refused, apart.words = seen.words, apart.left = seen.left;
        }
        const auto together = decode_in_pieces(all, 1 + below(random, all.size()), limits);
        ASSERT_EQ(together.requests, apart.requests) << all;
        ASSERT_EQ(together.stored, apart.stored) << all;
        ASSERT_EQ(together.refused, apart.refused) << all << together.words;
        ASSERT_EQ(together.words, apart.words) << all;
        accepted += together.requests.size();
        refused += together.refused != 0;
    }
    EXPECT_GT(accepted, refused);
    EXPECT_GT(refused, 0u);
}

}  // namespace
}  // namespace weft::test
