// server_test.cpp - a server over loopback: answers in order, keep-alive, bodies, handlers that fail, ports, places.
#include "http/support/served.hpp"

#include <gtest/gtest.h>

#include <system_error>
#include <thread>

#include "eventually.hpp"
#include "random.hpp"

namespace {

using namespace weft;
using namespace std::chrono_literals;
using test::get;

class http_server : public test::served {};
WEFT_ON_1_2_4_8_WORKERS(http_server);

TEST_P(http_server, answers) {
    start();
    auto c = connect();
    const auto r = c.ask(get("/users/7"));
    EXPECT_EQ(r.status, 200);
    EXPECT_EQ(r.body, "7");
    EXPECT_EQ(r.header("Content-Type"), "text/plain; charset=utf-8");
    EXPECT_EQ(r.header("Connection"), "");
    EXPECT_FALSE(r.header("Date").empty());
    EXPECT_EQ(c.ask(get("/nothing")).status, 404);
    const auto wrong = c.ask("DELETE /users/7 HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(wrong.status, 405);
    EXPECT_EQ(wrong.header("Allow"), "GET, HEAD, OPTIONS");
    EXPECT_EQ(c.ask("BREW / HTTP/1.1\r\nHost: a\r\n\r\n").status, 405);
}

thread_local int kept_by_a_library = 0;

// Not inlined: a compiler keeps the address of a thread_local object.
[[gnu::noinline]] void keep(int n) { kept_by_a_library = n; }
[[gnu::noinline]] int kept() {
    asm volatile("");
    return kept_by_a_library;
}

TEST_P(http_server, handlers_are_threads_if_they_shall_be) {
    app.get("/kept/{n}", [](const http::request& q) {
        const int mine = std::stoi(std::string(q.path("n")));
        keep(mine);
        for (int i = 0; i < 5; ++i) this_fiber::sleep_for(100us);  // others run here meanwhile
        return http::text(kept() == mine ? 200 : 500, "");
    });
    start({.as_threads = true});
    std::vector<test::raw_client> clients;
    for (int i = 0; i < 16; ++i) clients.push_back(connect());
    for (int round = 0; round < 5; ++round) {
        for (int i = 0; i < 16; ++i) clients[static_cast<std::size_t>(i)].send(get("/kept/" + std::to_string(i + 1)));
        for (auto& c : clients) EXPECT_EQ(c.receive().status, 200);
    }
}

TEST_P(http_server, keeps_a_connection_for_a_thousand_requests) {
    start();
    auto c = connect();
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(c.ask(get("/users/" + std::to_string(i))).body, std::to_string(i));
}

TEST_P(http_server, answers_pipelined_requests_in_order) {
    start();
    auto c = connect();
    std::string requests;
    for (int i = 0; i < 100; ++i) requests += get("/users/" + std::to_string(i));
    c.send(requests);
    for (int i = 0; i < 100; ++i) ASSERT_EQ(c.receive().body, std::to_string(i));
    EXPECT_TRUE(c.silent_for(20));
}

TEST_P(http_server, answers_requests_that_arrive_byte_by_byte) {
    start();
    auto c = connect();
    for (char byte :
         get("/users/1") + "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n") {
        c.send({&byte, 1});
        std::this_thread::sleep_for(100us);
    }
    EXPECT_EQ(c.receive().body, "1");
    EXPECT_EQ(c.receive().body, "abc");
}

TEST_P(http_server, closes_when_asked_to) {
    start();
    auto by_client = connect();
    EXPECT_EQ(by_client.ask("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").header("Connection"), "close");
    EXPECT_TRUE(by_client.ended());
    auto by_handler = connect();
    EXPECT_EQ(by_handler.ask(get("/close")).header("Connection"), "close");
    EXPECT_TRUE(by_handler.ended());
    auto old = connect();
    EXPECT_EQ(old.ask("GET / HTTP/1.0\r\n\r\n").header("Connection"), "close");
    EXPECT_TRUE(old.ended());
    auto old_keeping = connect();
    for (int i = 0; i < 2; ++i)
        EXPECT_EQ(old_keeping.ask("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").header("Connection"), "keep-alive");
}

TEST_P(http_server, answers_a_client_that_has_finished_sending) {
    start();
    auto c = connect();
    c.send(get("/users/1") + get("/users/2"));
    c.half_close();
    EXPECT_EQ(c.receive().body, "1");
    EXPECT_EQ(c.receive().body, "2");
    EXPECT_TRUE(c.ended());
}

TEST_P(http_server, answers_head_without_a_body) {
    start();
    auto c = connect();
    c.send("HEAD /users/123 HTTP/1.1\r\nHost: a\r\n\r\n" + get("/users/4"));
    EXPECT_EQ(c.receive(false).header("Content-Length"), "3");
    EXPECT_EQ(c.receive().body, "4");
    c.send(get("/status/205") + get("/status/204") + get("/status/304") + get("/users/5"));
    EXPECT_EQ(c.receive(false).header("Content-Length"), "0");
    EXPECT_EQ(c.receive().status, 204);
    EXPECT_EQ(c.receive().status, 304);
    EXPECT_EQ(c.receive().body, "5");
}

TEST_P(http_server, moves_large_bodies) {
    start();
    auto c = connect();
    const std::string body(1 << 20, 'b');
    EXPECT_EQ(c.ask("POST /size HTTP/1.1\r\nHost: a\r\nContent-Length: 1048576\r\n\r\n" + body).body, "1048576");
    std::string chunked = "POST /size HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (int i = 0; i < 256; ++i) chunked += "1000\r\n" + std::string(4096, 'c') + "\r\n";
    EXPECT_EQ(c.ask(chunked + "0\r\n\r\n").body, "1048576");
    EXPECT_EQ(c.ask(get("/large/5000000")).body, std::string(5000000, 'x'));
    c.send(get("/large/20000") + get("/large/20000"));
    for (int i = 0; i < 2; ++i) EXPECT_EQ(c.receive().body.size(), 20000u);
}

TEST_P(http_server, tells_a_waiting_sender_to_go_on) {
    start();
    auto c = connect();
    EXPECT_EQ(c.ask("POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n").status, 100);
    EXPECT_EQ(c.ask("hi").body, "hi");
    EXPECT_EQ(c.ask("POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2000000\r\n\r\n").status, 413);
}

TEST_P(http_server, answers_500_when_a_handler_throws) {
    std::atomic<int> told{0};
    start({.on_error = [&](http::request const& q, std::exception_ptr e) {
        try {
            std::rethrow_exception(e);
        } catch (std::runtime_error const& x) {
            told += std::string(x.what()) == "ouch" && q.target() == "/throw";
        } catch (...) {
            ++told;
        }
    }});
    auto c = connect();
    EXPECT_EQ(c.ask(get("/throw")).status, 500);
    EXPECT_EQ(c.ask(get("/throw_int")).status, 500);
    EXPECT_EQ(c.ask(get("/status/7")).status, 500);
    EXPECT_EQ(c.ask(get("/users/1")).body, "1");
    EXPECT_EQ(told, 3);
}

TEST_P(http_server, logs_one_line_when_a_handler_throws) {
    start();
    testing::internal::CaptureStderr();
    auto c = connect();
    c.ask(get("/throw"));
    c.ask(get("/users/1"));
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "weft: http: GET /throw: ouch\n");
}

TEST_P(http_server, shrugs_off_a_reset) {
    start();
    testing::internal::CaptureStderr();
    auto neighbour = connect();
    neighbour.ask(get("/"));
    for (std::string_view before : {"", "GET / HT", "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc"}) {
        auto c = connect();
        c.send(before);
        c.reset();
    }
    auto in_handler = connect();
    in_handler.send(get("/wait"));
    ASSERT_TRUE(test::eventually([&] { return waiting == 1; }));
    in_handler.reset();
    open = true;
    EXPECT_EQ(neighbour.ask(get("/users/1")).body, "1");
    stop();
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_P(http_server, names_the_endpoint_of_a_busy_port) {
    start();
    rt.run([&] {
        http::server second;
        try {
            second.listen(app.local());
            ADD_FAILURE() << "listened twice";
        } catch (std::system_error const& e) {
            EXPECT_EQ(e.code(), std::errc::address_in_use);
            EXPECT_NE(std::string(e.what()).find("127.0.0.1:" + std::to_string(app.local().port)), std::string::npos) << e.what();
        }
    });
}

TEST_P(http_server, refuses_misuse) {
    rt.run([&] {
        http::server idle;
        EXPECT_THROW(idle.serve(), std::logic_error);
        EXPECT_THROW(static_cast<void>(idle.local()), std::logic_error);
        EXPECT_THROW(idle.listen({.host = "127.0.0.1", .port = 0}, {.max_connections = 0}), std::invalid_argument);
        idle.listen({.host = "127.0.0.1", .port = 0});
        EXPECT_THROW(idle.listen({.host = "127.0.0.1", .port = 0}), std::logic_error);
    });
}

TEST_P(http_server, lets_connections_beyond_the_limit_wait) {
    start({.max_connections = 2});
    auto first = connect(), second = connect();
    EXPECT_EQ(first.ask(get("/")).status, 200);
    EXPECT_EQ(second.ask(get("/")).status, 200);
    auto third = connect();                                        // the kernel's backlog takes it
    third.send(get("/users/3"));
    EXPECT_TRUE(third.silent_for(30));
    first.reset();
    EXPECT_EQ(third.receive().body, "3");
    EXPECT_EQ(second.ask(get("/")).status, 200);
}

TEST_P(http_server, stress_many_clients_get_their_own_answers) {
    start();
    const test::seed seed;
    constexpr unsigned clients = 8;
    std::atomic<unsigned> wrong{0};
    std::vector<std::thread> threads;
    for (unsigned who = 0; who < clients; ++who)
        threads.emplace_back([&, who] {
            auto random = seed.of(who);
            for (int connection = 0; connection < 4; ++connection) {
                auto c = connect();
                for (int burst = 0; burst < 20; ++burst) {
                    const unsigned depth = 1 + test::below(random, 8);
                    std::string requests;
                    std::vector<std::string> expected;
                    for (unsigned i = 0; i < depth; ++i) {
                        const bool large = test::below(random, 20) == 0;
                        expected.push_back(large ? std::string(30000, 'x') : std::to_string(random()));
                        requests += large ? get("/large/30000") : get("/users/" + expected.back());
                    }
                    for (std::string_view rest = requests; !rest.empty();) {
                        const auto n = std::min<std::size_t>(1 + test::below(random, 200), rest.size());
                        c.send(rest.substr(0, n));
                        rest.remove_prefix(n);
                    }
                    for (const auto& e : expected) wrong += c.receive().body != e;
                }
                if (test::below(random, 2)) c.reset();
            }
        });
    for (auto& t : threads) t.join();
    EXPECT_EQ(wrong, 0u);
}

}  // namespace
