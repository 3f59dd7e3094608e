// upgrade_test.cpp - connections that a handler takes over from HTTP: what they get, count for, and how a stop reaches them.
#include "http/support/served.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include <weft/event.hpp>
#include <weft/http/upgrade.hpp>
#include <weft/net/unix.hpp>

#include "eventually.hpp"

namespace {

using namespace weft;
using namespace std::chrono_literals;
using test::eventually;
using test::get;

constexpr const char* head = "GET /lines HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: lines\r\n\r\n";

http::response upgrade_to(http::upgrade_function f) {
    http::response r{.status = 101, .headers = {{"Upgrade", "lines"}}};
    r.upgrade = std::move(f);
    return r;
}

/// Answers each piece by itself, up to the end of the stream.
void echo(http::upgraded& u) {
    u.stream().write_all(u.take_received());
    std::array<std::byte, 256> piece;
    while (const auto n = u.stream().read_some(piece)) u.stream().write_all(std::span(piece).first(n));
}

class http_upgrade : public test::served {
protected:
    void serve(http::upgrade_function f, http::server_options o = {}) {
        app.get("/lines", [f = std::move(f)](const http::request&) { return upgrade_to(f); });
        start(std::move(o));
    }
    /// A client behind the head of the answer.
    test::raw_client upgraded_client(std::string_view behind = {}) {
        auto c = connect();
        c.send(std::string(head).append(behind));
        const auto answer = c.receive(false);
        EXPECT_EQ(answer.status, 101);
        EXPECT_EQ(answer.header("Connection"), "Upgrade");
        EXPECT_EQ(answer.header("Upgrade"), "lines");
        EXPECT_EQ(answer.header("Content-Length"), "");
        return c;
    }
};
WEFT_ON_1_2_4_8_WORKERS(http_upgrade);

TEST_P(http_upgrade, gives_the_connection_and_what_came_behind_the_head) {
    serve(echo);
    auto c = upgraded_client("GET / early");
    c.send(" and late");
    c.half_close();
    EXPECT_EQ(c.receive_to_end(), "GET / early and late");
}

TEST_P(http_upgrade, follows_earlier_requests_of_the_connection) {
    serve(echo);
    auto c = connect();
    c.send(get("/") + std::string(head) + "x");
    EXPECT_EQ(c.receive().body, "root");
    EXPECT_EQ(c.receive(false).status, 101);
    c.half_close();
    EXPECT_EQ(c.receive_to_end(), "x");
}

TEST_P(http_upgrade, is_not_limited_in_time) {
    serve(
        [](http::upgraded& u) {
            this_fiber::sleep_for(400ms);
            u.stream().write_all("late");
        },
        {.header_timeout = 150ms, .idle_timeout = 150ms, .write_timeout = 150ms, .request_timeout = 150ms});
    EXPECT_EQ(upgraded_client().receive_to_end(), "late");
}

TEST_P(http_upgrade, has_a_line_in_the_access_log_before_the_function_runs) {
    std::mutex lock;
    std::vector<std::string> lines;
    event logged;
    serve(
        [&](http::upgraded& u) {
            logged.wait();
            u.stream().write_all("logged");
        },
        {.on_access = [&](const http::access& a) {
            const std::lock_guard guard(lock);
            lines.push_back(a.asked.method() + " " + a.asked.target() + " " + std::to_string(a.status));
            logged.set();
        }});
    EXPECT_EQ(upgraded_client().receive_to_end(), "logged");
    EXPECT_EQ(lines, std::vector<std::string>{"GET /lines 101"});
}

TEST_P(http_upgrade, counts_in_max_connections_until_the_function_returns) {
    serve(echo, {.max_connections = 1});
    auto first = upgraded_client();
    auto second = connect();
    second.send(get("/"));
    EXPECT_TRUE(second.silent_for(30));
    first.half_close();
    EXPECT_TRUE(first.ended());
    EXPECT_EQ(second.receive().body, "root");
}

TEST_P(http_upgrade, TAKEN_STREAM_1_a_stop_is_told_at_once) {
    std::atomic<int> told = 0;
    serve([&](http::upgraded& u) {
        event stopped;
        u.on_stop([&] {
            ++told;
            stopped.set();
        });
        stopped.wait();
        EXPECT_TRUE(u.stopping());
        u.stream().write_all("bye");
    });
    auto c = upgraded_client();
    stop(30s);
    EXPECT_EQ(told, 1);
    EXPECT_EQ(c.receive_to_end(), "bye");
}

TEST_P(http_upgrade, TAKEN_STREAM_2_one_that_comes_after_a_stop_is_told_too) {
    event may_go_on;
    std::atomic<int> begun = 0, told = 0;
    app.get("/late", [&](const http::request&) {
        ++begun;
        may_go_on.wait();
        return upgrade_to([&](http::upgraded& u) {
            u.on_stop([&] { ++told; });
            u.on_stop([&] { told += 10; });
        });
    });
    event waits, told_first;
    serve([&](http::upgraded& u) {
        u.on_stop([&] { told_first.set(); });
        waits.set();
        told_first.wait();
        may_go_on.set();
    });
    auto first = upgraded_client();
    auto c = connect();
    c.send(get("/late"));
    ASSERT_TRUE(eventually([&] { return begun == 1 && waits.is_set(); }));
    app.stop(30s);
    EXPECT_EQ(c.receive(false).status, 101);
    serving->join();
    EXPECT_EQ(told, 11);
}

TEST_P(http_upgrade, is_cancelled_at_the_end_of_the_grace) {
    std::atomic<int> cancelled_ones = 0, begun = 0;
    serve([&](http::upgraded& u) {
        std::array<std::byte, 1> piece;
        ++begun;
        try {
            u.stream().read_some(piece);
        } catch (const cancelled&) {
            ++cancelled_ones;
            throw;
        }
    });
    auto c = upgraded_client();
    ASSERT_TRUE(eventually([&] { return begun == 1; }));
    stop(20ms);
    EXPECT_EQ(cancelled_ones, 1);
}

TEST_P(http_upgrade, reports_what_the_function_throws) {
    std::mutex lock;
    std::string said;
    serve([](http::upgraded&) { throw std::runtime_error("ouch"); },
          {.on_error = [&](const http::request& q, std::exception_ptr e) {
              try {
                  std::rethrow_exception(e);
              } catch (const std::exception& failure) {
                  const std::lock_guard guard(lock);
                  said = q.method() + " " + q.target() + ": " + failure.what();
              }
          }});
    auto c = upgraded_client();
    EXPECT_EQ(c.receive_to_end(), "");
    stop();
    EXPECT_EQ(said, "GET /lines: ouch");
}

TEST_P(http_upgrade, is_refused_where_HTTP_does_not_allow_it) {
    app.post("/body", [](const http::request&, http::body_reader&) { return upgrade_to(echo); });
    app.get("/status", [](const http::request&) {
        auto r = upgrade_to(echo);
        r.status = 200;
        return r;
    });
    app.get("/none", [](const http::request&) { return http::response{.status = 101}; });
    serve(echo, {.on_error = [](const http::request&, std::exception_ptr) {}});
    EXPECT_EQ(connect().ask("GET /lines HTTP/1.0\r\n\r\n").status, 400);
    auto c = connect();
    c.send("HEAD /lines HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(c.receive(false).status, 400);
    EXPECT_EQ(connect().ask("POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n").status, 400);
    EXPECT_EQ(connect().ask(get("/status")).status, 500);
    EXPECT_EQ(connect().ask(get("/none")).status, 500);
}

TEST_P(http_upgrade, waits_without_a_fiber_if_it_asks_to_be_called_again) {
    std::atomic<int> calls = 0, late = 0;
    serve(
        [&](http::upgraded& u) {
            ++calls;
            if (u.stopping()) return u.stream().write_all("bye");
            if (u.timed_out()) ++late;
            std::array<std::byte, 16> piece;
            std::error_code error;
            while (const auto n = u.stream().try_read_some(piece, error)) {
                if (*n == 0) return;
                u.stream().write_all(std::span(piece).first(*n));
            }
            u.call_again(u.timed_out() ? std::chrono::nanoseconds(no_limit) : 30ms);
        },
        {.cold_after = 5ms});
    auto c = upgraded_client(), other = upgraded_client();
    EXPECT_TRUE(eventually([&] { return late == 2 && rt.stats().fibers == 2; }));  // serve(), and the one that minds them
    for (std::size_t i = 1; i <= 3; ++i) {
        c.send("abc");
        EXPECT_TRUE(c.read_slowly(3 * i, 3, 0us));
        EXPECT_TRUE(eventually([&] { return rt.stats().fibers == 2; }));
    }
    stop(30s);
    EXPECT_EQ(c.receive_to_end(), "abcabcabcbye");
    EXPECT_EQ(other.receive_to_end(), "bye");
}

TEST_P(http_upgrade, is_called_again_by_its_own_fiber_where_fibers_are_limited) {
    test::watched_runtime limited({.workers = GetParam(), .max_fibers = 8});
    http::server other;
    other.get("/lines", [](const http::request&) {
        return upgrade_to([](http::upgraded& u) {
            if (u.stopping()) return u.stream().write_all("bye");
            std::array<std::byte, 16> piece;
            std::error_code error;
            if (const auto n = u.stream().try_read_some(piece, error); n && *n > 0)
                u.stream().write_all(std::span(piece).first(*n));
            u.call_again();
        });
    });
    limited.run([&] { other.listen({.host = "127.0.0.1", .port = 0}); });
    auto serving_other = limited.spawn([&] { other.serve(); });
    test::raw_client c(other.local().port);
    c.send(head);
    EXPECT_EQ(c.receive(false).status, 101);
    c.send("abc");
    EXPECT_TRUE(c.read_slowly(3, 3, 0us));
    other.stop(30s);
    EXPECT_EQ(c.receive_to_end(), "abcbye");
    serving_other.join();
}

TEST_P(http_upgrade, a_function_can_be_called_by_hand) {
    rt.run([] {
        auto [near, far] = unix_socket::pair();
        const auto answer = upgrade_to([](http::upgraded& u) {
            int told = 0;
            u.on_stop([&] { ++told; });
            u.request_stop();
            u.stream().write_all(u.take_received() + std::to_string(told));
        });
        http::upgraded u(std::move(far), "early ");
        answer.upgrade(u);
        std::array<std::byte, 7> got;
        io::read_exact(near, got);
        EXPECT_EQ(std::string(reinterpret_cast<const char*>(got.data()), got.size()), "early 1");
    });
}

}  // namespace
