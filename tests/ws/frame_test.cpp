// frame_test.cpp - frames, masks, UTF-8 and the sums of the handshake, without a connection.
#include "ws/frame.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "random.hpp"
#include "ws/sha1.hpp"
#include "ws/support/raw_peer.hpp"

namespace {

using namespace weft::detail::ws;
using event = frame_reader::event;
using weft::test::frame_text;
using weft::ws::errc;

frame_reader reader(frame_reader::limits l = {.max_message = 1000, .may_be_compressed = false}) { return {side::server, l}; }

TEST(ws_frame, a_message_comes_whole_however_its_bytes_arrive) {
    const auto bytes = frame_text{.first = 0x01, .payload = "Hel"}.bytes() +
                       frame_text{.first = 0x89, .payload = "ping"}.bytes() + frame_text{.first = 0x80, .payload = "lo"}.bytes() +
                       frame_text{.first = 0x82, .payload = std::string(300, 'x')}.bytes();
    for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
        auto r = reader();
        std::string seen;
        for (std::size_t at = 0; at < bytes.size(); at += piece) {
            auto in = std::string_view(bytes).substr(at, piece);
            while (!in.empty()) {
                const auto e = r.next(in);
                if (e == event::ping) seen += "[" + std::string(r.control()) + "]";
                if (e == event::message) {
                    const bool is_text = r.is_text();
                    const auto payload = r.take_payload();
                    seen += is_text ? payload : std::to_string(payload.size());
                }
            }
        }
        EXPECT_EQ(seen, "[ping]Hello300") << piece;
        EXPECT_TRUE(r.is_at_rest());
    }
}

TEST(ws_frame, what_is_appended_is_read_again) {
    for (std::size_t size : {0, 1, 7, 125, 126, 127, 65535, 65536, 70000}) {
        std::string bytes;
        const std::string payload(size, 'q');
        append_frame(bytes, {.what = opcode::binary, .mask = mask_key{1, 2, 3, 4}}, payload);
        auto r = reader({.max_message = 70000});
        std::string_view in = bytes;
        ASSERT_EQ(r.next(in), event::message) << size;
        EXPECT_EQ(r.take_payload(), payload);
        EXPECT_TRUE(in.empty());
    }
}

TEST(ws_frame, a_mask_is_the_same_from_every_offset) {
    const mask_key key{0x12, 0x34, 0x56, 0x78};
    std::string whole(100, 'a');
    apply_mask(whole.data(), whole.size(), key);
    for (std::size_t cut = 0; cut <= 100; ++cut) {
        std::string parts(100, 'a');
        apply_mask(parts.data(), cut, key);
        apply_mask(parts.data() + cut, 100 - cut, key, cut);
        EXPECT_EQ(parts, whole) << cut;
    }
    for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(whole[i], static_cast<char>('a' ^ key[i % 4]));
}

struct wrong {
    const char* what;
    std::string bytes;
    errc why = errc::protocol_error;
};

TEST(ws_frame, every_malformed_frame_is_named) {
    const auto bytes = [](frame_text f) { return f.bytes(); };
    const auto first_part = bytes({.first = 0x01, .payload = "a"});
    const std::vector<wrong> all{
        {"RSV1", bytes({.first = 0xc1})},
        {"RSV2", bytes({.first = 0xa1})},
        {"RSV3", bytes({.first = 0x91})},
        {"opcode 3", bytes({.first = 0x83})},
        {"opcode 7", bytes({.first = 0x87})},
        {"opcode 11", bytes({.first = 0x8b})},
        {"opcode 15", bytes({.first = 0x8f})},
        {"no mask", bytes({.first = 0x81, .payload = "a", .masked = false})},
        {"a part of a ping", bytes({.first = 0x09})},
        {"a ping of 126 bytes", bytes({.first = 0x89, .payload = std::string(126, 'a')})},
        {"a close of 126 bytes", bytes({.first = 0x88, .payload = std::string(126, 'a')})},
        {"a part of nothing", bytes({.first = 0x80})},
        {"a message within a message", first_part + bytes({.first = 0x81})},
        {"a length of 2^63", bytes({.first = 0x82, .length = std::uint64_t{1} << 63, .length_bytes = 8})},
        {"two bytes for 125", bytes({.first = 0x82, .payload = std::string(125, 'a'), .length_bytes = 2})},
        {"eight bytes for 65535", bytes({.first = 0x82, .length = 65535, .length_bytes = 8})},
        {"a close of one byte", bytes({.first = 0x88, .payload = "a"})},
        {"code 999", bytes({.first = 0x88, .payload = weft::test::close_text(999)})},
        {"code 1004", bytes({.first = 0x88, .payload = weft::test::close_text(1004)})},
        {"code 1005", bytes({.first = 0x88, .payload = weft::test::close_text(1005)})},
        {"code 1006", bytes({.first = 0x88, .payload = weft::test::close_text(1006)})},
        {"code 1015", bytes({.first = 0x88, .payload = weft::test::close_text(1015)})},
        {"code 2999", bytes({.first = 0x88, .payload = weft::test::close_text(2999)})},
        {"code 5000", bytes({.first = 0x88, .payload = weft::test::close_text(5000)})},
        {"a reason that is no text", bytes({.first = 0x88, .payload = weft::test::close_text(1000, "\xff")}), errc::invalid_text},
        {"a text that is none", bytes({.first = 0x81, .payload = "a\xff"}), errc::invalid_text},
        {"a text that ends in a character", bytes({.first = 0x81, .payload = "a\xc3"}), errc::invalid_text},
        {"such a text in two frames", bytes({.first = 0x01, .payload = "a\xe2"}) + bytes({.first = 0x80, .payload = "\x28"}),
         errc::invalid_text},
        {"a frame that is too big", bytes({.first = 0x82, .length = 1001, .length_bytes = 2}), errc::message_too_big},
        {"frames that are",
         bytes({.first = 0x02, .payload = std::string(600, 'a')}) + bytes({.first = 0x80, .length = 401, .length_bytes = 2}),
         errc::message_too_big},
    };
    for (const auto& w : all)
        for (const bool by_byte : {false, true}) {
            auto r = reader();
            event last = event::more;
            std::string_view rest = w.bytes;
            while (!rest.empty() && last != event::broken) {
                auto in = by_byte ? rest.substr(0, 1) : rest;
                rest.remove_prefix(in.size());
                while (!in.empty() && last != event::broken) last = r.next(in);
            }
            EXPECT_EQ(last, event::broken) << w.what;
            EXPECT_EQ(r.failure(), w.why) << w.what;
            std::string_view more = "x";
            EXPECT_EQ(r.next(more), event::broken) << w.what;
        }
}

