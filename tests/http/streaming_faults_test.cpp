// streaming_faults_test.cpp - what goes wrong with bodies that are sent piece by piece, and who learns of it: no answer is lost, none
// is taken for whole, and no request is used after its end.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include <weft/http/events.hpp>
#include <weft/weft.hpp>

#include "eventually.hpp"
#include "http/support/served.hpp"

namespace {

using namespace weft;
using namespace std::chrono_literals;

/// What a server has reported.
struct reports {
    std::mutex lock;
    std::vector<std::string> errors, answered;
    std::vector<std::pair<std::size_t, std::size_t>> cut;
};

class http_stream_faults : public test::served {
protected:
    ~http_stream_faults() override {
        if (serving && serving->joinable()) stop();  // before the members that hooks use end
    }

    http::server_options watched() {
        http::server_options o;
        o.on_error = [this](const http::request&, std::exception_ptr e) {
            std::string what = "unknown";
            try {
                std::rethrow_exception(e);
            } catch (const std::exception& failure) {
                what = failure.what();
            } catch (...) {}
            const std::lock_guard guard(seen_.lock);
            seen_.errors.push_back(what);
        };
        o.on_cut_short = [this](const http::cut_short& c) {
            const std::lock_guard guard(seen_.lock);
            seen_.cut.emplace_back(c.sent, c.total);
        };
        o.on_access = [this](const http::access& a) {
            const std::lock_guard guard(seen_.lock);
            seen_.answered.push_back(a.asked.target() + " " + std::to_string(a.status) + " " + std::to_string(a.bytes));
        };
        return o;
    }
    auto errors() {
        const std::lock_guard guard(seen_.lock);
        return seen_.errors;
    }
    auto cut() {
        const std::lock_guard guard(seen_.lock);
        return seen_.cut;
    }
    auto answered() {
        const std::lock_guard guard(seen_.lock);
        return seen_.answered;
    }

private:
    reports seen_;
};
WEFT_ON_1_2_4_8_WORKERS(http_stream_faults);

TEST_P(http_stream_faults, a_limit_of_a_handler_does_not_cut_the_answers_before_its_own) {
    app.post("/late", [](const http::request&, http::body_reader& in) {
        try {
            return with_timeout(5ms, [&] {
                test::compute_for(10ms);
                return http::text(200, in.read_all(100));
            });
        } catch (const timeout_error&) {
            return http::text(504, "late");
        }
    });
    start(watched());
    auto c = connect();
    c.send(test::get("/") + "POST /late HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
    EXPECT_EQ(c.receive().body, "root");
    EXPECT_EQ(c.receive().status, 504);
    stop();
}

TEST_P(http_stream_faults, a_body_function_may_use_a_request_that_middleware_has_changed) {
    app.use([](const http::request& q, const http::next& next) {
        http::request changed(q);
        changed.parts().headers.add("X-Seen", "a value too long for a string without memory of its own");
        return next(changed);
    });
    app.post("/use/{x}", [](const http::request& q, http::body_reader& in) {
        return http::stream(200, "a/b", [&](http::body_writer& out) {
            out.write(q.target());
            out.write(q.header("X-Seen"));
            out.write(in.read_all(100));
        });
    });
    start(watched());
    auto c = connect();
    for (const std::string length : {"0", "4"})
        EXPECT_EQ(
            c.ask("POST /use/1 HTTP/1.1\r\nHost: a\r\nContent-Length: " + length + "\r\n\r\n" + (length == "4" ? "body" : ""))
                .body,
            "/use/1a value too long for a string without memory of its own" + std::string(length == "4" ? "body" : ""));
    stop();
}

TEST_P(http_stream_faults, middleware_that_changes_the_route_to_one_that_collects_is_an_error) {
    app.use([](const http::request& q, const http::next& next) {
        if (q.path() != "/moved") return next(q);
        http::request changed(q);
        changed.parts().target = "/echo";
        return next(changed);
    });
    app.post("/moved", [](const http::request&, http::body_reader&) { return http::text(200, "never"); });
    start(watched());
    EXPECT_EQ(connect().ask("POST /moved HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody").status, 500);
    ASSERT_EQ(errors().size(), 1u);
    EXPECT_NE(errors()[0].find("POST /echo, which collects bodies"), std::string::npos) << errors()[0];
    stop();
}

TEST_P(http_stream_faults, an_answer_of_1_0_that_is_cut_is_reset) {
    app.get("/late", [&](const http::request&) {
        return http::stream(200, "a/b", [&](http::body_writer& out) {
            out.write("part one");
            out.flush();
            try {
                this_fiber::sleep_for(1h);
            } catch (const cancelled&) {}  // against the rules
            out.write("part two");
        });
    });
    start(watched());
    auto c = connect();
    c.send("GET /late HTTP/1.0\r\n\r\n");
    EXPECT_TRUE(c.receives_something());
    stop(20ms);
    EXPECT_TRUE(c.ends_by_reset());
    EXPECT_EQ(cut().size(), 1u);
}

TEST_P(http_stream_faults, a_client_that_waits_for_100_gets_it_from_a_body_function) {
    app.post("/mirror", [](const http::request&, http::body_reader& in) {
        return http::stream(200, "a/b", [&](http::body_writer& out) { out.write(in.read_all(100)); });
    });
    start(watched());
    auto c = connect();
    c.send(test::get("/") + "POST /mirror HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
    EXPECT_EQ(c.receive().body, "root");
    EXPECT_EQ(c.receive(false).status, 100);
    c.send("body");
    EXPECT_EQ(c.receive().body, "body");
    stop();
}

TEST_P(http_stream_faults, a_bad_body_within_a_body_function_is_no_error_of_the_program) {
    app.post("/mirror", [](const http::request&, http::body_reader& in) {
        return http::stream(200, "a/b", [&](http::body_writer& out) { out.write(in.read_all(100)); });
    });
    start(watched());
    auto c = connect();
    c.send("POST /mirror HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    std::this_thread::sleep_for(5ms);
    c.send("xyz\r\n");
    EXPECT_TRUE(c.ends_by_reset());
    auto d = connect();
    d.send("POST /mirror HTTP/1.1\r\nHost: a\r\nContent-Length: 200\r\n\r\n" + std::string(200, 'x'));
    EXPECT_TRUE(d.ends_by_reset()) << "more than read_all() takes; the head has left before";
    EXPECT_TRUE(errors().empty()) << errors()[0];
    stop();
}

TEST_P(http_stream_faults, a_file_that_cannot_be_sent_is_an_error_of_the_program) {
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe(pipe.data()), 0);
    const int directory = ::open("/proc/self/fd", O_RDONLY | O_DIRECTORY);
    for (const int fd : {-1, pipe[0], directory})
        app.get("/" + std::to_string(fd), [fd](const http::request&) {
            return http::stream(200, "a/b", [fd](http::body_writer& out) { out.write_file(fd, 0, 10); });
        });
    start(watched());
    auto c = connect();
    for (const int fd : {-1, pipe[0], directory}) EXPECT_EQ(c.ask(test::get("/" + std::to_string(fd))).status, 500) << fd;
    EXPECT_EQ(errors().size(), 3u);
    for (const int fd : {pipe[0], pipe[1], directory}) ::close(fd);
    stop();
    for (const auto& line : answered()) EXPECT_NE(line.find(" 500 26"), std::string::npos) << line;
}

TEST_P(http_stream_faults, a_limit_of_the_function_is_reported) {
    app.get("/impatient", [](const http::request&) {
        return http::stream(200, "a/b", [](http::body_writer& out) {
            const std::string piece(100'000, 'x');
            with_timeout(50ms, [&] {
                for (;;) out.write(piece);
            });
        });
    });
    start(watched());
    test::raw_client c(app.local().port, {.receive_buffer = 10'000});
    c.send(test::get("/impatient"));
    EXPECT_TRUE(test::eventually([&] { return errors().size() == 1; }));
    EXPECT_TRUE(c.ends_by_reset());
    EXPECT_TRUE(cut().empty());
    stop();
}

TEST_P(http_stream_faults, a_client_that_is_slower_than_min_rate_is_given_up) {
    app.get("/endless", [](const http::request&) {
        return http::stream(200, "a/b", [](http::body_writer& out) {
            const std::string piece(20'000, 'x');
            for (;;) out.write(piece);
        });
    });
    auto o = watched();
    o.write_timeout = 100ms;
    o.min_rate = std::size_t{1} << 30;
    start(std::move(o));
    test::raw_client c(app.local().port, {.receive_buffer = 10'000});
    c.send(test::get("/endless"));
    c.read_slowly(100'000'000, 4096, 100us);
    EXPECT_TRUE(test::eventually([&] { return cut().size() == 1; }));
    EXPECT_LT(cut()[0].first, cut()[0].second);
    EXPECT_TRUE(errors().empty());
    stop();
}

TEST_P(http_stream_faults, the_answers_of_a_burst_are_sent_before_they_are_many) {
    std::atomic<int> calls{0};
    app.get("/s", [&](const http::request&) {
        return http::stream(200, "a/b", [&](http::body_writer& out) {
            if (++calls == 10) {
                while (!open) this_fiber::sleep_for(1ms);
            }
            out.write(std::string(10'000, 'x'));
        });
    });
    start(watched());
    auto c = connect();
    std::string burst;
    for (int i = 0; i < 10; ++i) burst += test::get("/s");
    c.send(burst);
    for (int i = 0; i < 8; ++i) EXPECT_EQ(c.receive().body.size(), 10'000u);
    open = true;
    for (int i = 0; i < 2; ++i) EXPECT_EQ(c.receive().body.size(), 10'000u);
    stop();
}

TEST_P(http_stream_faults, the_log_has_what_was_answered) {
    app.get("/early", [](const http::request&) {
        return http::stream(200, "a/b", [](http::body_writer& out) {
            out.write("collected");
            throw std::runtime_error("no");
        });
    });
    app.get("/good",
            [](const http::request&) { return http::stream(201, "a/b", [](http::body_writer& out) { out.write("12345"); }); });
    start(watched());
    auto c = connect();
    EXPECT_EQ(c.ask(test::get("/early")).status, 500);
    EXPECT_EQ(c.ask(test::get("/good")).status, 201);
    stop();
    EXPECT_EQ(answered(), (std::vector<std::string>{"/early 500 26", "/good 201 5"}));
}

TEST_P(http_stream_faults, the_log_has_what_was_sent_of_an_answer_that_was_cut) {
    constexpr std::size_t whole = 50'000'000;
    const int file = ::memfd_create("log", MFD_CLOEXEC);
    ASSERT_EQ(::ftruncate(file, whole), 0);
    app.get("/text", [](const http::request&) { return http::text(200, std::string(whole, 'x')); });
    app.get("/piece", [](const http::request&) {
        return http::stream(200, "a/b", [](http::body_writer& out) { out.write(std::string(whole, 'x')); });
    });
    app.get("/file", [&](const http::request&) {
        return http::stream(200, "a/b", [&](http::body_writer& out) { out.write_file(file, 0, whole); });
    });
    start(watched());
    for (const std::string target : {"/text", "/piece", "/file"}) {
        test::raw_client c(app.local().port, {.receive_buffer = 10'000});
        c.send(test::get(target));
        c.read_slowly(100'000, 4096, 0us);
    }
    EXPECT_TRUE(test::eventually([&] { return answered().size() == 3; }));
    stop();
    for (const auto& line : answered()) {
        const auto bytes = std::stoull(line.substr(line.rfind(' ') + 1));
        EXPECT_GE(bytes, 90'000u) << line;
        EXPECT_LT(bytes, whole) << line;
    }
    ::close(file);
}

TEST_P(http_stream_faults, what_was_collected_and_never_sent_is_not_in_the_log) {
    std::atomic<bool> written{false};
    app.get("/s", [&](const http::request&) {
        return http::stream(200, "a/b", [&](http::body_writer& out) {
            out.write(std::string(10'000, 'x'));
            written = true;
            this_fiber::sleep_for(1h);
        });
    });
    start(watched());
    auto c = connect();
    c.send(test::get("/s"));
    EXPECT_TRUE(test::eventually([&] { return written.load(); }));
    stop(0ms);
    EXPECT_EQ(answered(), std::vector<std::string>{"/s 200 0"});
}

TEST_P(http_stream_faults, events_that_wait_for_a_slow_client_are_not_cut_by_their_comments) {
    app.get("/sse", [](const http::request& q) {
        return http::events(q, [](http::event_writer& to) { to.send(std::string(4'000'000, 'x')); }, {.keep_alive = 1ms});
    });
    start(watched());
    test::raw_client c(app.local().port, {.receive_buffer = 10'000});
    c.send(test::get("/sse"));
    std::this_thread::sleep_for(20ms);
    const auto r = c.receive();
    EXPECT_EQ(r.status, 200);
    EXPECT_GT(r.body.size(), 4'000'000u);
    EXPECT_TRUE(errors().empty()) << errors()[0];
    stop();
}

TEST_P(http_stream_faults, a_body_known_to_be_too_large_is_refused_unread) {
    app.post("/small", [](const http::request&, http::body_reader& in) { return http::text(200, in.read_all(100)); });
    start(watched());
    auto c = connect();
    const auto r = c.ask("POST /small HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\nExpect: 100-continue\r\n\r\n");
    EXPECT_EQ(r.status, 413);
    EXPECT_EQ(http::body_error(7, "a status that is none").status(), 400);
    stop();
}

}  // namespace
