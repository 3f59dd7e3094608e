// buffered_reader_test.cpp - lines and pieces of a stream, whatever the pieces are in which it comes.
#include <weft/io/buffered_reader.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <ranges>
#include <vector>

#include <weft/deadline.hpp>
#include <weft/fiber.hpp>
#include <weft/io/pipe.hpp>
#include <weft/runtime.hpp>

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

/// A stream of given bytes that counts how often it is asked, and gives at most `piece` of them at a time.
struct scripted {
    std::string_view bytes;
    std::size_t piece = ~std::size_t{0};
    int asked = 0;

    std::size_t read_some(std::span<std::byte> into) {
        ++asked;
        const auto n = std::min({into.size(), piece, bytes.size()});
        std::ranges::copy(std::as_bytes(std::span(bytes.substr(0, n))), into.begin());
        bytes.remove_prefix(n);
        return n;
    }
    std::size_t read_some(std::span<std::byte> into, std::error_code& error) {
        error.clear();
        return read_some(into);
    }
};

using reader = io::buffered_reader<scripted>;

static_assert(io::readable<reader>);
static_assert(std::ranges::input_range<reader::line_range>);

constexpr std::string_view text = "first\nsecond\r\n\n\r\nwith \r inside\n\rlast without an end";
const std::vector<std::string> lines_of_text{"first", "second", "", "", "with \r inside", "\rlast without an end"};

TEST(buffered_reader, gives_the_same_lines_wherever_the_stream_is_cut) {
    for (std::size_t piece = 1; piece <= text.size(); ++piece)
        for (const std::size_t capacity : {0u, 1u, 2u, 7u, 8192u}) {
            scripted stream{.bytes = text, .piece = piece};
            reader r(stream, capacity);
            std::vector<std::string> lines;
            for (const auto& line : r.lines()) lines.push_back(line);
            EXPECT_EQ(lines, lines_of_text) << piece << ' ' << capacity;
            EXPECT_EQ(r.read_line(), std::nullopt) << "the end stays the end";
        }
}

TEST(buffered_reader, asks_once_per_buffer_and_not_once_per_line) {
    std::string many;
    for (int i = 0; i < 10'000; ++i) many += "a line\n";
    scripted stream{.bytes = many};
    reader r(stream, 4096);
    EXPECT_EQ(std::ranges::distance(r.lines()), 10'000);
    EXPECT_LE(stream.asked, static_cast<int>(many.size() / 2048));
}

TEST(buffered_reader, a_line_longer_than_the_limit_is_an_error_and_stays_unread) {
    for (const std::size_t piece : {1u, 3u, 100u}) {
        scripted stream{.bytes = "ok\n0123456789\n\n", .piece = piece};
        reader r(stream, 4);
        EXPECT_EQ(r.read_line(3), "ok");
        std::error_code error;
        EXPECT_EQ(r.read_line(10, error), std::nullopt);
        EXPECT_EQ(error, std::errc::message_size);
        EXPECT_THROW(r.read_line(10), std::system_error);
        EXPECT_EQ(r.read_line(11, error), "0123456789") << "with its end it has eleven";
        EXPECT_FALSE(error);
        EXPECT_EQ(r.read_line(1), "");
        EXPECT_EQ(r.read_line(1), std::nullopt);
    }
}

TEST(buffered_reader, reads_up_to_a_delimiter_wherever_it_is_cut) {
    for (std::size_t piece = 1; piece < 20; ++piece) {
        scripted stream{.bytes = "a--b----c", .piece = piece};
        reader r(stream, 3);
        EXPECT_EQ(r.read_until("--", 100), "a--");
        EXPECT_EQ(r.read_until("---", 100), "b---");
        EXPECT_EQ(r.read_until('-', 100), "-");
        EXPECT_EQ(r.read_until("--", 100), "c");
        EXPECT_EQ(r.read_until("--", 100), "");
        std::error_code error;
        r.read_until("", 100, error);
        EXPECT_EQ(error, std::errc::invalid_argument);
    }
}

TEST(buffered_reader, what_was_read_ahead_comes_first) {
    scripted stream{.bytes = "head\nbody of some length"};
    reader r(stream, 10);
    EXPECT_EQ(r.read_line(), "head");
    EXPECT_EQ(r.buffered(), "body ");
    EXPECT_EQ(&r.stream(), &stream);
    std::array<std::byte, 3> three;
    EXPECT_EQ(r.read_some(three), 3u);
    std::array<std::byte, 6> six;
    r.read_exact(six);
    EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(six.data()), 6), "y of s");
    std::array<std::byte, 100> rest;
    std::error_code error;
    EXPECT_EQ(r.read_exact(rest, error), 10u) << "how much there was";
    EXPECT_EQ(error, std::errc::connection_aborted);
    EXPECT_THROW(r.read_exact(rest), std::system_error);
    EXPECT_EQ(r.read_some(rest), 0u);
    EXPECT_EQ(r.read_exact({}, error), 0u);
    EXPECT_FALSE(error);
}

TEST(buffered_reader, gives_the_memory_of_a_long_line_back) {
    const std::string bytes = std::string(1'000'000, 'x') + "\nshort\n";
    scripted stream{.bytes = bytes, .piece = 1000};
    reader r(stream, 100);
    EXPECT_EQ(r.read_line(2'000'000)->size(), 1'000'000u);
    EXPECT_EQ(r.read_line(), "short");
    EXPECT_EQ(r.read_line(), std::nullopt);
}

TEST(buffered_reader, a_deadline_loses_nothing) {
    weft::run([] {
        io::pipe p;
        io::buffered_reader r(p.reader);
        p.writer.write_all("half a li");
        EXPECT_THROW(with_timeout(5ms, [&] { r.read_line(); }), timeout_error);
        with_timeout(5ms, [&] {
            std::error_code error;
            EXPECT_EQ(r.read_line(100, error), std::nullopt);
            EXPECT_EQ(error, std::errc::timed_out);
        });
        p.writer.write_all("ne\nrest");
        EXPECT_EQ(r.read_line(), "half a line");
        p.writer.close();
        EXPECT_EQ(r.read_line(), "rest");
        EXPECT_EQ(r.read_line(), std::nullopt);
    });
}

TEST(buffered_reader, reads_what_another_fiber_writes) {
    weft::run([] {
        io::pipe p;
        auto writer = weft::spawn([&] {
            for (int i = 0; i < 20'000; ++i) p.writer.write_all(std::to_string(i) + (i % 2 ? "\n" : "\r\n"));
            p.writer.close();
        });
        io::buffered_reader r(p.reader);
        int next = 0;
        for (const std::string& line : r.lines(16)) EXPECT_EQ(line, std::to_string(next++));
        EXPECT_EQ(next, 20'000);
        writer.join();
    });
}

}  // namespace
}  // namespace weft::test
