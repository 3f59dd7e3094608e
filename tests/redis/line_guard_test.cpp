// line_guard_test.cpp - lines are handed on whole and once, wherever the stream is cut.
#include "redis/line_guard.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace std::string_literals;
using weft::detail::redis::line_guard;
using weft::detail::redis::resp;

struct passed {
    std::string bytes;
    std::vector<std::size_t> pieces;
    bool refused;
};

passed pass(std::string_view stream, std::size_t piece, resp protocol = resp::two) {
    line_guard guard(protocol);
    passed p{};
    while (!stream.empty()) {
        guard.pass(stream.substr(0, piece), [&](std::string_view on) {
            p.bytes += on;
            p.pieces.push_back(on.size());
        });
        stream.remove_prefix(std::min(piece, stream.size()));
    }
    p.refused = guard.refused();
    return p;
}

const std::string replies = "+OK\r\n$5\r\n+a\r\nb\r\n*2\r\n:1\r\n$-1\r\n-ERR \r x\n\r\n$0\r\n\r\n";

TEST(redis_line_guard, LINE_GUARD_1_a_line_is_handed_on_once_and_whole_wherever_it_is_cut) {
    for (std::size_t piece = 1; piece <= replies.size(); ++piece) EXPECT_EQ(pass(replies, piece).bytes, replies) << piece;
    const std::string line = '+' + std::string(50'000, 'a') + "\r\n";
    for (const std::size_t piece : {1u, 7u, 49'999u, 50'002u}) {
        const auto p = pass(line, piece);
        EXPECT_EQ(p.bytes, line);
        EXPECT_LE(p.pieces.size(), 1u) << "a reader that searches each piece from the line's beginning would search it again";
    }
}

TEST(redis_line_guard, LINE_GUARD_1_a_bulk_string_is_handed_on_as_it_comes) {
    const auto p = pass("$100000\r\n" + std::string(100'000, '\r') + "\r\n:1\r\n", 10);
    EXPECT_FALSE(p.refused);
    EXPECT_GE(p.pieces.size(), 10'000u);
    EXPECT_EQ(std::ranges::max(p.pieces), 10u);
}

TEST(redis_line_guard, LINE_GUARD_2_a_line_longer_than_the_limit_is_refused_wherever_it_is_cut) {
    for (const std::size_t piece :
         {std::size_t{1}, std::size_t{100}, line_guard::max_line - 1, line_guard::max_line, 3 * line_guard::max_line}) {
        const auto sized = [](std::size_t n) { return '+' + std::string(n - 3, 'a') + "\r\n"; };
        const auto fits = pass(replies + sized(line_guard::max_line) + replies, piece);
        EXPECT_FALSE(fits.refused);
        EXPECT_EQ(fits.bytes.size(), 2 * replies.size() + line_guard::max_line);
        const auto does_not = pass(replies + sized(line_guard::max_line + 1) + replies, piece);
        EXPECT_TRUE(does_not.refused);
        EXPECT_TRUE(does_not.bytes == replies) << piece;
    }
}

TEST(redis_line_guard, LINE_GUARD_3_what_cannot_be_a_line_is_handed_on_at_once) {
    EXPECT_EQ(pass("\0\0"s, 2).bytes, "\0\0"s);
    EXPECT_EQ(pass("+OK\r\nHTTP", 1).bytes, "+OK\r\nHTTP");
    EXPECT_EQ(pass("$x\r\n+a", 100).bytes, "$x\r\n");
    EXPECT_EQ(pass("$99999999999999999999\r\n:1\r\n", 3).bytes, "$99999999999999999999\r\n:1\r\n");
}

TEST(redis_line_guard, LINE_GUARD_1_the_types_of_RESP3_are_lines_and_bulk_strings_too) {
    const std::string three = "%1\r\n+a\r\n_\r\n~2\r\n#t\r\n,1.5\r\n(123\r\n=7\r\ntxt:+\r\nx\r\n|1\r\n+a\r\n:1\r\n>0\r\n";
    for (std::size_t piece = 1; piece <= three.size(); ++piece) {
        const auto p = pass(three, piece, resp::three);
        EXPECT_EQ(p.bytes, three) << piece;
        EXPECT_FALSE(p.refused);
    }
    EXPECT_EQ(pass("%1", 1, resp::three).bytes, "") << "held until the line is complete";
    EXPECT_EQ(pass("%1", 1, resp::two).bytes, "%1") << "the reader refuses it";
}

}  // namespace
