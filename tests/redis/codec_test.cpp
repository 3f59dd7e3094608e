// codec_test.cpp - replies in pieces of any size, hostile ones, and commands as bytes; no connection.
#include "redis/codec.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>

#include <weft/redis/error.hpp>

namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;
using testing::HasSubstr;
using testing::ThrowsMessage;
using weft::detail::redis::append_command;
using weft::detail::redis::decoder;
using weft::detail::redis::require_resp3;
using weft::detail::redis::resp;
using weft::redis::argument;
using weft::redis::array;
using weft::redis::error_reply;
using weft::redis::nil;
using weft::redis::status;
using weft::redis::value;

constexpr std::size_t plenty = 1 << 20;

std::vector<value> replies_in(std::string_view bytes, std::size_t piece, resp protocol = resp::two) {
    decoder d(plenty, protocol);
    std::vector<value> found;
    while (!bytes.empty()) {
        const auto now = bytes.substr(0, piece);
        d.feed(std::as_bytes(std::span(now)));
        while (auto v = d.next()) found.push_back(std::move(*v));
        bytes.remove_prefix(now.size());
    }
    return found;
}

void feed(decoder& d, std::string_view bytes) { d.feed(std::as_bytes(std::span(bytes))); }

value of(value::variant v) { return value(std::move(v)); }

// One of each kind, nested ones and empty ones.
const std::string every_kind =
    "+OK\r\n:42\r\n:-7\r\n$5\r\nhello\r\n$0\r\n\r\n$-1\r\n*-1\r\n*0\r\n-ERR no such thing\r\n"
    "*4\r\n:1\r\n*2\r\n$1\r\na\r\n-WRONG b\r\n$-1\r\n+fine\r\n$4\r\n\r\n\0x\r\n"s;

std::vector<value> every_value() {
    return {of(status{"OK"}),
            of(std::int64_t{42}),
            of(std::int64_t{-7}),
            of("hello"s),
            of(""s),
            of(nil{}),
            of(nil{}),
            of(array{}),
            of(error_reply{"ERR no such thing"}),
            of(array{of(std::int64_t{1}), of(array{of("a"s), of(error_reply{"WRONG b"})}), of(nil{}), of(status{"fine"})}),
            of("\r\n\0x"s)};
}

TEST(redis_codec, decodes_every_kind_of_reply) { EXPECT_EQ(replies_in(every_kind, every_kind.size()), every_value()); }

TEST(redis_codec, pieces_of_every_size_give_the_same_replies) {
    for (std::size_t piece = 1; piece < every_kind.size(); ++piece)
        EXPECT_EQ(replies_in(every_kind, piece), every_value()) << "piece size " << piece;
}

TEST(redis_codec, gives_nothing_before_the_last_byte) {
    decoder d(plenty);
    for (const char c : "$5\r\nhello\r"s) {
        feed(d, {&c, 1});
        EXPECT_FALSE(d.next());
    }
    feed(d, "\n");
    EXPECT_EQ(d.next(), of("hello"s));
    EXPECT_FALSE(d.next());
}

TEST(redis_codec, refuses_what_is_not_resp) {
    for (const std::string_view bad : {"HTTP/1.1 400 Bad Request\r\n"sv, "$-7\r\n"sv, "$abc\r\n"sv, "*-3\r\n"sv, "\0\0"sv}) {
        decoder d(plenty);
        EXPECT_THAT(
            [&] {
                feed(d, bad);
                (void)d.next();
            },
            ThrowsMessage<std::runtime_error>(HasSubstr("protocol")))
            << bad;
    }
}

TEST(redis_codec, announced_gigabytes_reserve_nothing) {
    for (const std::string_view huge : {"$4611686018427387904\r\n", "*2147483647\r\n", "*2\r\n*2000000000\r\n"}) {
        decoder d(plenty);
        try {
            feed(d, huge);
            EXPECT_FALSE(d.next()) << huge;
        } catch (const std::runtime_error& refused) {
            EXPECT_THAT(refused.what(), HasSubstr("protocol")) << huge;
        }
    }
}

TEST(redis_codec, a_reply_longer_than_the_limit_is_refused_once_it_is_sent) {
    decoder d(1000);
    feed(d, "$4611686018427387904\r\n");
    EXPECT_FALSE(d.next());
    const std::string part(400, 'x');
    feed(d, part);
    EXPECT_FALSE(d.next());
    feed(d, part);
    EXPECT_FALSE(d.next());
    feed(d, part);
    EXPECT_THAT([&] { (void)d.next(); }, ThrowsMessage<std::runtime_error>(HasSubstr("longer than 1000 bytes")));
}

