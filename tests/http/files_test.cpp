// files_test.cpp - what router::files() answers.
#include <weft/http/body.hpp>
#include <weft/http/router.hpp>

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "http/content_type.hpp"
#include "http/support/folder.hpp"
#include "no_leaks.hpp"

namespace {

using namespace weft;
using namespace std::chrono_literals;

class http_files : public test::no_leaks {
protected:
    http_files() {
        folder.write("a.txt", "text of a");
        folder.write("d/index.html", "<p>d</p>");
        folder.write("d/b c.js", "let b");
        folder.write("empty/x", "");
        folder.write("large.bin", large);
        folder.write(".hidden", "hidden");
        folder.write(".git/config", "hidden");
        serve();
    }
    void serve(http::files_options options = {}, std::string_view prefix = "/static") {
        routes = http::router();
        routes.files(prefix, folder.path(), std::move(options));
    }
    http::response ask(std::string target, http::headers fields = {}, std::string method = "GET") {
        http::request q({.method = std::move(method), .target = std::move(target), .headers = std::move(fields)});
        return routes.handle(q);
    }
    int status(std::string target) { return ask(std::move(target)).status; }
    static std::string body(const http::response& r) {
        if (!r.stream) return r.body;
        auto text = http::collect(r.stream);
        EXPECT_EQ(r.stream_length, text.size());
        return text;
    }
    std::string text(std::string target, http::headers fields = {}) { return body(ask(std::move(target), std::move(fields))); }
    static std::string field(const http::response& r, std::string_view name) {
        return std::string(r.headers.find(name).value_or("-"));
    }

