// streaming_test.cpp - bodies that are read and written piece by piece, in every framing and with every way to end early.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>

#include <weft/explore.hpp>
#include <weft/http/events.hpp>
#include <weft/net/simulated_network.hpp>
#include <weft/weft.hpp>

#include "http/support/served.hpp"
#include "io/send_file.hpp"

namespace {

using namespace weft;
using namespace std::chrono_literals;

std::string pattern(std::size_t n) {
    std::string s(n, ' ');
    for (std::size_t i = 0; i < n; ++i) s[i] = static_cast<char>('a' + (i * 31 + i / 251) % 26);
    return s;
}

std::string post(std::string_view target, const std::string& body, std::string_view fields = {}) {
    return "POST " + std::string(target) + " HTTP/1.1\r\nHost: a\r\n" + std::string(fields) +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string in_chunks(std::string_view target, const std::string& body, std::size_t chunk) {
    std::string s = "POST " + std::string(target) + " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (std::size_t at = 0; at < body.size(); at += chunk) {
        const auto part = body.substr(at, chunk);
        char size[32];
        std::snprintf(size, sizeof size, "%zx\r\n", part.size());
        s.append(size).append(part).append("\r\n");
    }
    return s += "0\r\n\r\n";
}

std::string read_whole(http::body_reader& in, std::size_t piece) {
    std::string text;
    std::vector<std::byte> room(piece);
    while (const auto n = in.read_some(room)) text.append(reinterpret_cast<const char*>(room.data()), n);
    return text;
}

/// A file without a name.
class temporary_file {
public:
    explicit temporary_file(const std::string& content) : file_(std::tmpfile()) {
        std::fwrite(content.data(), 1, content.size(), file_);
        std::fflush(file_);
    }
    ~temporary_file() { std::fclose(file_); }
    int descriptor() const { return ::fileno(file_); }

private:
    std::FILE* file_;
};

class http_streams : public test::served {
protected:
    ~http_streams() override {
        if (serving && serving->joinable()) stop();  // before the members that hooks use end
    }

    /// Counts what is reported.
    http::server_options watched() {
        http::server_options o;
        o.on_error = [this](const http::request&, std::exception_ptr) { ++errors; };
        o.on_cut_short = [this](const http::cut_short&) { ++cut; };
        return o;
    }