TEST(redis_codec, CODEC_2_values_that_take_more_than_their_bytes_are_limited_too) {
    decoder d(100'000);
    feed(d, "*1000000\r\n");
    std::string many;
    for (int i = 0; i < 1000; ++i) many += "*0\r\n";
    feed(d, many);
    EXPECT_FALSE(d.next());
    feed(d, many);
    EXPECT_THAT([&] { (void)d.next(); }, ThrowsMessage<std::runtime_error>(HasSubstr("values takes more than 100000 bytes")));

    decoder whole(100'000);  // wherever the stream is cut
    feed(whole, "*2000\r\n" + many + many);
    EXPECT_THROW((void)whole.next(), std::runtime_error);

    decoder other(100'000);  // those of other replies do not count
    for (int i = 0; i < 10; ++i) {
        feed(other, "*1000\r\n" + many);
        EXPECT_TRUE(other.next());
    }
}

TEST(redis_codec, CODEC_3_a_long_line_is_refused_after_the_replies_before_it) {
    decoder d(plenty);
    feed(d, "+OK\r\n+" + std::string(70'000, 'a'));
    EXPECT_EQ(d.next(), of(status{"OK"}));
    EXPECT_THAT([&] { (void)d.next(); }, ThrowsMessage<std::runtime_error>(HasSubstr("line is longer than 65536 bytes")));
}

/// CPU time of this thread for one status line that comes byte by byte; the best of three.
double seconds_for_a_line_of(std::size_t bytes) {
    const auto once = [&] {
        const auto now = [] {
            timespec t;
            ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
            return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
        };
        const auto begin = now();
        EXPECT_EQ(replies_in('+' + std::string(bytes, 'a') + "\r\n", 1).size(), 1u);
        return now() - begin;
    };
    return std::min({once(), once(), once()});
}

TEST(redis_codec, CODEC_3_a_line_costs_its_length_and_not_its_square) {
    const double quarter = seconds_for_a_line_of(15'000);
    EXPECT_LT(seconds_for_a_line_of(60'000), 10 * quarter) << "4 were linear, 16 are the square";
}

TEST(redis_codec, many_replies_in_one_piece_do_not_add_up_to_the_limit) {
    decoder d(1000);
    std::string many;
    for (int i = 0; i < 500; ++i) many += "$5\r\nhello\r\n";
    feed(d, many);
    int found = 0;
    while (d.next()) ++found;
    EXPECT_EQ(found, 500);
}

TEST(redis_codec, deep_nesting_is_refused) {
    decoder d(plenty);
    std::string deep;
    for (int i = 0; i < 100'000; ++i) deep += "*1\r\n";
    EXPECT_THAT(
        [&] {
            feed(d, deep);
            (void)d.next();
        },
        ThrowsMessage<std::runtime_error>(HasSubstr("nested more than")));
}

TEST(redis_codec, seven_levels_are_understood) {
    std::string nested;
    for (int i = 0; i < 7; ++i) nested += "*1\r\n";
    const auto found = replies_in(nested + ":9\r\n", 3);
    ASSERT_EQ(found.size(), 1u);
    const value* v = &found[0];
    for (int i = 0; i < 7; ++i) v = &v->elements().at(0);
    EXPECT_EQ(v->integer(), 9);
}

TEST(redis_codec, RESP3_is_not_taken_for_RESP2) {
    for (const std::string_view bad :
         {"%1\r\n+a\r\n+b\r\n"sv, "~1\r\n+a\r\n"sv, ",1.5\r\n"sv, "#t\r\n"sv, "=5\r\ntxt:a\r\n"sv, ">1\r\n+a\r\n"sv}) {
        decoder d(plenty);
        EXPECT_THAT(
            [&] {
                feed(d, bad);
                (void)d.next();
            },
            ThrowsMessage<std::runtime_error>(HasSubstr("protocol")))
            << bad;
    }
}

/// Whether hiredis knows RESP3. If it does not, there is no decoder for it, which is then what the test shows.
bool resp3_is_there() {
    try {
        require_resp3();
        return true;
    } catch (const std::invalid_argument& refused) {
        EXPECT_THAT(refused.what(), HasSubstr("hiredis 1.1 or later"));
        EXPECT_THROW(decoder(plenty, resp::three), std::invalid_argument);
        return false;
    }
}

TEST(redis_codec, decodes_every_kind_of_reply_of_RESP3) {
    if (!resp3_is_there()) return;
    using weft::redis::big_number;
    using weft::redis::map;
    using weft::redis::set;
    using weft::redis::verbatim;
    const std::string replies = every_kind +
                                "%2\r\n+a\r\n%1\r\n:1\r\n~1\r\n+x\r\n*2\r\n:1\r\n:2\r\n_\r\n~2\r\n#t\r\n#f\r\n,1.5\r\n,-inf\r\n"
                                "(-3492890328409238509324850943850943825024385\r\n=8\r\ntxt:\r\n\0x\r\n%0\r\n_\r\n"s;
    auto expected = every_value();
    const auto inner = of(map{{of(std::int64_t{1}), of(set{{of(status{"x"})}})}});
    expected.push_back(of(map{{of(status{"a"}), inner}, {of(array{of(std::int64_t{1}), of(std::int64_t{2})}), of(nil{})}}));
    expected.push_back(of(set{{of(true), of(false)}}));
    expected.push_back(of(1.5));
    expected.push_back(of(-std::numeric_limits<double>::infinity()));
    expected.push_back(of(big_number{"-3492890328409238509324850943850943825024385"}));
    expected.push_back(of(verbatim{"txt", "\r\n\0x"s}));
    expected.push_back(of(map{}));
    expected.push_back(of(nil{}));
    for (std::size_t piece = 1; piece <= replies.size(); ++piece)
        ASSERT_EQ(replies_in(replies, piece, resp::three), expected) << "piece size " << piece;
}

TEST(redis_codec, refuses_in_RESP3_what_nothing_asked_for) {
    if (!resp3_is_there()) return;
    for (const std::string_view bad : {">2\r\n+a\r\n+b\r\n"sv, "|1\r\n+a\r\n+b\r\n"sv, "#x\r\n"sv, ",x\r\n"sv, "=3\r\ntxt\r\n"sv,
                                       "%1\r\n%1\r\n%1\r\n%1\r\n%1\r\n%1\r\n%1\r\n%1\r\n"sv, "!5\r\nERR x\r\n"sv}) {
        decoder d(plenty, resp::three);
        EXPECT_THAT(
            [&] {
                feed(d, bad);
                (void)d.next();
            },
            ThrowsMessage<std::runtime_error>(HasSubstr("protocol")))
            << bad;
    }
}

std::string spelled(std::initializer_list<argument> words) {
    std::string bytes;
    append_command(bytes, std::vector<argument>(words));
    return bytes;
}

TEST(redis_codec, spells_commands_with_lengths) {
    EXPECT_EQ(spelled({"GET", "a b\r\n\0c"s}), "*2\r\n$3\r\nGET\r\n$7\r\na b\r\n\0c\r\n"s);
    EXPECT_EQ(spelled({"SET", "", std::string_view()}), "*3\r\n$3\r\nSET\r\n$0\r\n\r\n$0\r\n\r\n");
}

TEST(redis_codec, spells_integers) {
    EXPECT_EQ(spelled({"INCRBY", "k", std::numeric_limits<std::int64_t>::min()}),
              "*3\r\n$6\r\nINCRBY\r\n$1\r\nk\r\n$20\r\n-9223372036854775808\r\n");
    EXPECT_EQ(spelled({"X", std::numeric_limits<std::uint64_t>::max(), 0}),
              "*3\r\n$1\r\nX\r\n$20\r\n18446744073709551615\r\n$1\r\n0\r\n");
}

TEST(redis_codec, spells_long_commands) {
    std::string expected = "*21\r\n$3\r\nDEL\r\n";
    std::vector<argument> words{"DEL"};
    for (int i = 0; i < 20; ++i) {
        words.emplace_back(i % 10);
        expected += "$1\r\n" + std::to_string(i % 10) + "\r\n";
    }
    std::string bytes = "before";
    append_command(bytes, words);
    EXPECT_EQ(bytes, "before" + expected);
}

TEST(redis_value, says_what_it_is_instead) {
    EXPECT_THAT([] { (void)of("text"s).integer(); }, ThrowsMessage<weft::redis::error>("the reply is string, not integer"));
    EXPECT_THAT([] { (void)of(nil{}).text(); }, ThrowsMessage<weft::redis::error>("the reply is nil, not string"));
    EXPECT_THAT([] { (void)of(error_reply{"ERR x"}).elements(); }, ThrowsMessage<weft::redis::error>("ERR x"));
    EXPECT_EQ(of(status{"OK"}).text(), "OK");
    EXPECT_THAT([] { (void)of(true).number(); }, ThrowsMessage<weft::redis::error>("the reply is bool, not double"));
    EXPECT_THAT([] { (void)of(1.5).entries(); }, ThrowsMessage<weft::redis::error>("the reply is double, not map"));
    EXPECT_THAT([] { (void)of("t"s).boolean(); }, ThrowsMessage<weft::redis::error>("the reply is string, not bool"));
    EXPECT_EQ(of(weft::redis::verbatim{"txt", "shown"}).text(), "shown");
    EXPECT_EQ(of(weft::redis::big_number{"12"}).text(), "12");
    EXPECT_EQ(of(weft::redis::set{{of("a"s)}}).elements().at(0).text(), "a");
    EXPECT_EQ(of(std::int64_t{3}).number(), 3.0);
}

}  // namespace