    const std::string large = [] {
        std::string s(100'000, ' ');
        for (std::size_t i = 0; i < s.size(); ++i) s[i] = static_cast<char>('a' + i % 23);
        return s;
    }();
    test::folder folder;
    http::router routes;
};

TEST_F(http_files, sends_a_file) {
    const auto r = ask("/static/a.txt?v=1");
    EXPECT_EQ(r.status, 200);
    EXPECT_EQ(body(r), "text of a");
    EXPECT_EQ(field(r, "Content-Type"), "text/plain; charset=utf-8");
    EXPECT_EQ(field(r, "X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(field(r, "Accept-Ranges"), "bytes");
    EXPECT_EQ(field(r, "Cache-Control"), "no-cache");
    EXPECT_EQ(field(r, "Vary"), "Accept-Encoding");
    EXPECT_EQ(field(r, "ETag").front(), '"');
    EXPECT_EQ(field(r, "Last-Modified").size(), 29u);
    EXPECT_EQ(text("/static/d/b%20c.js"), "let b");
    EXPECT_EQ(text("/%73tatic/%61.txt"), "text of a");
    EXPECT_EQ(status("/static/empty/x"), 200);
    EXPECT_EQ(text("/static/empty/x"), "");
    EXPECT_EQ(status("/static/none"), 404);
    EXPECT_EQ(ask("/static/a.txt", {}, "POST").status, 405);
}

TEST_F(http_files, sends_a_large_file_without_reading_it_at_once) {
    const auto r = ask("/static/large.bin");
    EXPECT_EQ(r.body, "");
    EXPECT_EQ(r.stream_length, large.size());
    EXPECT_EQ(body(r), large);
    EXPECT_EQ(field(r, "Content-Type"), "application/octet-stream");
    const auto kept = r.stream;  // the file lives as long as the answer, even if it is replaced
    std::filesystem::remove(folder.path("large.bin"));
    EXPECT_EQ(http::collect(kept), large);
    EXPECT_EQ(status("/static/large.bin"), 404);
}

TEST_F(http_files, answers_head_with_the_length_alone) {
    for (const char* name : {"/static/a.txt", "/static/large.bin"}) {
        const auto r = ask(name, {{"Range", "bytes=0-1"}}, "HEAD");
        EXPECT_EQ(r.status, 200);
        EXPECT_EQ(body(r), body(ask(name)));
        EXPECT_EQ(static_cast<bool>(r.stream), static_cast<bool>(ask(name).stream)) << "middleware sees what GET has";
    }
}

TEST_F(http_files, leads_to_the_index_of_a_folder) {
    EXPECT_EQ(text("/static/d/"), "<p>d</p>");
    const auto r = ask("/static/d?x=1");
    EXPECT_EQ(r.status, 301);
    EXPECT_EQ(field(r, "Location"), "./d/?x=1");
    EXPECT_EQ(field(r, "Cache-Control"), "no-cache");
    EXPECT_EQ(field(ask("/static/%64"), "Location"), "./%64/");
    EXPECT_EQ(status("/static/empty/"), 404);
    EXPECT_EQ(status("/static/"), 404);
    EXPECT_EQ(status("/static"), 404) << "no route";
    EXPECT_EQ(status("/static/a.txt/"), 404);
    folder.write("index.html", "home");
    EXPECT_EQ(text("/static/"), "home");
    serve({.index = "b c.js"});
    EXPECT_EQ(text("/static/d/"), "let b");
    serve({.index = ""});
    EXPECT_EQ(status("/static/d/"), 404);
    EXPECT_EQ(status("/static/d"), 404);
    std::filesystem::create_directories(folder.path("odd/index.html"));
    serve();
    EXPECT_EQ(status("/static/odd/"), 404);
}

TEST_F(http_files, may_be_at_any_prefix) {
    folder.write("index.html", "home");
    for (const char* prefix : {"/", ""}) {
        serve({}, prefix);
        EXPECT_EQ(text("/"), "home");
        EXPECT_EQ(text("/d/b%20c.js"), "let b");
        EXPECT_EQ(status("//d/index.html"), 404);
    }
    serve({}, "/x/{user}/y/");
    EXPECT_EQ(text("/x/ann/y/d/"), "<p>d</p>");
    EXPECT_EQ(status("/x/ann/y/../y/a.txt"), 404);
}

TEST_F(http_files, dots_do_not_lead_out) {
    for (const char* path :
         {"/static/..", "/static/../a.txt", "/static/d/../a.txt", "/static/./a.txt", "/static/d/..", "/static/.", "/static/d/."})
        EXPECT_EQ(status(path), 404) << path;
}

TEST_F(http_files, encoded_dots_do_not_lead_out) {
    for (const char* path : {"/static/%2e%2e", "/static/%2e%2e/a.txt", "/static/d/%2E./a.txt", "/static/%2e/a.txt"})
        EXPECT_EQ(status(path), 404) << path;
}

TEST_F(http_files, encoded_slashes_separate_nothing) {
    for (const char* path :
         {"/static/d%2findex.html", "/static/d%2Findex.html", "/static/%2fetc%2fpasswd", "/static/d%2f..%2fa.txt"})
        EXPECT_EQ(status(path), 404) << path;
    EXPECT_EQ(status("/static/d//index.html"), 404);
    EXPECT_EQ(status("/static//etc/passwd"), 404);
    EXPECT_EQ(status("/static/..%5ca.txt"), 404);
}

TEST_F(http_files, a_zero_byte_ends_no_name) {
    EXPECT_EQ(status("/static/a.txt%00"), 404);
    EXPECT_EQ(status("/static/a.txt%00.png"), 404);
}

TEST_F(http_files, links_do_not_lead_out) {
    test::folder outside;
    outside.write("secret", "secret");
    std::filesystem::create_symlink(outside.path("secret"), folder.path("link"));
    std::filesystem::create_symlink(outside.path(), folder.path("folder"));
    std::filesystem::create_symlink("/proc/self", folder.path("self"));
    for (const char* path :
         {"/static/link", "/static/folder/secret", "/static/folder", "/static/self/environ", "/static/self/cwd/"})
        EXPECT_EQ(status(path), 404) << path;
}

TEST_F(http_files, hidden_names_are_shown_only_if_told_to) {
    for (const char* path : {"/static/.hidden", "/static/%2ehidden", "/static/.git/config", "/static/.git/"})
        EXPECT_EQ(status(path), 404) << path;
    serve({.hidden = true});
    EXPECT_EQ(text("/static/.hidden"), "hidden");
    EXPECT_EQ(text("/static/.git/config"), "hidden");
    EXPECT_EQ(status("/static/.."), 404);
}

TEST_F(http_files, only_regular_files_are_sent) {
    ASSERT_EQ(::mkfifo(folder.path("fifo").c_str(), 0600), 0);
    EXPECT_EQ(status("/static/fifo"), 404);
    if (::geteuid() != 0) {  // root may read everything
        ASSERT_EQ(::chmod(folder.path("a.txt").c_str(), 0), 0);
        EXPECT_EQ(status("/static/a.txt"), 404);
    }
}

TEST_F(http_files, a_client_that_has_the_file_gets_a_304) {
    folder.set_time("a.txt", 784111777);
    const auto first = ask("/static/a.txt");
    EXPECT_EQ(field(first, "Last-Modified"), "Sun, 06 Nov 1994 08:49:37 GMT");
    const auto tag = field(first, "ETag");
    const auto again = ask("/static/a.txt", {{"If-None-Match", tag}});
    EXPECT_EQ(again.status, 304);
    EXPECT_EQ(body(again), "");
    EXPECT_EQ(field(again, "ETag"), tag);
    EXPECT_EQ(field(again, "Cache-Control"), "no-cache");
    EXPECT_EQ(field(again, "Vary"), "Accept-Encoding");
    EXPECT_EQ(field(again, "Content-Type"), "-");
    EXPECT_EQ(ask("/static/a.txt", {{"If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT"}}).status, 304);
    EXPECT_EQ(ask("/static/a.txt", {{"If-Modified-Since", "Sun, 06 Nov 1994 08:49:36 GMT"}}).status, 200);
    EXPECT_EQ(ask("/static/a.txt", {{"If-Match", "\"x\""}}).status, 412);
    EXPECT_EQ(ask("/static/a.txt", {{"If-Unmodified-Since", "Sun, 06 Nov 1994 08:49:36 GMT"}}).status, 412);
    EXPECT_EQ(ask("/static/a.txt", {{"If-None-Match", tag}}, "HEAD").status, 304);
}

TEST_F(http_files, each_state_of_a_file_has_a_tag_of_its_own) {
    const auto before = field(ask("/static/a.txt"), "ETag");
    EXPECT_EQ(field(ask("/static/a.txt"), "ETag"), before);
    folder.write("new", "text of b");
    folder.set_time("new", 784111777);
    std::filesystem::rename(folder.path("new"), folder.path("a.txt"));
    const auto replaced = field(ask("/static/a.txt"), "ETag");
    EXPECT_NE(replaced, before);
    folder.set_time("a.txt", 784111778);
    EXPECT_NE(field(ask("/static/a.txt"), "ETag"), replaced);
}

TEST_F(http_files, a_tag_changes_where_only_the_kernel_knows_of_a_change) {
    const auto state = [&] {
        struct stat s {};
        EXPECT_EQ(::stat(folder.path("a.txt").c_str(), &s), 0);
        return s;
    };
    folder.set_time("a.txt", 784111777);
    const auto before = field(ask("/static/a.txt"), "ETag");
    const auto old = state();
    auto now = old;
    while (now.st_ctim.tv_sec == old.st_ctim.tv_sec && now.st_ctim.tv_nsec == old.st_ctim.tv_nsec) {
        folder.write("a.txt", "text of b");
        folder.set_time("a.txt", 784111777);
        now = state();
    }
    ASSERT_EQ(now.st_ino, old.st_ino) << "as if an inode were used again";
    EXPECT_NE(field(ask("/static/a.txt"), "ETag"), before);
    EXPECT_EQ(ask("/static/a.txt", {{"If-None-Match", before}}).status, 200);
}

TEST_F(http_files, a_date_in_the_future_is_not_sent) {
    folder.set_time("a.txt", 4102444800);  // 2100
    EXPECT_EQ(field(ask("/static/a.txt"), "Last-Modified").find("2100"), std::string::npos);
}

TEST_F(http_files, sends_the_part_that_is_asked_for) {
    for (const auto& [range, first, bytes] :
         {std::tuple{"bytes=10-19", 10u, 10u}, {"bytes=-5", 99'995u, 5u}, {"bytes=50000-", 50'000u, 50'000u}}) {
        const auto r = ask("/static/large.bin", {{"Range", range}});
        EXPECT_EQ(r.status, 206);
        EXPECT_EQ(body(r), large.substr(first, bytes));
        EXPECT_EQ(field(r, "Content-Range"),
                  "bytes " + std::to_string(first) + "-" + std::to_string(first + bytes - 1) + "/100000");
        EXPECT_NE(field(r, "ETag"), "-");
    }
    const auto out = ask("/static/large.bin", {{"Range", "bytes=100000-"}});
    EXPECT_EQ(out.status, 416);
    EXPECT_EQ(field(out, "Content-Range"), "bytes */100000");
    EXPECT_EQ(ask("/static/large.bin", {{"Range", "bytes=0-1,5-6"}}).status, 200);
    const auto tag = field(ask("/static/large.bin"), "ETag");
    EXPECT_EQ(ask("/static/large.bin", {{"Range", "bytes=0-1"}, {"If-Range", tag}}).status, 206);
    EXPECT_EQ(ask("/static/large.bin", {{"Range", "bytes=0-1"}, {"If-Range", "\"x\""}}).status, 200);
    EXPECT_EQ(ask("/static/large.bin", {{"Range", "bytes=0-1"}, {"If-None-Match", tag}}).status, 304);
    serve({.ranges = false});
    const auto whole = ask("/static/large.bin", {{"Range", "bytes=10-19"}});
    EXPECT_EQ(whole.status, 200);
    EXPECT_EQ(field(whole, "Accept-Ranges"), "-");
}

TEST_F(http_files, sends_what_is_compressed_beside_it) {
    folder.write("a.txt.zst", "zstd of a");
    folder.write("a.txt.gz", "gzip of a");
    folder.write("d/b c.js.gz", "gzip of b");
    for (const char* name : {"a.txt", "a.txt.gz", "a.txt.zst", "d/b c.js", "d/b c.js.gz"}) folder.set_time(name, 784111777);
    const auto zstd = ask("/static/a.txt", {{"Accept-Encoding", "gzip, br, zstd"}});
    EXPECT_EQ(body(zstd), "zstd of a");
    EXPECT_EQ(field(zstd, "Content-Encoding"), "zstd");
    EXPECT_EQ(field(zstd, "Content-Type"), "text/plain; charset=utf-8");
    EXPECT_EQ(field(zstd, "Vary"), "Accept-Encoding");
    EXPECT_NE(field(zstd, "ETag"), field(ask("/static/a.txt"), "ETag"));
    EXPECT_EQ(text("/static/a.txt", {{"Accept-Encoding", "gzip"}}), "gzip of a");
    EXPECT_EQ(text("/static/a.txt", {{"Accept-Encoding", "zstd;q=0.1, gzip"}}), "gzip of a");
    EXPECT_EQ(text("/static/a.txt", {{"Accept-Encoding", "br"}}), "text of a");
    EXPECT_EQ(text("/static/a.txt"), "text of a");
    const auto gzip = ask("/static/d/b%20c.js", {{"Accept-Encoding", "zstd, gzip"}});
    EXPECT_EQ(body(gzip), "gzip of b") << "there is no zstd";
    EXPECT_EQ(field(gzip, "Content-Encoding"), "gzip");
    const auto part = ask("/static/a.txt", {{"Accept-Encoding", "gzip"}, {"Range", "bytes=0-3"}});
    EXPECT_EQ(body(part), "gzip");
    EXPECT_EQ(text("/static/a.txt.gz"), "gzip of a") << "by its own name";
    folder.write("a.txt.zst", "");
    EXPECT_EQ(text("/static/a.txt", {{"Accept-Encoding", "gzip, zstd"}}), "gzip of a") << "an empty one is no form of it";
    folder.set_time("a.txt", 784111778);
    EXPECT_EQ(text("/static/a.txt", {{"Accept-Encoding", "gzip"}}), "text of a") << "what is older is of another file";
    serve({.precompressed = false});
    EXPECT_EQ(text("/static/d/b%20c.js", {{"Accept-Encoding", "gzip"}}), "let b");
    EXPECT_EQ(field(ask("/static/a.txt"), "Vary"), "-");
}

TEST_F(http_files, may_be_kept_for_a_time) {
    serve({.cache = 1h});
    EXPECT_EQ(field(ask("/static/a.txt"), "Cache-Control"), "max-age=3600");
    EXPECT_EQ(field(ask("/static/d"), "Cache-Control"), "max-age=3600");
}

TEST_F(http_files, refuses_what_cannot_be_served) {
    EXPECT_THROW(routes.files("/x", folder.path("none")), std::system_error);
    EXPECT_THROW(routes.files("/x", folder.path("a.txt")), std::system_error);
    EXPECT_THROW(routes.files("x", folder.path()), std::invalid_argument);
    EXPECT_THROW(routes.files("/static", folder.path()), std::invalid_argument) << "routed already";
    for (const char* index : {"d/index.html", "..", "."})
        EXPECT_THROW(routes.files("/x", folder.path(), {.index = index}), std::invalid_argument) << index;
    EXPECT_THROW(routes.files("/x", folder.path(), {.cache = -1s}), std::invalid_argument);
}

TEST(content_types, are_told_by_the_extension) {
    using detail::content_type_of;
    EXPECT_EQ(content_type_of("a.HTML"), "text/html; charset=utf-8");
    EXPECT_EQ(content_type_of("a/b.c/app.min.js"), "text/javascript; charset=utf-8");
    EXPECT_EQ(content_type_of("x.7z"), "application/x-7z-compressed");
    EXPECT_EQ(content_type_of("x.zst"), "application/zstd");
    EXPECT_EQ(content_type_of("site.webmanifest"), "application/manifest+json");
    for (const char* unknown : {"Makefile", "x.", "x.extension-too-long", "x.unknown", "", "x.htmlx"})
        EXPECT_EQ(content_type_of(unknown), "application/octet-stream") << unknown;
}

TEST(content_types, say_whether_compression_helps) {
    using detail::is_compressible;
    for (const char* yes : {"text/html; charset=utf-8", "application/json", "image/svg+xml", "IMAGE/BMP", "application/wasm",
                            "text/csv", "text/event-stream", "font/ttf"})
        EXPECT_TRUE(is_compressible(yes)) << yes;
    for (const char* no : {"image/png", "Image/JPEG; x=y", "video/mp4", "audio/mpeg", "application/zip", "application/gzip",
                           "font/woff2", "application/octet-stream", ""})
        EXPECT_FALSE(is_compressible(no)) << no;
}

}  // namespace
