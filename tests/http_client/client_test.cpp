// client_test.cpp - what a client sends, what it makes of answers, and which connections it uses.
#include <gtest/gtest.h>

#include <weft/http/client.hpp>
#include <weft/http/compress.hpp>
#include <weft/http/server.hpp>

#include "http_client/support/scripted.hpp"
#include "no_leaks.hpp"

namespace {

using namespace weft;
using namespace std::chrono_literals;
using test::ok;
using test::scripted;

/// Tests that run inside a runtime.
class http_client : public test::on_workers {
protected:
    template <class F>
    void inside(F&& f) {
        rt.run(std::forward<F>(f));
    }

    test::watched_runtime rt{GetParam()};
};

/// The error that f() throws; fails if it throws none.
template <class F>
http::client_error error_of(F&& f) {
    try {
        f();
    } catch (const http::client_error& e) {
        return e;
    }
    ADD_FAILURE() << "no client_error";
    return http::client_error({}, "", false);
}

TEST_P(http_client, gets_a_page) {
    inside([] {
        scripted server({ok("hello", "X-Id: 7\r\n")});
        http::client client;
        const auto page = client.get(server.url("/a?b=c#d"));
        EXPECT_EQ(page.status, 200);
        EXPECT_EQ(page.reason, "OK");
        EXPECT_EQ(page.body, "hello");
        EXPECT_EQ(page.header("x-id"), "7");
        EXPECT_EQ(page.url, server.url("/a?b=c"));
        EXPECT_TRUE(page.ok());
        EXPECT_EQ(server.last(), "GET /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(server.port()) +
                                     "\r\nUser-Agent: weft\r\nAccept: */*\r\nAccept-Encoding: gzip, zstd\r\n\r\n");
    });
}

TEST_P(http_client, keeps_the_connection) {
    inside([] {
        scripted server({ok("1"), ok("2"), ok("3")});
        http::client client;
        for (const char* expected : {"1", "2", "3"}) EXPECT_EQ(client.get(server.url()).body, expected);
        EXPECT_EQ(server.connections(), 1);
    });
}

TEST_P(http_client, notices_that_a_kept_connection_was_closed) {
    inside([] {
        scripted server({ok("only")});
        http::client client;
        for (int i = 0; i < 20; ++i) EXPECT_EQ(client.get(server.url()).body, "only");
        EXPECT_EQ(server.connections(), 20);
        for (int i = 0; i < 5000 && client.connections().idle != 0; ++i) this_fiber::sleep_for(1ms);
        EXPECT_EQ(client.connections().idle, 0u);
        EXPECT_EQ(client.connections().busy, 0u);
    });
}

TEST_P(http_client, reads_every_framing) {
    inside([] {
        scripted server({"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + ok("after"),
                         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: r\r\n\r\n",
                         "HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n",
                         "HTTP/1.0 200 \r\n\r\nto the end"});
        http::client client;
        EXPECT_EQ(client.get(server.url()).body, "after");
        EXPECT_EQ(client.get(server.url()).body, "abcde");
        EXPECT_EQ(client.get(server.url()).status, 204);
        EXPECT_EQ(client.get(server.url()).status, 304);
        EXPECT_EQ(client.get(server.url()).body, "to the end");
        EXPECT_EQ(server.connections(), 1);
        EXPECT_EQ(client.connections().idle, 0u);
    });
}

TEST_P(http_client, sends_bodies_and_fields) {
    inside([] {
        scripted server({ok(""), ok(""), ok("")});
        http::client client({.headers = {{"X-All", "1"}, {"User-Agent", "mine"}}});
        client.post(server.url(), "text", {.headers = {{"Content-Type", "text/plain"}, {"Content-Length", "9"}, {"x-all", "2"}}});
        const auto host = "Host: 127.0.0.1:" + std::to_string(server.port());
        EXPECT_EQ(server.last(), "POST / HTTP/1.1\r\n" + host +
                                     "\r\nAccept: */*\r\nAccept-Encoding: gzip, zstd\r\nContent-Type: text/plain\r\nx-all: 2\r\n"
                                     "User-Agent: mine\r\nContent-Length: 4\r\n\r\ntext");
        client.send("POST", server.url(), std::nullopt);
        EXPECT_NE(server.last().find("Content-Length: 0\r\n"), std::string::npos);
        client.head(server.url());
        EXPECT_EQ(server.last().find("Content-Length"), std::string::npos);
    });
}

TEST_P(http_client, follows_redirects) {
    inside([] {
        scripted other({ok("there")});
        scripted server({"HTTP/1.1 302 Found\r\nLocation: ../x/./y?z\r\nContent-Length: 4\r\n\r\ngone",
                         "HTTP/1.1 307 T\r\nLocation: " + other.url("/far") + "\r\nContent-Length: 0\r\n\r\n"});
        http::client client;
        const auto page = client.get(server.url("/a/b"), {.headers = {{"Authorization", "secret"}, {"X", "kept"}}});
        EXPECT_EQ(page.body, "there");
        EXPECT_EQ(page.redirects, 2u);
        EXPECT_EQ(page.url, other.url("/far"));
        EXPECT_TRUE(server.last().starts_with("GET /x/y?z HTTP/1.1\r\n")) << server.last();
        EXPECT_NE(server.last().find("Authorization: secret"), std::string::npos);
        EXPECT_EQ(other.last().find("Authorization"), std::string::npos);
        EXPECT_NE(other.last().find("X: kept"), std::string::npos);
        EXPECT_EQ(server.connections(), 1);
    });
}

TEST_P(http_client, ends_circles_of_redirects) {
    inside([] {
        scripted server(std::vector<std::string>(20, "HTTP/1.1 301 M\r\nLocation: /\r\nContent-Length: 0\r\n\r\n"));
        http::client client({.redirects = 3});
        const auto e = error_of([&] { client.get(server.url()); });
        EXPECT_EQ(e.code(), http::client_errc::too_many_redirects);
        EXPECT_EQ(server.asked().size(), 4u);
        EXPECT_EQ(client.get(server.url(), {.redirects = 0}).status, 301);
    });
}

TEST_P(http_client, names_what_is_wrong) {
    const std::pair<const char*, http::client_errc> cases[] = {
        {"", http::client_errc::closed_early},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", http::client_errc::closed_early},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", http::client_errc::closed_early},
        {"SSH-2.0-x\r\n", http::client_errc::bad_answer},
        {"HTTP/1.1 20 OK\r\n\r\n", http::client_errc::bad_answer},
        {"HTTP/1.1 200 OK\nX: y\n\n", http::client_errc::bad_answer},
        {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc", http::client_errc::bad_answer},
        {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc", http::client_errc::bad_answer},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nabc", http::client_errc::bad_answer},
        {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", http::client_errc::bad_answer},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", http::client_errc::bad_answer},
        {"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc", http::client_errc::bad_encoding},
        {"HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n", http::client_errc::body_too_large},
        {"HTTP/1.1 302 F\r\nLocation: ftp://x/\r\nContent-Length: 0\r\n\r\n", http::client_errc::bad_redirect},
    };
    inside([&] {
        for (const auto& [answer, expected] : cases) {
            scripted server({answer});
            http::client client({.max_body_bytes = 1000});
            const auto e = error_of([&] { client.get(server.url("/p")); });
            EXPECT_EQ(e.code(), expected) << answer << "\n" << e.what();
            EXPECT_NE(std::string_view(e.what()).find(server.url("/p")), std::string_view::npos) << e.what();
            EXPECT_TRUE(e.was_sent());
            EXPECT_EQ(client.connections().busy, 0u);
        }
        http::client client;
        EXPECT_EQ(error_of([&] { client.get("ftp://x/"); }).code(), http::client_errc::bad_url);
        const auto secret = error_of([&] { client.get("http://user:pass/word@host/"); });
        EXPECT_EQ(std::string_view(secret.what()).find("word"), std::string_view::npos) << secret.what();
        EXPECT_EQ(error_of([&] { client.get("https://localhost/"); }).code(), http::client_errc::no_tls);
        const auto refused = error_of([&] { client.get("http://127.0.0.1:1/"); });
        EXPECT_EQ(refused.code(), std::errc::connection_refused) << refused.what();
        EXPECT_FALSE(refused.was_sent());
        EXPECT_THROW(client.send("BAD METHOD", "http://x/", {}), std::invalid_argument);
        EXPECT_THROW(http::client({.most_per_host = 0}), std::invalid_argument);
        EXPECT_THROW(http::client({.proxy = {.http = "socks5://x"}}), std::invalid_argument);
    });
    EXPECT_THROW(http::client(), std::logic_error);
}

TEST_P(http_client, gives_up_in_time) {
    inside([] {
        scripted server({"HTTP/1.1 200 OK\r\n"});  // and then the connection is closed: so it must not end
        tcp::listener silent(net::endpoint{.host = "127.0.0.1", .port = 0});
        const auto url = "http://127.0.0.1:" + std::to_string(silent.local().port) + "/";
        http::client client({.silence_timeout = 20ms});
        const auto quiet = error_of([&] { client.get(url); });
        EXPECT_EQ(quiet.code(), std::errc::timed_out);
        EXPECT_NE(std::string_view(quiet.what()).find("20 ms"), std::string_view::npos) << quiet.what();
        http::client patient;
        const auto late = error_of([&] { patient.get(url, {.timeout = 10ms}); });
        EXPECT_EQ(late.code(), std::errc::timed_out);
        EXPECT_NE(std::string_view(late.what()).find("within 10 ms"), std::string_view::npos) << late.what();
        EXPECT_THROW(with_timeout(10ms, [&] { patient.get(url); }), timeout_error);
        auto stopped = spawn([&] { patient.get(url); });
        this_fiber::sleep_for(5ms);
        stopped.request_stop();
        EXPECT_THROW(stopped.join(), fiber_cancelled);
        EXPECT_EQ(patient.connections().busy, 0u);
    });
}

TEST_P(http_client, waits_for_a_connection_when_too_many_are_busy) {
    inside([] {
        http::server server;
        std::atomic<int> now{0}, most{0};
        server.get("/", [&](auto&) {
            const int n = ++now;
            for (int seen = most; seen < n && !most.compare_exchange_weak(seen, n);) {}
            this_fiber::sleep_for(1ms);
            --now;
            return http::text(200, "x");
        });
        server.listen({.host = "127.0.0.1", .port = 0});
        auto serving = spawn([&] { server.serve(); });
        {
            http::client client({.most_per_host = 3});
            const auto url = "http://" + net::to_string(server.local()) + "/";
            with_scope([&](scope& all) {
                for (int i = 0; i < 50; ++i) all.spawn([&] { EXPECT_EQ(client.get(url).body, "x"); });
            });
            EXPECT_LE(most, 3);
            EXPECT_LE(client.connections().idle, 3u);
        }
        server.stop();
        serving.join();
    });
}

TEST_P(http_client, decompresses) {
    inside([] {
        http::server server;
        const std::string text(300000, 'z');
        server.use(http::compress());
        server.get("/", [&](auto&) { return http::text(200, text); });
        server.listen({.host = "127.0.0.1", .port = 0});
        auto serving = spawn([&] { server.serve(); });
        {
            const auto url = "http://" + net::to_string(server.local()) + "/";
            http::client client;
            for (const char* coding : {"gzip", "zstd"}) {
                const auto page = client.get(url, {.headers = {{"Accept-Encoding", coding}}});
                EXPECT_EQ(page.body, text);
                EXPECT_EQ(page.header("Content-Encoding"), "");
            }
            EXPECT_EQ(client.connections().idle, 1u);
            EXPECT_EQ(error_of([&] { client.get(url, {.max_body_bytes = 299999}); }).code(), http::client_errc::body_too_large);
            http::client raw({.decompress = false});
            EXPECT_LT(raw.get(url, {.headers = {{"Accept-Encoding", "gzip"}}}).body.size(), 10000u);
        }
        server.stop();
        serving.join();
    });
}

TEST_P(http_client, streams_both_ways) {
    inside([] {
        http::server server;
        server.post("/echo", [](const http::request&, http::body_reader& in) {
            return http::stream(200, "text/plain", [&in](http::body_writer& out) {
                std::array<std::byte, 3000> piece;
                while (const auto n = in.read_some(piece)) {
                    out.write(std::span(piece).first(n));
                    out.flush();
                }
            });
        });
        server.listen({.host = "127.0.0.1", .port = 0});
        auto serving = spawn([&] { server.serve(); });
        {
            http::client client;
            const auto url = "http://" + net::to_string(server.local()) + "/echo";
            for (const auto size : {http::chunked, http::body_size(500 * 1000)}) {
                for (const bool asks : {false, true}) {
                    auto t = client.open({.method = "POST", .url = url, .body = size, .wait_for_continue = asks});
                    auto writer = spawn([&] {
                        for (int i = 0; i < 500; ++i) EXPECT_TRUE(t.write(std::string(1000, static_cast<char>('a' + i % 26))));
                        EXPECT_TRUE(t.finish());
                    });
                    EXPECT_EQ(t.head().status, 200);
                    const auto text = t.read_all();
                    writer.join();
                    ASSERT_EQ(text.size(), 500000u);
                    for (std::size_t i = 0; i < text.size(); ++i) ASSERT_EQ(text[i], static_cast<char>('a' + i / 1000 % 26));
                    EXPECT_EQ(client.connections().busy, 0u);
                }
            }
            EXPECT_EQ(client.connections().idle, 1u);
            auto wrong = client.open({.method = "POST", .url = url, .body = 3});
            EXPECT_EQ(error_of([&] { wrong.write("abcd"); }).code(), http::client_errc::bad_body);
        }
        server.stop();
        serving.join();
    });
}

WEFT_ON_1_2_4_8_WORKERS(http_client);

}  // namespace
