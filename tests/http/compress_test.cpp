// compress_test.cpp - which bodies are compressed, and that clients get them back.
#include <weft/deadline.hpp>
#include <weft/fiber.hpp>
#include <weft/http/compress.hpp>
#include <weft/http/server.hpp>
#include <weft/no_limit.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "http/compressor.hpp"
#include "http/field_list.hpp"
#include "http/support/folder.hpp"
#include "http/support/served.hpp"
#include "random.hpp"

namespace {

using namespace weft;
using detail::coding;

std::string words(std::size_t bytes) {
    std::string s;
    for (std::size_t i = 0; s.size() < bytes; ++i) s += "word " + std::to_string(i % 97) + ", ";
    s.resize(bytes);
    return s;
}

/// The plain text of a whole compressed one, taken `step` bytes at a time; nothing if it is malformed.
std::optional<std::string> unpacked(std::string_view text, coding how, std::size_t step = 1 << 20) {
    const auto through = how == coding::zstd ? detail::make_zstd_decompressor() : detail::make_gzip_decompressor();
    std::string all;
    std::array<char, 1000> room;
    for (bool is_full = false; !text.empty() || is_full;) {
        auto piece = text.substr(0, step);
        const auto before = piece.size();
        const auto n = through->take(piece, room);
        if (!n) return std::nullopt;
        all.append(room.data(), *n);
        text.remove_prefix(before - piece.size());
        is_full = *n == room.size();
        if (*n == 0 && before == piece.size()) break;
    }
    return through->is_whole() && text.empty() ? std::optional(all) : std::nullopt;
}

std::string packed(std::string_view text, coding how, int level = 4, bool known = true) {
    const auto through = how == coding::zstd ? detail::make_zstd_compressor(
                                                   level, known ? std::optional<std::uint64_t>(text.size()) : std::nullopt)
                                             : detail::make_gzip_compressor(level);
    std::string out;
    through->put(text, detail::ending::none, out);
    through->put({}, detail::ending::whole, out);
    return out;
}

class codings : public testing::TestWithParam<coding> {};
INSTANTIATE_TEST_SUITE_P(both, codings, testing::Values(coding::gzip, coding::zstd),
                         [](const auto& how) { return std::string(detail::name(how.param)); });

TEST_P(codings, give_back_what_was_put_in) {
    std::minstd_rand noise(7);
    std::string random(100'000, ' ');
    for (char& c : random) c = static_cast<char>(test::below(noise, 256));
    for (const auto& text : {std::string(), std::string("x"), words(5000), words(300'000), random, std::string(1'000'000, 'a')})
        for (const int level : {1, 4, 9})
            for (const bool known : {true, false})
                for (const std::size_t step : {1u << 20, 777u}) {
                    const auto back = unpacked(packed(text, GetParam(), level, known), GetParam(), step);
                    ASSERT_TRUE(back == text) << text.size() << ' ' << level << ' ' << known << ' ' << step;
                }
    EXPECT_LT(packed(words(300'000), GetParam()).size(), 30'000u);
}

TEST_P(codings, a_flush_lets_everything_out) {
    const auto through = GetParam() == coding::zstd ? detail::make_zstd_compressor(4, {}) : detail::make_gzip_compressor(4);
    const auto back = GetParam() == coding::zstd ? detail::make_zstd_decompressor() : detail::make_gzip_decompressor();
    for (const auto& text : {std::string("first"), words(40'000), std::string("last")}) {
        std::string out, plain;
        through->put(text, detail::ending::none, out);
        through->put({}, detail::ending::flush, out);
        std::array<char, 100'000> room;
        for (std::string_view rest = out; !rest.empty();) {
            const auto n = back->take(rest, room);
            ASSERT_TRUE(n);
            plain.append(room.data(), *n);
        }
        EXPECT_TRUE(plain == text) << text.size();
        EXPECT_FALSE(back->is_whole());
    }
}

TEST_P(codings, members_may_follow_each_other) {
    EXPECT_EQ(unpacked(packed("one, ", GetParam()) + packed("two", GetParam()), GetParam()), "one, two");
}

TEST_P(codings, what_is_malformed_or_cut_is_told) {
    const auto good = packed(words(3000), GetParam());
    for (std::size_t n = 1; n < good.size(); ++n)
        EXPECT_EQ(unpacked(std::string_view(good).substr(0, n), GetParam()), std::nullopt) << n;
    EXPECT_EQ(unpacked("nonsense", GetParam()), std::nullopt);
    EXPECT_EQ(unpacked(good + "x", GetParam()), std::nullopt);
    auto bad = good;
    bad[bad.size() / 2] = static_cast<char>(bad[bad.size() / 2] ^ 0x55);
    EXPECT_NE(unpacked(bad, GetParam()), words(3000));
}

TEST(zstd_frames, begin_as_the_format_says_today) {
    using namespace std::string_literals;
    // A frame of zstd 0.7 with a window of 128 MiB, which libzstd may still read.
    const auto old = "\x27\xB5\x2F\xFD\x00\x88\x40\x00\x05hello\xC0\x00\x00"s;
    const auto skipped =
        "\x5A\x2A\x4D\x18\x03\x00\x00\x00"
        "abc"s;
    const auto text = packed("text", coding::zstd);
    for (const std::size_t step : {1u, 3u, 1u << 20}) {
        EXPECT_EQ(unpacked(old, coding::zstd, step), std::nullopt) << step;
        EXPECT_EQ(unpacked(text + old, coding::zstd, step), std::nullopt) << step;
        EXPECT_EQ(unpacked(skipped + text + skipped + text, coding::zstd, step), "texttext") << step;
    }
}

class compression : public testing::Test {
protected:
    void use(http::compress_options options = {}) {
        routes = http::router();
        routes.use(http::compress(options));
        routes.get("/a", [this](const http::request&) { return answer; });
    }
    http::response ask(std::string_view accepted, std::string method = "GET", std::string_view tags = {}) {
        http::request_parts parts{.method = std::move(method), .target = "/a"};
        if (!tags.empty()) parts.headers.add("If-None-Match", tags);
        if (!accepted.empty()) parts.headers.add("Accept-Encoding", accepted);
        http::request q(std::move(parts));
        return routes.handle(q);
    }
    static std::string field(const http::response& r, std::string_view name) {
        return std::string(r.headers.find(name).value_or("-"));
    }
    /// The coding of the answer, and that its body is the expected one.
    std::string coding_of(const http::response& r, std::string_view expected) {
        const auto body = r.stream ? http::collect(r.stream) : r.body;
        const auto how = field(r, "Content-Encoding");
        const auto plain = how == "-" ? std::optional(body) : unpacked(body, how == "zstd" ? coding::zstd : coding::gzip);
        EXPECT_TRUE(plain == expected);
        return how;
    }

    http::router routes;
    http::response answer = http::text(200, words(20'000));
};

TEST_F(compression, follows_what_the_client_accepts) {
    use();
    const auto text = words(20'000);
    EXPECT_EQ(coding_of(ask("gzip, br, zstd"), text), "zstd");
    EXPECT_EQ(coding_of(ask("gzip"), text), "gzip");
    EXPECT_EQ(coding_of(ask("gzip;q=1, zstd;q=0.5"), text), "gzip");
    EXPECT_EQ(coding_of(ask("br"), text), "-");
    EXPECT_EQ(coding_of(ask(""), text), "-");
    EXPECT_EQ(coding_of(ask("identity, gzip;q=0.5"), text), "-");
    EXPECT_EQ(coding_of(ask("*;q=0"), text), "-");
    for (const char* accepted : {"gzip", ""}) EXPECT_EQ(field(ask(accepted), "Vary"), "Accept-Encoding") << accepted;
    EXPECT_LT(ask("gzip").body.size(), 5000u);
}

TEST_F(compression, weakens_a_strong_tag_and_takes_ranges_back) {
    use();
    answer.headers.add("ETag", "\"x\"");
    answer.headers.add("Accept-Ranges", "bytes");
    answer.headers.add("Vary", "Origin");
    const auto r = ask("gzip");
    EXPECT_EQ(field(r, "ETag"), "W/\"x\"");
    EXPECT_EQ(field(r, "Accept-Ranges"), "-");
    EXPECT_EQ(field(r, "Vary"), "Origin, Accept-Encoding");
    EXPECT_EQ(field(ask(""), "ETag"), "\"x\"");
    EXPECT_EQ(field(ask(""), "Accept-Ranges"), "bytes");
    answer.headers.set("ETag", "W/\"x\"");
    EXPECT_EQ(field(ask("gzip"), "ETag"), "W/\"x\"");
}

TEST_F(compression, a_304_has_the_tag_of_what_the_client_has) {
    use();
    answer = {.status = 304, .headers = {{"ETag", "\"x\""}}};
    for (const auto& [has, tag] : {std::pair{"W/\"x\"", "W/\"x\""},
                                   {"\"y\", W/\"x\"", "W/\"x\""},
                                   {"\"x\"", "\"x\""},
                                   {"W/\"x\", \"x\"", "\"x\""},
                                   {"W/\"y\"", "\"x\""},
                                   {"*", "\"x\""},
                                   {"", "\"x\""}}) {
        const auto r = ask("gzip", "GET", has);
        EXPECT_EQ(field(r, "ETag"), tag) << has;
        EXPECT_EQ(field(r, "Vary"), "Accept-Encoding");
    }
}

TEST_F(compression, says_that_the_answer_varies_also_where_it_is_left_alone) {
    use();
    answer = {.status = 304, .headers = {{"Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT"}}};
    EXPECT_EQ(field(ask("gzip"), "Vary"), "Accept-Encoding");
    answer = {.status = 206, .headers = {{"Content-Type", "text/css"}, {"Content-Range", "bytes 0-1/9000"}}, .body = "ab"};
    EXPECT_EQ(field(ask("gzip"), "Vary"), "Accept-Encoding");
    EXPECT_EQ(field(ask("gzip"), "Content-Encoding"), "-");
    answer.headers.add("Cache-Control", "no-transform");
    EXPECT_EQ(field(ask("gzip"), "Vary"), "-");
    answer = {.status = 206, .headers = {{"Content-Type", "image/png"}}, .body = "ab"};
    EXPECT_EQ(field(ask("gzip"), "Vary"), "-");
}

TEST_F(compression, leaves_alone_what_is_small_or_would_not_shrink) {
    use();
    const auto with_type = [&](std::string_view type) {
        answer.headers.set("Content-Type", type);
        return coding_of(ask("gzip"), answer.body);
    };
    for (const char* type : {"image/png", "video/mp4", "application/zip", "font/woff2", "text/event-stream; charset=utf-8"}) {
        EXPECT_EQ(with_type(type), "-") << type;
        EXPECT_EQ(field(ask("gzip"), "Vary"), "-") << type;
    }
    EXPECT_EQ(with_type("image/svg+xml"), "gzip");
    answer.headers.erase("Content-Type");
    EXPECT_EQ(coding_of(ask("gzip"), answer.body), "-");
    answer = http::text(200, words(1023));
    EXPECT_EQ(coding_of(ask("gzip"), answer.body), "-");
    EXPECT_EQ(field(ask("gzip"), "Vary"), "Accept-Encoding") << "it may be larger the next time";
    answer = http::text(200, words(1024));
    EXPECT_EQ(coding_of(ask("gzip"), answer.body), "gzip");
    std::minstd_rand noise(11);
    for (char& c : answer.body) c = static_cast<char>(test::below(noise, 256));
    EXPECT_EQ(coding_of(ask("gzip"), answer.body), "-") << "it would grow";
    use({.least = 0, .level = 9});
    answer = http::text(200, std::string(200, 'x'));
    EXPECT_EQ(coding_of(ask("gzip"), answer.body), "gzip");
}

TEST_F(compression, leaves_alone_what_must_not_be_changed) {
    use();
    const auto before = answer;
    for (const auto& [name, value] : {std::pair{"Content-Encoding", "br"},
                                      {"Cache-Control", "public, No-Transform"},
                                      {"Content-Range", "bytes 0-1/2"},
                                      {"Content-Digest", "sha-256=:x:"}}) {
        answer = before;
        answer.headers.add(name, value);
        const auto r = ask("gzip, identity;q=0");
        EXPECT_EQ(r.body, answer.body) << name;
        EXPECT_EQ(field(r, name), value);
        EXPECT_EQ(field(r, "Vary"), "-");
    }
    for (const int status : {204, 206, 304}) {
        answer = before;
        answer.status = status;
        EXPECT_EQ(ask("gzip").body, answer.body) << status;
    }
    answer = before;
    answer.status = 404;
    EXPECT_EQ(coding_of(ask("gzip"), before.body), "gzip") << "a page for errors is a page";
}

TEST_F(compression, of_everything_if_the_client_refuses_plain_bodies) {
    use();
    answer = http::text(200, "small");
    answer.headers.set("Content-Type", "image/png");
    EXPECT_EQ(coding_of(ask("gzip, identity;q=0"), "small"), "gzip");
    EXPECT_EQ(field(ask("gzip, identity;q=0"), "Vary"), "Accept-Encoding");
    EXPECT_EQ(coding_of(ask("zstd, *;q=0"), "small"), "zstd");
    EXPECT_EQ(coding_of(ask("br, identity;q=0"), "small"), "-") << "there is nothing that it takes";
}

TEST_F(compression, head_has_the_fields_of_get) {
    use();
    for (const bool streams : {false, true}) {
        if (streams)
            answer = http::stream(
                200, "text/plain", [](http::body_writer&) { FAIL(); }, 5000);
        const auto r = ask("zstd", "HEAD");
        EXPECT_EQ(field(r, "Content-Encoding"), "zstd");
        EXPECT_EQ(r.stream_length, std::nullopt);
    }
    answer = http::text(200, words(20'000));
    EXPECT_EQ(ask("zstd", "HEAD").body.size(), ask("zstd").body.size()) << "for Content-Length";
}

TEST_F(compression, of_streams) {
    use();
    const auto text = words(300'000);
    test::folder folder;
    folder.write("file", text);
    for (const char* how : {"gzip", "zstd"})
        for (const std::size_t piece : {std::size_t{100}, std::size_t{70'000}, text.size()})
            for (const bool known : {false, true}) {
                answer = http::stream(
                    200, "text/plain",
                    [&](http::body_writer& out) {
                        for (std::size_t at = 0; at < text.size(); at += piece)
                            out.write(std::string_view(text).substr(at, piece));
                    },
                    known ? std::optional<std::uint64_t>(text.size()) : std::nullopt);
                const auto r = ask(how);
                EXPECT_EQ(coding_of(r, text), how);
                EXPECT_EQ(r.stream_length, std::nullopt);
                EXPECT_LT(http::collect(r.stream).size(), text.size() / 4);
            }
    std::FILE* const file = std::fopen(folder.path("file").c_str(), "rb");
    answer = http::stream(
        200, "text/plain", [&](http::body_writer& out) { out.write_file(::fileno(file), 10, text.size() - 10); },
        text.size() - 10);
    EXPECT_EQ(coding_of(ask("zstd"), text.substr(10)), "zstd");
    answer = http::stream(200, "text/plain", [&](http::body_writer& out) { out.write_file(::fileno(file), 0, text.size() + 1); });
    EXPECT_THROW((void)http::collect(ask("zstd").stream), std::system_error);
    std::fclose(file);
    answer = http::stream(
        200, "text/plain", [](http::body_writer& out) { out.write("x"); }, 100);
    EXPECT_EQ(field(ask("gzip"), "Content-Encoding"), "-") << "it is known to be small";
}

TEST_F(compression, a_stream_must_still_have_the_length_that_was_announced) {
    use();
    for (const char* how : {"gzip", "zstd"})
        for (const std::size_t bytes : {1999u, 2001u}) {
            answer = http::stream(
                200, "text/plain", [bytes](http::body_writer& out) { out.write(std::string(bytes, 'x')); }, 2000);
            EXPECT_THROW((void)http::collect(ask(how).stream), std::length_error) << how << bytes;
        }
}

/// Counts what is written, and fails when it is told to.
class failing_sink final : public detail::body_sink {
public:
    void write(std::string_view piece) override {
        ++writes;
        if (fails) throw std::system_error(std::make_error_code(std::errc::broken_pipe), "failing_sink");
        text.append(piece);
    }
    void write_file(int, std::uint64_t, std::uint64_t) override {}
    void flush() override {}
    bool stopping() const noexcept override { return false; }

    std::string text;
    int writes = 0;
    bool fails = false;
};

TEST_F(compression, a_stream_that_has_failed_does_not_go_on) {
    use();
    std::minstd_rand noise(13);
    std::string random(200'000, ' ');
    for (char& c : random) c = static_cast<char>(test::below(noise, 256));
    test::folder folder;
    folder.write("file", random);
    std::FILE* const file = std::fopen(folder.path("file").c_str(), "rb");
    using step = std::function<void(http::body_writer&)>;
    const step fail_by[] = {[&](http::body_writer& out) { out.write(random); },
                            [&](http::body_writer& out) { out.write_file(::fileno(file), 0, random.size()); },
                            [&](http::body_writer& out) { out.flush(); }};
    for (const char* how : {"gzip", "zstd"})
        for (const auto& fail : fail_by) {
            failing_sink sink;
            answer = http::stream(200, "text/plain", [&](http::body_writer& out) {
                out.write("head");
                sink.fails = true;
                EXPECT_THROW(fail(out), std::system_error);
                sink.fails = false;
                EXPECT_THROW(out.write("tail"), std::system_error);
                EXPECT_THROW(out.flush(), std::system_error);
                EXPECT_THROW(out.write_file(::fileno(file), 0, 1), std::system_error);
            });
            http::body_writer to(sink);
            EXPECT_THROW(ask(how).stream(to), std::system_error) << "a body that has no end";
        }
    std::fclose(file);
}

TEST_F(compression, a_stream_that_is_interrupted_before_a_piece_goes_on) {
    use();
    answer = http::stream(200, "text/plain", [](http::body_writer& out) {
        out.write("head, ");
        const auto late = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
        EXPECT_ANY_THROW(with_timeout(std::chrono::milliseconds(1), [&] {
            while (std::chrono::steady_clock::now() < late) {}
            out.write("lost");
        }));
        out.write("tail");
    });
    weft::run([&] {
        for (const char* how : {"gzip", "zstd"}) EXPECT_EQ(coding_of(ask(how), "head, tail"), how);
    });
}

TEST_F(compression, small_pieces_of_a_stream_are_collected) {
    use();
    answer = http::stream(200, "text/plain", [](http::body_writer& out) {
        for (int i = 0; i < 1000; ++i) out.write("twenty bytes of text");
        out.flush();
        out.write("the end");
    });
    for (const char* how : {"gzip", "zstd"}) {
        failing_sink sink;
        http::body_writer to(sink);
        ask(how).stream(to);
        EXPECT_LT(sink.writes, 20) << how;
        EXPECT_EQ(unpacked(sink.text, std::string_view(how) == "zstd" ? coding::zstd : coding::gzip)->size(), 20'007u);
    }
}

TEST_F(compression, head_of_a_file_has_the_fields_of_get) {
    test::folder folder;
    folder.write("small.txt", words(5000));
    folder.write("large.txt", words(50'000));
    routes = http::router();
    routes.use(http::compress()).files("/f", folder.path());
    for (const char* target : {"/f/small.txt", "/f/large.txt"}) {
        const auto answer_to = [&](const char* method) {
            http::request q({.method = method, .target = target, .headers = {{"Accept-Encoding", "gzip"}}});
            return routes.handle(q);
        };
        const auto get = answer_to("GET"), head = answer_to("HEAD");
        EXPECT_EQ(field(get, "Content-Encoding"), "gzip");
        EXPECT_EQ(field(head, "Content-Encoding"), "gzip");
        EXPECT_EQ(head.body.size(), get.body.size()) << target;
        EXPECT_EQ(head.stream_length, get.stream_length);
    }
}

TEST_F(compression, refuses_levels_that_are_none) {
    for (const int level : {0, 10, -1}) EXPECT_THROW((void)http::compress({.level = level}), std::invalid_argument) << level;
}

class decompression : public testing::Test {
protected:
    void use(http::decompress_options options) {
        routes = http::router();
        routes.use(http::decompress(options));
        routes.post("/a", [](const http::request& q) {
            auto answer = http::text(200, q.body());
            for (const auto [name, value] : q.headers()) answer.headers.add("Asked-" + std::string(name), value);
            return answer;
        });
    }
    http::response post(std::string body, std::string_view how) {
        http::request_parts parts{.method = "POST", .target = "/a", .body = std::move(body)};
        parts.headers.add("Content-Length", std::to_string(parts.body.size()));
        if (!how.empty()) parts.headers.add("Content-Encoding", how);
        http::request q(std::move(parts));
        return routes.handle(q);
    }

    http::router routes;
};

TEST_F(decompression, gives_the_handler_the_plain_body) {
    use({});
    const auto text = words(200'000);
    for (const auto& [how, name] : {std::pair{coding::gzip, "gzip"}, {coding::gzip, "X-GZIP"}, {coding::zstd, "zstd"}}) {
        const auto r = post(packed(text, how), name);
        EXPECT_TRUE(r.body == text) << name;
        EXPECT_FALSE(r.headers.contains("Asked-Content-Encoding"));
        EXPECT_EQ(r.headers.find("Asked-Content-Length"), "200000");
    }
    EXPECT_EQ(post(packed("", coding::gzip), "gzip").body, "");
    EXPECT_EQ(post("plain", "").body, "plain");
    EXPECT_EQ(post("plain", "identity").body, "plain");
    EXPECT_EQ(post("", "gzip").status, 200) << "no body";
    EXPECT_EQ(post(packed("twice", coding::zstd), "identity, zstd").body, "twice");
}

TEST_F(decompression, refuses_what_grows_beyond_the_limit) {
    use({.most = 100'000});
    for (const auto how : {coding::gzip, coding::zstd}) {
        EXPECT_EQ(post(packed(std::string(100'000, 'x'), how), detail::name(how)).body.size(), 100'000u);
        const auto bomb = packed(std::string(50'000'000, 'x'), how);
        EXPECT_LT(bomb.size(), 100'000u);
        const auto r = post(bomb, detail::name(how));
        EXPECT_EQ(r.status, 413);
        EXPECT_NE(r.body.find("more than 100000 bytes"), std::string::npos) << r.body;
        EXPECT_EQ(post(packed(std::string(100'001, 'x'), how), detail::name(how)).status, 413);
    }
    use({.most = weft::no_limit});
    EXPECT_EQ(post(packed(std::string(3'000'000, 'x'), coding::zstd), "zstd").body.size(), 3'000'000u);
}

TEST_F(decompression, refuses_what_it_cannot_read) {
    use({});
    for (const auto how : {coding::gzip, coding::zstd}) {
        const auto good = packed(words(5000), how);
        EXPECT_EQ(post(good.substr(0, good.size() - 1), detail::name(how)).status, 400);
        EXPECT_EQ(post("nonsense", detail::name(how)).status, 400);
        EXPECT_EQ(post(good + "more", detail::name(how)).status, 400);
    }
    for (const char* unknown : {"br", "deflate", "gzip, zstd", "gzip, gzip", "gzip\"x"}) {
        const auto r = post("x", unknown);
        EXPECT_EQ(r.status, 415) << unknown;
        EXPECT_EQ(r.headers.find("Accept-Encoding"), "gzip, zstd");
    }
}

TEST_F(decompression, refuses_old_formats_of_zstd) {
    use({});
    EXPECT_EQ(post({"\x27\xB5\x2F\xFD\x00\x88\x40\x00\x05hello\xC0\x00\x00", 17}, "zstd").status, 400);
}

TEST_F(decompression, takes_the_digests_of_what_was_sent_away) {
    use({});
    http::request_parts parts{.method = "POST", .target = "/a", .body = packed("text", coding::gzip)};
    parts.headers.add("Content-Encoding", "gzip");
    for (const char* digest : {"Content-Digest", "Repr-Digest", "Digest", "Content-MD5"}) parts.headers.add(digest, "x");
    http::request q(std::move(parts));
    const auto r = routes.handle(q);
    EXPECT_EQ(r.body, "text");
    for (const char* digest : {"Content-Digest", "Repr-Digest", "Digest", "Content-MD5"})
        EXPECT_FALSE(r.headers.contains("Asked-" + std::string(digest))) << digest;
}

TEST_F(decompression, a_stream_of_inner_middleware_may_use_the_request) {
    routes.use(http::decompress());
    routes.use([](const http::request& q, const http::next&) {
        return http::stream(200, "text/plain", [&q](http::body_writer& to) { to.write(q.body()); });
    });
    const auto first = post(packed(words(3000), coding::gzip), "gzip");
    const auto second = post(packed(std::string(3000, 'x'), coding::gzip), "gzip");
    EXPECT_TRUE(http::collect(first.stream) == words(3000));
    EXPECT_TRUE(http::collect(second.stream) == std::string(3000, 'x'));
}

TEST_F(decompression, lets_others_run_between_many_small_members) {
    use({});
    for (const auto how : {coding::gzip, coding::zstd}) {
        const auto member = packed("", how);
        std::string body;
        while (body.size() < 1'000'000) body += member;
        int turns = 0;
        runtime rt({.workers = 1, .time_slice = std::chrono::nanoseconds::zero()});
        rt.run([&] {
            bool is_over = false;
            auto other = spawn([&] {
                while (!is_over) {
                    this_fiber::yield();
                    ++turns;
                }
            });
            this_fiber::yield();
            turns = 0;
            EXPECT_EQ(post(std::move(body), detail::name(how)).status, 200);
            const int during = turns;
            is_over = true;
            other.join();
            EXPECT_GE(during, 10) << detail::name(how);
        });
    }
}

class http_compressed : public test::served {
protected:
    /// What curl gets, with its exit code after it.
    std::string run(const std::string& options, const std::string& path) {
        const auto command = "curl --silent --show-error --max-time 20 " + options +
                             " http://127.0.0.1:" + std::to_string(app.local().port) + path + " 2>&1; echo \" exit $?\"";
        std::FILE* const out = ::popen(command.c_str(), "r");
        std::string all;
        std::array<char, 4096> room;
        while (const auto n = std::fread(room.data(), 1, room.size(), out)) all.append(room.data(), n);
        ::pclose(out);
        return all;
    }
};
WEFT_ON_1_2_4_8_WORKERS(http_compressed);

TEST_P(http_compressed, bodies_are_read_by_curl) {
    const auto text = words(300'000);
    app.use(http::compress());
    app.get("/whole", [&](const http::request&) { return http::text(200, text); });
    app.get("/stream", [&](const http::request&) {
        return http::stream(200, "text/plain", [&](http::body_writer& out) {
            for (std::size_t at = 0; at < text.size(); at += 10'000) {
                out.write(std::string_view(text).substr(at, 10'000));
                out.flush();
            }
        });
    });
    start();
    for (const std::string how : {"gzip", "zstd"})
        for (const char* path : {"/whole", "/stream"}) {
            const auto plain = run("--compressed -H 'Accept-Encoding: " + how + "'", path);
            EXPECT_TRUE(plain == text + " exit 0\n") << how << path << plain.size();
            const auto head = run("-I -H 'Accept-Encoding: " + how + "'", path);
            EXPECT_NE(head.find("Content-Encoding: " + how), std::string::npos) << head;
            EXPECT_EQ(head.find("Content-Length") == std::string::npos, std::string_view(path) == "/stream") << head;
        }
    EXPECT_TRUE(run("", "/whole") == text + " exit 0\n");
    stop();
}

TEST_P(http_compressed, a_flushed_piece_arrives_before_the_next_is_written) {
    app.use(http::compress());
    std::atomic<bool> has_arrived{false};
    app.get("/s", [&](const http::request&) {
        return http::stream(200, "text/plain", [&](http::body_writer& out) {
            out.write("data: first\n\n");
            out.flush();
            while (!has_arrived) this_fiber::sleep_for(std::chrono::milliseconds(1));
            out.write("data: second\n\n");
        });
    });
    start();
    auto c = connect();
    c.send("GET /s HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n");
    EXPECT_TRUE(c.receives_something());
    has_arrived = true;
    const auto r = c.receive();
    EXPECT_EQ(r.header("Content-Encoding"), "gzip");
    EXPECT_EQ(unpacked(r.body, coding::gzip), "data: first\n\ndata: second\n\n");
    stop();
}

TEST_P(http_compressed, requests_arrive_plain_except_where_the_route_reads_them) {
    app.use(http::decompress({.most = 200'000}));
    app.post("/raw", [](const http::request& q, http::body_reader& in) {
        return http::text(200, std::string(q.header("Content-Encoding")) + std::to_string(in.read_all(1 << 20).size()));
    });
    start();
    const auto text = words(150'000), body = packed(text, coding::zstd);
    const auto post = [](std::string_view path, const std::string& sent) {
        return "POST " + std::string(path) +
               " HTTP/1.1\r\nHost: a\r\nContent-Encoding: zstd\r\nContent-Length: " + std::to_string(sent.size()) + "\r\n\r\n" +
               sent;
    };
    auto c = connect();
    EXPECT_TRUE(c.ask(post("/echo", body)).body == text);
    EXPECT_EQ(c.ask(post("/raw", body)).body, "zstd" + std::to_string(body.size()));
    EXPECT_EQ(c.ask(post("/echo", packed(words(200'001), coding::zstd))).status, 413);
    EXPECT_EQ(c.ask(post("/echo", "nonsense")).status, 400);
    EXPECT_TRUE(c.ask(post("/echo", body)).body == text) << "the connection goes on";
    stop();
}

TEST_P(http_compressed, files_are_sent_whole_and_in_parts) {
    const auto text = words(300'000);
    test::folder folder;
    folder.write("a.txt", text);
    folder.write("small.txt", words(500));
    app.use(http::compress()).files("/f", folder.path());
    start();
    EXPECT_TRUE(run("", "/f/a.txt") == text + " exit 0\n") << "by sendfile";
    EXPECT_TRUE(run("--compressed", "/f/a.txt") == text + " exit 0\n");
    EXPECT_TRUE(run("-r 1000-250000", "/f/a.txt") == text.substr(1000, 249'001) + " exit 0\n");
    EXPECT_TRUE(run("-r -7 --compressed", "/f/a.txt") == text.substr(text.size() - 7) + " exit 0\n");
    EXPECT_EQ(run("", "/f/small.txt"), words(500) + " exit 0\n");
    EXPECT_EQ(run("-o /dev/null -w '%{http_code} %{size_download}' -I", "/f/a.txt"), "200 0 exit 0\n");
    EXPECT_EQ(run("-o /dev/null -w '%{http_code}' --path-as-is", "/f/../a.txt"), "404 exit 0\n");
    const auto tag = run("-I", "/f/a.txt");
    const auto at = tag.find("ETag: ") + 6;
    const auto etag = tag.substr(at, tag.find("\r\n", at) - at);
    EXPECT_EQ(run("-o /dev/null -w '%{http_code}' -H 'If-None-Match: " + etag + "'", "/f/a.txt"), "304 exit 0\n");
    auto c = connect();
    c.send(test::get("/f/a.txt") + test::get("/f/small.txt") + "HEAD /f/a.txt HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_TRUE(c.receive().body == text);
    EXPECT_EQ(c.receive().body, words(500));
    EXPECT_EQ(c.receive(false).header("Content-Length"), "300000");
    stop();
}

}  // namespace
