// deflate_test.cpp - compressed messages: with and without context, malformed, and bombs.
#include <weft/ws.hpp>

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include <weft/deadline.hpp>
#include <weft/scope.hpp>

#include "no_leaks.hpp"
#include "ws/deflate.hpp"
#include "ws/support/raw_peer.hpp"

namespace {

using namespace weft;
using namespace std::chrono_literals;
using detail::ws::deflate_codec;
using detail::ws::deflate_terms;
using test::close_text;
using test::got_frame;
using test::served_socket;
using ws::errc;

TEST(ws_deflate, what_is_compressed_comes_back) {
    std::minstd_rand random(11);
    for (const bool takeover : {false, true})
        for (int window : {9, 12, 15}) {
            const deflate_terms terms{
                .send_window = window, .receive_window = 15, .send_takeover = takeover, .receive_takeover = takeover};
            deflate_codec near(terms, 1), far(terms, 1);
            for (int i = 0; i < 60; ++i) {
                std::string text(static_cast<std::size_t>(i < 3 ? i : random() % 50000), 'a');
                for (auto& c : text) c = static_cast<char>('a' + random() % (i % 5 == 0 ? 256 : 4));
                std::string out;
                ASSERT_FALSE(far.decompress(near.compress(text), 60000, out));
                ASSERT_EQ(out, text);
            }
        }
}

TEST(ws_deflate, context_makes_repeated_messages_small) {
    const std::string text = "a message that says nothing new, and says it again and again";
    const deflate_terms keeps{.send_takeover = true};
    deflate_codec with(keeps, 6), without({}, 6);
    EXPECT_EQ(with.compress(text).size(), without.compress(text).size());
    EXPECT_LT(with.compress(text).size() * 3, without.compress(text).size());
}

TEST(ws_deflate, a_bomb_is_found_before_it_is_large) {
    deflate_codec codec({}, 9);
    const auto bomb = codec.compress(std::string(50 << 20, '\0'));
    EXPECT_LT(bomb.size(), 60000u);
    std::string out;
    EXPECT_EQ(codec.decompress(bomb, 1 << 20, out), errc::message_too_big);
    EXPECT_LE(out.size(), (1u << 20) + 1);
    EXPECT_FALSE(codec.decompress(codec.compress(std::string(1 << 20, 'a')), 1 << 20, out = {}));
}

TEST(ws_deflate, data_that_is_none_is_refused) {
    deflate_codec codec({}, 1);
    std::string out;
    EXPECT_EQ(codec.decompress("\xff\xff\xff\xff", 1000, out), errc::invalid_compression);
    EXPECT_FALSE(codec.decompress(codec.compress("well"), 1000, out = {}));
    EXPECT_EQ(out, "well");
    std::minstd_rand random(3);
    for (int i = 0; i < 3000; ++i) {  // a damaged message is refused, or is another one; nothing worse
        auto damaged = codec.compress(std::string(200, 'a') + std::to_string(i));
        damaged[random() % damaged.size()] ^= static_cast<char>(1 + random() % 255);
        static_cast<void>(codec.decompress(damaged, 100000, out = {}));
    }
}

TEST(ws_deflate, a_last_block_may_be_in_a_message) {
    deflate_codec codec({}, 1);
    std::string out;
    // "Hello" in a block with BFINAL, and an empty block behind it. [RFC7692, 7.2.3.4]
    EXPECT_FALSE(codec.decompress(std::string("\xf3\x48\xcd\xc9\xc9\x07\x00\x00", 8), 100, out));
    EXPECT_EQ(out, "Hello");
    // The other examples of 7.2.3.
    EXPECT_FALSE(codec.decompress(std::string("\xf2\x48\xcd\xc9\xc9\x07\x00", 7), 100, out = {}));
    EXPECT_EQ(out, "Hello");
    EXPECT_FALSE(codec.decompress(std::string("\x00\x05\x00\xfa\xff\x48\x65\x6c\x6c\x6f\x00", 11), 100, out = {}));
    EXPECT_EQ(out, "Hello");
    EXPECT_FALSE(codec.decompress(std::string("\x00", 1), 100, out = {}));
    EXPECT_EQ(out, "");
}

class ws_deflated : public test::on_workers {
protected:
    template <class F>
    void run(F&& f) {
        test::watched_runtime rt(GetParam());
        rt.run([&] { with_timeout(30s, f); });
    }
    static http::headers offer() { return {{"Sec-WebSocket-Extensions", "permessage-deflate"}}; }
};
WEFT_ON_1_2_4_8_WORKERS(ws_deflated);

TEST_P(ws_deflated, messages_are_compressed_from_a_size_on_and_fragments_with_RSV1_in_the_first_alone) {
    run([] {
        served_socket s(test::echo, {.deflate = true, .compression = {.least = 10}}, offer());
        deflate_codec codec({}, 1);
        s.client.send({.payload = "short"});
        EXPECT_EQ(s.client.receive(), (got_frame{0x81, "short"}));
        const std::string text(1000, 'a');
        const auto packed = codec.compress(text);
        s.client.send({.first = 0x41, .payload = packed.substr(0, 3)});
        s.client.send({.first = 0x89});
        s.client.send({.first = 0x80, .payload = packed.substr(3)});
        EXPECT_EQ(s.client.receive().first, 0x8au);
        const auto answer = s.client.receive();
        EXPECT_EQ(answer.first, 0xc1u);
        std::string out;
        EXPECT_FALSE(codec.decompress(answer.payload, 1000, out));
        EXPECT_EQ(out, text);
        s.client.send({.first = 0x01, .payload = "a"});
        s.client.send({.first = 0xc0, .payload = "b"});
        EXPECT_EQ(s.client.receive(), (got_frame{0x88, close_text(1002)}));
    });
}

TEST_P(ws_deflated, bombs_malformed_data_and_bad_texts_end_the_connection) {
    run([] {
        deflate_codec codec({}, 9);
        const std::pair<std::string, unsigned> all[] = {{codec.compress(std::string(10 << 20, 'a')), 1009},
                                                        {std::string("\xff\xff\xff\xff"), 1007},
                                                        {codec.compress("\xff"), 1007}};
        for (const auto& [payload, code] : all) {
            served_socket s(test::echo, {.max_message = 1 << 20, .deflate = true}, offer());
            s.client.send({.first = 0xc1, .payload = payload});
            EXPECT_EQ(s.client.receive(), (got_frame{0x88, close_text(code)}));
            s.client.stream.close();
        }
    });
}

TEST_P(ws_deflated, with_context_many_writers_stay_in_step) {
    run([] {
        constexpr int writers = 8, messages = 40;
        served_socket s(
            [](const http::request&, ws::connection& c) {
                with_scope([&](scope& all) {
                    for (int w = 0; w < writers; ++w)
                        all.spawn([&c, w] {
                            for (int i = 0; i < messages; ++i)
                                c.send("writer " + std::to_string(w) + " sends " + std::to_string(i));
                        });
                });
            },
            {.deflate = true, .compression = {.takeover = true, .least = 0}}, offer());
        deflate_codec codec({.receive_takeover = true}, 1);
        std::vector<int> next(writers, 0);
        for (int n = 0; n < writers * messages; ++n) {
            const auto f = s.client.receive();
            ASSERT_EQ(f.first, 0xc1u);
            std::string out;
            ASSERT_FALSE(codec.decompress(f.payload, 1000, out));
            int w = 0, i = 0;
            ASSERT_EQ(std::sscanf(out.c_str(), "writer %d sends %d", &w, &i), 2) << out;
            EXPECT_EQ(i, next[static_cast<std::size_t>(w)]++);
        }
        EXPECT_EQ(s.client.receive().first, 0x88u);
    });
}

}  // namespace