TEST(ws_frame, a_client_refuses_masked_frames) {
    frame_reader r(side::client, {.max_message = 10});
    const auto bytes = frame_text{.payload = "a"}.bytes();
    std::string_view in = bytes;
    EXPECT_EQ(r.next(in), event::broken);
}

TEST(ws_frame, the_codes_that_a_close_may_have) {
    for (unsigned code : {1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1014, 3000, 3999, 4000, 4999})
        EXPECT_TRUE(is_close_code(code)) << code;
    for (unsigned code : {0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535})
        EXPECT_FALSE(is_close_code(code)) << code;
}

TEST(ws_frame, a_long_reason_is_cut_between_characters) {
    const auto made = close_payload(1000, std::string(122, 'a') + "\xc3\xa4");
    EXPECT_EQ(made.size(), 2u + 122u);
}

/// By the table of RFC 3629, and not by ranges as the code does it.
bool is_utf8_slowly(std::string_view s) {
    for (std::size_t i = 0; i < s.size();) {
        const auto at = [&](std::size_t k) { return i + k < s.size() ? static_cast<unsigned char>(s[i + k]) : 0u; };
        const auto tail = [&](std::size_t k) { return (at(k) & 0xc0u) == 0x80u ? at(k) & 0x3fu : 0x1000000u; };
        std::uint32_t c;
        std::size_t n;
        std::uint32_t least;
        if (at(0) < 0x80) {
            c = at(0), n = 1, least = 0;
        } else if ((at(0) & 0xe0u) == 0xc0u) {
            c = (at(0) & 0x1fu) << 6 | tail(1), n = 2, least = 0x80;
        } else if ((at(0) & 0xf0u) == 0xe0u) {
            c = (at(0) & 0x0fu) << 12 | tail(1) << 6 | tail(2), n = 3, least = 0x800;
        } else if ((at(0) & 0xf8u) == 0xf0u) {
            c = (at(0) & 0x07u) << 18 | tail(1) << 12 | tail(2) << 6 | tail(3), n = 4, least = 0x10000;
        } else {
            return false;
        }
        if (c < least || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) return false;
        for (std::size_t k = 1; k < n; ++k)
            if ((at(k) & 0xc0u) != 0x80u) return false;
        i += n;
    }
    return true;
}

TEST(ws_frame, utf8_is_what_the_standard_says) {
    // All beginnings of three bytes, with a fourth, behind some text.
    std::string text = "0123456789abcde????";
    for (unsigned a = 0x7f; a < 256; ++a)
        for (unsigned b : {0x00u, 0x41u, 0x7fu, 0x80u, 0x8fu, 0x90u, 0x9fu, 0xa0u, 0xbfu, 0xc0u, 0xffu})
            for (unsigned c : {0x41u, 0x7fu, 0x80u, 0xbfu, 0xc0u})
                for (unsigned d : {0x41u, 0x80u, 0xbfu, 0xc2u}) {
                    text[15] = static_cast<char>(a), text[16] = static_cast<char>(b);
                    text[17] = static_cast<char>(c), text[18] = static_cast<char>(d);
                    ASSERT_EQ(is_utf8(text), is_utf8_slowly(text)) << a << " " << b << " " << c << " " << d;
                    utf8_check parts;
                    bool well = true;
                    for (std::size_t i = 0; i < text.size(); i += 3) well &= parts.put(std::string_view(text).substr(i, 3));
                    ASSERT_EQ(well && parts.is_whole(), is_utf8(text));
                }
}

TEST(ws_frame, the_sums_of_the_handshake) {
    EXPECT_EQ(accept_of_key("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");  // of RFC 6455, 1.3
    EXPECT_EQ(base64(""), "");
    EXPECT_EQ(base64("f"), "Zg==");
    EXPECT_EQ(base64("fo"), "Zm8=");
    EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
    const auto a_million = sha1(std::string(1000000, 'a'));  // of FIPS 180-4's examples
    EXPECT_EQ(a_million[0], 0x34);
    EXPECT_EQ(a_million[1], 0xaa);
    EXPECT_EQ(a_million[19], 0x6f);
    EXPECT_TRUE(is_key("dGhlIHNhbXBsZSBub25jZQ=="));
    for (const char* key :
         {"", "dGhlIHNhbXBsZSBub25jZQ=", "dGhlIHNhbXBsZSBub25jZR==", "dGhlIHNhbXBsZSBub25jZ?==", "dGhlIHNhbXBsZSBub25jZQ==="})
        EXPECT_FALSE(is_key(key)) << key;
}

}  // namespace