    std::atomic<int> errors{0}, cut{0};
};
WEFT_ON_1_2_4_8_WORKERS(http_streams);

TEST_P(http_streams, STREAMED_ANSWER_1_of_every_size_arrive_whole_in_every_framing) {
    const auto all = pattern(200'000);
    app.get("/{n}/{piece}/{how}", [&](const http::request& q) {
        const auto n = std::stoul(q.path("n")), piece = std::stoul(q.path("piece"));
        return http::stream(
            200, "text/plain",
            [&all, n, piece, flush = q.path("how") == "flush"](http::body_writer& out) {
                for (std::size_t at = 0; at < n; at += piece) {
                    out.write(std::string_view(all).substr(at, std::min(piece, n - at)));
                    if (flush) out.flush();
                }
            },
            q.path("how") == "length" ? std::optional<std::uint64_t>(n) : std::nullopt);
    });
    start();
    auto c = connect();
    for (const std::size_t n : {0u, 1u, 16383u, 16384u, 16385u, 100'000u, 200'000u})
        for (const std::size_t piece : {97u, 5000u, 40'000u, 200'000u})
            for (const std::string how : {"chunks", "length", "flush"}) {
                if (piece == 97 && n > 20'000) continue;
                const auto target = "/" + std::to_string(n) + "/" + std::to_string(piece) + "/" + how;
                const auto r = c.ask(test::get(target));
                EXPECT_EQ(r.status, 200) << target;
                EXPECT_TRUE(r.body == all.substr(0, n)) << target;
                EXPECT_EQ(r.header("Transfer-Encoding"), how == "length" ? "" : "chunked");
                EXPECT_EQ(r.header("Content-Length"), how == "length" ? std::to_string(n) : "");
                auto old = connect();
                old.send("GET " + target + " HTTP/1.0\r\n\r\n");
                const auto whole = old.receive_to_end();
                EXPECT_TRUE(whole.ends_with("\r\n\r\n" + all.substr(0, n))) << target;
                EXPECT_EQ(whole.find("chunked"), whole.npos);
            }
    stop();
}

TEST_P(http_streams, that_are_pipelined_stay_apart_and_HEAD_has_none) {
    std::atomic<int> calls{0};
    app.get("/s", [&](const http::request&) {
        return http::stream(200, "text/plain", [&](http::body_writer& out) {
            ++calls;
            out.write("some");
            out.write("thing");
        });
    });
    start();
    auto c = connect();
    c.send("HEAD /s HTTP/1.1\r\nHost: a\r\n\r\n" + test::get("/s") + test::get("/") + test::get("/s"));
    EXPECT_EQ(c.receive(false).status, 200);
    EXPECT_EQ(c.receive().body, "something");
    EXPECT_EQ(c.receive().body, "root");
    EXPECT_EQ(c.receive().body, "something");
    EXPECT_EQ(calls, 2);
    stop();
}

TEST_P(http_streams, a_function_that_fails_before_anything_has_left_becomes_a_500) {
    app.get("/early", [](const http::request&) {
        return http::stream(200, "text/plain", [](http::body_writer& out) {
            out.write("collected, not sent");
            throw std::runtime_error("no");
        });
    });
    start(watched());
    auto c = connect();
    EXPECT_EQ(c.ask(test::get("/early")).status, 500);
    EXPECT_EQ(c.ask(test::get("/")).body, "root");
    EXPECT_EQ(errors, 1);
    stop();
}

TEST_P(http_streams, a_function_that_fails_later_ends_in_a_reset) {
    app.get("/late", [](const http::request&) {
        return http::stream(200, "text/plain", [](http::body_writer& out) {
            out.write("sent");
            out.flush();
            throw std::runtime_error("no");
        });
    });
    app.get("/short", [](const http::request&) {
        return http::stream(
            200, "text/plain",
            [](http::body_writer& out) {
                out.write("1234");
                out.flush();
            },
            5);
    });
    app.get("/long", [](const http::request&) {
        return http::stream(
            200, "text/plain",
            [](http::body_writer& out) {
                out.write("1234");
                out.flush();
                EXPECT_THROW(out.write("56"), std::length_error);
                out.write("5");
            },
            5);
    });
    start(watched());
    for (const char* target : {"/late", "/short"}) {
        auto c = connect();
        c.send(test::get(target));
        EXPECT_TRUE(c.ends_by_reset()) << target;
    }
    EXPECT_EQ(connect().ask(test::get("/long")).body, "12345");
    EXPECT_EQ(errors, 2);
    EXPECT_EQ(cut, 0);
    stop();
}

TEST_P(http_streams, STREAMED_ANSWER_2_a_client_that_leaves_ends_the_function_and_is_no_error) {
    std::atomic<int> ended{0};
    app.get("/endless", [&](const http::request&) {
        return http::stream(200, "text/plain", [&](http::body_writer& out) {
            try {
                for (;;) {
                    out.write(std::string(1000, 'x'));
                    out.flush();
                    this_fiber::sleep_for(1ms);
                }
            } catch (const std::system_error&) {
                EXPECT_THROW(out.write("x"), std::system_error);
                EXPECT_THROW(out.flush(), std::system_error);
                ++ended;
                throw;
            }
        });
    });
    start(watched());
    {
        auto c = connect();
        c.send(test::get("/endless"));
        EXPECT_TRUE(c.receives_something());
        c.reset();
    }
    while (ended == 0) std::this_thread::sleep_for(1ms);
    stop();
    EXPECT_EQ(errors, 0);
    EXPECT_EQ(cut, 0);
}

TEST_P(http_streams, a_stop_cuts_an_endless_one_off_by_a_reset) {
    app.get("/endless", [&](const http::request&) {
        return http::stream(200, "text/plain", [&](http::body_writer& out) {
            out.write("x");
            out.flush();
            while (!open) this_fiber::sleep_for(1ms);
        });
    });
    app.get("/polite", [&](const http::request&) {
        return http::stream(200, "text/plain", [&](http::body_writer& out) {
            out.write("x");
            out.flush();
            while (!out.stopping()) this_fiber::sleep_for(1ms);
            out.write("end");
        });
    });
    start(watched());
    auto endless = connect(), polite = connect();
    endless.send(test::get("/endless"));
    polite.send(test::get("/polite"));
    EXPECT_TRUE(endless.receives_something());
    EXPECT_TRUE(polite.receives_something());
    stop(100ms);
    EXPECT_EQ(polite.receive().body, "xend");
    EXPECT_TRUE(endless.ends_by_reset());
    EXPECT_EQ(cut, 1);
    EXPECT_EQ(errors, 0);
}

TEST_P(http_streams, request_timeout_does_not_limit_them) {
    app.get("/slow", [&](const http::request&) {
        return http::stream(200, "text/plain", [&](http::body_writer& out) {
            this_fiber::sleep_for(60ms);
            out.write("late");
        });
    });
    auto o = watched();
    o.request_timeout = 20ms;
    start(std::move(o));
    EXPECT_EQ(connect().ask(test::get("/slow")).body, "late");
    stop();
}

TEST_P(http_streams, parts_of_files_are_sent) {
    const auto content = pattern(700'000);
    const temporary_file file(content);
    app.get("/file/{from}/{n}/{how}", [&](const http::request& q) {
        const auto from = std::stoul(q.path("from")), n = std::stoul(q.path("n"));
        return http::stream(
            200, "text/plain",
            [&file, from, n](http::body_writer& out) {
                out.write("<");
                out.write_file(file.descriptor(), from, n);
                out.write(">");
            },
            q.path("how") == "length" ? std::optional<std::uint64_t>(n + 2) : std::nullopt);
    });
    start(watched());
    auto c = connect();
    for (const std::string how : {"length", "chunks"})
        for (const std::size_t n : {0u, 1u, 100u, 300'000u, 700'000u}) {
            const auto from = (700'000 - n) / 2;
            const auto got = c.ask(test::get("/file/" + std::to_string(from) + "/" + std::to_string(n) + "/" + how)).body;
            EXPECT_TRUE(got == "<" + content.substr(from, n) + ">") << n << ' ' << how << ' ' << got.size();
        }
    EXPECT_EQ(c.ask(test::get("/file/699999/2/length")).status, 500);
    EXPECT_EQ(errors, 1);
    stop();
}

TEST(send_file, says_how_much_a_file_that_became_shorter_had) {
    const temporary_file file(pattern(5000));
    explore(3, [&] {
        net::simulated_network net({.split_one_in = 2});
        const net::endpoint at{.host = "server", .port = 80};
        auto port = net.listen(at);
        io::byte_stream c = net.connect("client", at);
        auto s = io::byte_listener(std::move(port)).accept();
        std::error_code error;
        if (detail::send_file(s, file.descriptor(), 4000, 2000, error) != 1000 || error != std::errc::io_error)
            throw std::logic_error("the whole of it");
    });
    run([&] {
        tcp::listener at({.host = "127.0.0.1", .port = 0});
        auto c = tcp::stream::connect(at.local());
        io::byte_stream s = at.accept();
        std::error_code error;
        EXPECT_EQ(detail::send_file(s, file.descriptor(), 4000, 2000, error), 1000u);
        EXPECT_EQ(error, std::errc::io_error);
        EXPECT_EQ(detail::send_file(s, -1, 0, 10, error), 0u);
        EXPECT_TRUE(error);
        c.abort();
        for (int i = 0; i < 100 && !(error && error != std::errc::io_error); ++i)
            detail::send_file(s, file.descriptor(), 0, 5000, error);
        EXPECT_NE(error, std::errc::io_error) << "the stream has failed, and no signal was raised";
    });
}

TEST_P(http_streams, bodies_of_requests_arrive_whole_however_they_are_sent_and_read) {
    app.post("/echo/{piece}", [](const http::request& q, http::body_reader& in) {
        EXPECT_EQ(q.body(), "");
        return http::text(200, read_whole(in, std::stoul(q.path("piece"))));
    });
    start({.max_body_bytes = 10});
    auto c = connect();
    for (const std::size_t n : {0u, 1u, 511u, 4096u, 16384u, 65537u, 300'000u})
        for (const std::size_t piece : {7u, 1000u, 16384u, 100'000u}) {
            if (piece == 7 && n > 20'000) continue;
            const auto body = pattern(n);
            const auto target = "/echo/" + std::to_string(piece);
            EXPECT_TRUE(c.ask(post(target, body)).body == body) << n << ' ' << piece;
            for (const std::size_t chunk : {50u, 7'777u, 100'000u})
                EXPECT_TRUE(c.ask(in_chunks(target, body, chunk)).body == body) << n << ' ' << piece << ' ' << chunk;
        }
    EXPECT_EQ(c.ask(test::get("/")).body, "root");
    stop();
}

TEST_P(http_streams, bodies_cut_at_each_byte_arrive_whole) {
    app.post("/cut", [](const http::request&, http::body_reader& in) { return http::text(200, read_whole(in, 5)); });
    start();
    auto c = connect();
    const auto body = pattern(40);
    for (const auto& request : {post("/cut", body), in_chunks("/cut", body, 13)})
        for (std::size_t cut_at = 1; cut_at < request.size(); cut_at += 3) {
            c.send(std::string_view(request).substr(0, cut_at));
            std::this_thread::sleep_for(100us);
            EXPECT_EQ(c.ask(std::string_view(request).substr(cut_at)).body, body) << cut_at;
        }
    stop();
}

TEST_P(http_streams, both_directions_at_once) {
    app.post("/mirror", [](const http::request&, http::body_reader& in) {
        return http::stream(200, "text/plain", [&in](http::body_writer& out) {
            std::array<std::byte, 100> piece;
            while (const auto n = in.read_some(piece)) {
                out.write(std::span(piece).first(n));
                out.flush();
            }
        });
    });
    start();
    auto c = connect();
    c.send("POST /mirror HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n");
    EXPECT_EQ(c.receive(false).status, 100);
    for (int i = 0; i < 20; ++i) {
        c.send("3\r\nab" + std::string(1, static_cast<char>('a' + i)) + "\r\n");
        ASSERT_TRUE(c.receives_something());
    }
    c.send("0\r\n\r\n");
    const auto r = c.receive();
    EXPECT_EQ(r.status, 200);
    EXPECT_EQ(r.body.size(), 60u);
    EXPECT_EQ(c.ask(test::get("/")).body, "root") << "the connection goes on";
    stop();
}

TEST_P(http_streams, an_upload_can_be_refused_by_its_head) {
    app.post("/refuse", [](const http::request&, http::body_reader&) { return http::text(403, "no"); });
    app.post("/take", [](const http::request&, http::body_reader& in) { return http::text(200, in.read_all(100)); });
    start(watched());
    auto c = connect();
    c.send("POST /refuse HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\nExpect: 100-continue\r\n\r\n");
    const auto refused = c.receive();
    EXPECT_EQ(refused.status, 403);
    EXPECT_EQ(refused.header("Connection"), "close");
    EXPECT_TRUE(c.ended());

    auto d = connect();
    d.send("POST /take HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
    EXPECT_EQ(d.receive(false).status, 100);
    EXPECT_EQ(d.ask("body").body, "body");

    EXPECT_EQ(d.ask(post("/refuse", "is there already")).header("Connection"), "") << "nothing is left to wait for";
    EXPECT_EQ(d.ask(post("/take", std::string(101, 'x'))).status, 413);
    EXPECT_EQ(errors, 0);
    stop();
}

TEST_P(http_streams, a_body_that_ends_early_or_is_malformed_or_slow_is_named) {
    std::atomic<int> status{0};
    app.post("/read", [&](const http::request&, http::body_reader& in) {
        try {
            read_whole(in, 1000);
        } catch (const http::body_error& e) {
            status = e.status();
            EXPECT_THROW(read_whole(in, 1000), http::body_error);
            throw;
        }
        return http::text(200, "whole");
    });
    auto o = watched();
    o.body_timeout = 50ms;
    start(std::move(o));
    {
        auto c = connect();
        c.send("POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nabc");
        c.half_close();
        EXPECT_EQ(c.receive().status, 400);
        EXPECT_EQ(status.exchange(0), 400);
    }
    {
        auto c = connect();
        EXPECT_EQ(c.ask("POST /read HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n").status, 400);
        EXPECT_EQ(status.exchange(0), 400);
    }
    {
        auto c = connect();
        EXPECT_EQ(c.ask("POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nabc").status, 408);
        EXPECT_EQ(status.exchange(0), 408);
    }
    EXPECT_EQ(errors, 0);
    stop();
}

TEST_P(http_streams, the_time_of_the_handler_is_not_that_of_the_client) {
    app.post("/store", [&](const http::request&, http::body_reader& in) {
        std::array<std::byte, 4> piece;
        std::size_t total = 0;
        while (const auto n = in.read_some(piece)) {
            total += n;
            this_fiber::sleep_for(30ms);
        }
        return http::text(200, std::to_string(total));
    });
    start({.body_timeout = 40ms});
    auto c = connect();
    EXPECT_EQ(c.ask(post("/store", pattern(20))).body, "20");
    c.send("POST /store HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\nabcd");
    EXPECT_EQ(c.ask("efgh").body, "8");
    stop();
}

TEST_P(http_streams, a_limit_of_the_handler_ends_a_read) {
    app.post("/impatient", [&](const http::request&, http::body_reader& in) {
        try {
            return with_timeout(20ms, [&] { return http::text(200, in.read_all(100)); });
        } catch (const timeout_error&) {
            return http::text(504, "too slow for me");
        }
    });
    start(watched());
    auto c = connect();
    EXPECT_EQ(c.ask("POST /impatient HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc").status, 504);
    EXPECT_EQ(errors, 0);
    stop();
}

TEST_P(http_streams, other_routes_still_collect_bodies) {
    app.post("/reads", [](const http::request&, http::body_reader& in) { return http::text(200, in.read_all(1 << 20)); });
    start({.max_body_bytes = 100});
    auto c = connect();
    EXPECT_EQ(c.ask(post("/echo", "collected")).body, "collected");
    EXPECT_EQ(c.ask(post("/reads", pattern(5000))).body, pattern(5000));
    EXPECT_EQ(c.ask(post("/echo", std::string(101, 'x'))).status, 413);
    stop();
}

TEST_P(http_streams, a_connection_is_idle_after_one) {
    app.get("/s", [](const http::request&) { return http::stream(200, "a/b", [](http::body_writer& out) { out.write("x"); }); });
    start({.cold_after = 5ms});
    auto c = connect();
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(c.ask(test::get("/s")).body, "x");
        std::this_thread::sleep_for(20ms);
    }
    stop();
}

TEST(http_body_reader, of_a_router_alone_reads_what_is_there) {
    http::router r;
    r.post("/up", [](const http::request&, http::body_reader& in) {
        EXPECT_EQ(in.left(), 4u);
        return http::stream(200, "text/plain", [&in](http::body_writer& out) { out.write(in.read_all(10)); });
    });
    http::request q({.method = "POST", .target = "/up", .body = "body"});
    const auto answer = r.handle(q);
    EXPECT_EQ(http::collect(answer.stream), "body");
    EXPECT_TRUE(r.reads_body(q));
    EXPECT_THROW(r.add("POST", "/x", http::body_handler()), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(http::stream(200, "a/b", nullptr)), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(http::stream(200, "a\r\nb", [](http::body_writer&) {})), std::invalid_argument);
}

TEST(http_streams_simulated, arrive_whole_where_every_write_is_split) {
    const auto content = pattern(30'000);
    explore(30, [&] {
        const temporary_file file(content);
        net::simulated_network net({.most_delay = 5ms, .split_one_in = 2});
        const net::endpoint at{.host = "server", .port = 80};
        http::server app;
        app.post("/echo", [&](const http::request&, http::body_reader& in) {
            return http::stream(200, "text/plain", [&](http::body_writer& out) {
                std::array<std::byte, 700> piece;
                while (const auto n = in.read_some(piece)) out.write(std::span(piece).first(n));
                out.write_file(file.descriptor(), 0, content.size());
            });
        });
        app.listen(net.listen(at));
        auto serving = spawn([&] { app.serve(); });
        io::byte_stream c = net.connect("client", at);
        c.write_all("POST /echo HTTP/1.0\r\nContent-Length: 5000\r\n\r\n" + content.substr(0, 5000));
        std::string all;
        std::array<std::byte, 1000> piece;
        while (const auto n = c.read_some(piece)) all.append(reinterpret_cast<const char*>(piece.data()), n);
        app.stop();
        serving.join();
        if (!all.ends_with("\r\n\r\n" + content.substr(0, 5000) + content)) throw std::logic_error("another body");
    });
}

std::string lines_of(const http::event& e) {
    return http::collect([&](http::body_writer& out) { http::event_writer(out).send(e); });
}

TEST(http_events, have_the_lines_of_the_standard) {
    EXPECT_EQ(lines_of({.data = "tick"}), "data: tick\n\n");
    EXPECT_EQ(lines_of({}), "data: \n\n");
    EXPECT_EQ(lines_of({.name = "n", .data = "a\r\nb\rc\n", .id = "7", .retry = 1500ms}),
              "event: n\nid: 7\nretry: 1500\ndata: a\ndata: b\ndata: c\ndata: \n\n");
    EXPECT_EQ(http::collect([](http::body_writer& out) { http::event_writer(out).comment("hello\nyou"); }), ": hello\n: you\n\n");
    EXPECT_THROW(lines_of({.name = "a\nb"}), std::invalid_argument);
    EXPECT_THROW(lines_of({.id = std::string_view("\0", 1)}), std::invalid_argument);
    const http::request q;
    EXPECT_THROW(static_cast<void>(http::events(q, nullptr)), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(http::events(q, [](http::event_writer&) {}, {.keep_alive = 0s})), std::invalid_argument);
}

TEST_P(http_streams, events_arrive_one_by_one_and_begin_after_the_last_that_was_seen) {
    app.get("/events", [&](const http::request& q) {
        return http::events(q, [&](http::event_writer& to) {
            for (int i = to.last_id().empty() ? 0 : std::stoi(to.last_id()); i < 5; ++i)
                to.send({.data = "number " + std::to_string(i), .id = std::to_string(i + 1)});
        });
    });
    start(watched());
    auto c = connect();
    const auto all = c.ask(test::get("/events"));
    EXPECT_EQ(all.header("Content-Type"), "text/event-stream");
    EXPECT_TRUE(all.body.starts_with(": \n\nid: 1\ndata: number 0\n\n")) << all.body;
    EXPECT_TRUE(all.body.ends_with("id: 5\ndata: number 4\n\n")) << all.body;
    const auto rest = c.ask("GET /events HTTP/1.1\r\nHost: a\r\nLast-Event-ID: 4\r\n\r\n");
    EXPECT_EQ(rest.body, ": \n\nid: 5\ndata: number 4\n\n");
    stop();
}

TEST_P(http_streams, a_function_that_waits_for_events_learns_that_the_client_has_gone) {
    std::atomic<int> ended{0};
    app.get("/quiet", [&](const http::request& q) {
        return http::events(q,
                            [&](http::event_writer&) {
                                try {
                                    this_fiber::sleep_for(1h);
                                } catch (const cancelled&) {
                                    ++ended;
                                    throw;
                                }
                            },
                            {.keep_alive = 5ms});
    });
    start(watched());
    auto c = connect();
    c.send(test::get("/quiet"));
    EXPECT_TRUE(c.receives_something());
    c.reset();
    while (ended == 0) std::this_thread::sleep_for(1ms);
    auto d = connect();
    d.send(test::get("/quiet"));
    EXPECT_TRUE(d.receives_something());
    stop();
    EXPECT_EQ(ended, 2);
    EXPECT_TRUE(d.receive_to_end().ends_with("0\r\n\r\n")) << "a stream of events ends in good order when the server stops";
    EXPECT_EQ(errors, 0);
    EXPECT_EQ(cut, 0);
}

}  // namespace
