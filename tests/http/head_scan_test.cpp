// head_scan_test.cpp - where a head ends and which lines are refused, for every way its bytes may be cut.
#include "http/head_scan.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using weft::detail::head_scan;
using result = head_scan::result;

/// Feeds growing prefixes, beginning with `first` bytes, then byte by byte.
result scan(std::string_view head, std::size_t first) {
    head_scan s;
    for (std::size_t n = first; n < head.size(); ++n)
        if (const auto r = s.advance(head.substr(0, n)); r != result::incomplete) return r;
    return s.advance(head);
}

void expect_for_every_cut(std::string_view head, result expected) {
    for (std::size_t first = 0; first <= head.size(); ++first)
        EXPECT_EQ(scan(head, first), expected) << head << " cut at " << first;
}

TEST(head_scan, ends_behind_the_empty_line) {
    head_scan s;
    const std::string_view bytes = "GET / HTTP/1.1\r\nHost: x\r\n\r\nGET";
    ASSERT_EQ(s.advance(bytes), result::complete);
    EXPECT_EQ(s.length(), bytes.size() - 3);
    EXPECT_EQ(s.first_line(), 16u);
}

TEST(head_scan, is_incomplete_before_it) {
    expect_for_every_cut("GET / HTTP/1.1\r\nHost: x\r\n\r", result::incomplete);
    expect_for_every_cut("", result::incomplete);
}

TEST(head_scan, completes_wherever_it_is_cut) { expect_for_every_cut("GET / HTTP/1.1\r\nHost: x\r\n\r\n", result::complete); }

TEST(head_scan, refuses_a_bare_line_feed) {
    expect_for_every_cut("GET / HTTP/1.1\nHost: x\r\n\r\n", result::bad_line_end);
    expect_for_every_cut("GET / HTTP/1.1\r\nHost: x\n\r\n", result::bad_line_end);
    expect_for_every_cut("GET / HTTP/1.1\r\nHost: x\r\n\n", result::bad_line_end);
    expect_for_every_cut("\n", result::bad_line_end);
}

TEST(head_scan, refuses_a_carriage_return_inside_a_line) {
    expect_for_every_cut("GET / HTTP/1.1\r\nHost: x\ry\r\n\r\n", result::bad_line_end);
    expect_for_every_cut("GET / HTTP/1.1\r\nHost: x\r\r\n\r\n", result::bad_line_end);
    expect_for_every_cut("GET / HTTP/1.1\r\r\nHost: x\r\n\r\n", result::bad_line_end);
}

TEST(head_scan, refuses_nul) {
    expect_for_every_cut(std::string_view("GET / HTTP/1.1\r\nHost: x\0\r\n\r\n", 28), result::bad_line_end);
}

TEST(head_scan, refuses_a_folded_line) {
    expect_for_every_cut("GET / HTTP/1.1\r\nA: x\r\n y\r\n\r\n", result::folded_line);
    expect_for_every_cut("GET / HTTP/1.1\r\n\tA: x\r\n\r\n", result::folded_line);
}

}  // namespace
