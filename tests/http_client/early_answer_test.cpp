// early_answer_test.cpp - servers that answer before they have the whole body, which is longer than they take at once.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <weft/explore.hpp>

#include "http_client/support/in_memory.hpp"
#include "http_client/support/scripted.hpp"

namespace {

using namespace weft;
using namespace std::chrono_literals;
using test::ok;
using test::require;
using test::server_in_memory;
using test::take;
using test::with_end;

constexpr std::size_t much = 1'000'000;  // more than a simulated connection holds

void take_head(io::byte_stream& from) { take(from, "\r\n\r\n", 1, 0s); }

TEST(http_client_early_answer, a_refusal_does_not_wait_for_the_body) {
    explore(20, [] {
        server_in_memory server([](io::byte_stream& s) {
            take_head(s);
            s.write_all("HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nno!");
            this_fiber::sleep_for(1h);  // it neither takes the body nor closes
        });
        http::client client(server.options(10s));
        const auto begin = weft::now();
        const auto a = client.post("http://server/", std::string(much, 'x'));
        require(a.status == 413 && a.body == "no!", "another answer");
        require(weft::now() - begin < 1s, "it has waited for the body");
        require(client.connections().idle == 0, "a connection is kept in the middle of a body");
    });
}

TEST(http_client_early_answer, an_echo_is_read_while_the_body_is_sent) {
    explore(20, [] {
        server_in_memory server([](io::byte_stream& s) {
            take_head(s);
            s.write_all("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(much) + "\r\n\r\n");
            std::vector<std::byte> some(3000);
            for (std::size_t n = 0, got = 0; got < much; got += n) {
                n = s.read_some(some);
                s.write_all(std::span<const std::byte>(some).first(n));
            }
            this_fiber::sleep_for(1h);
        });
        http::client client(server.options(10s));
        std::string body(much, ' ');
        for (std::size_t i = 0; i < much; ++i) body[i] = static_cast<char>('a' + i % 23);
        require(client.post("http://server/", body).body == body, "another echo");
        require(client.connections().idle == 1, "the connection is not kept");
    });
}

TEST(http_client_early_answer, an_accepted_body_is_sent_to_its_end) {
    explore(20, [] {
        bool has_come = false;
        server_in_memory server([&](io::byte_stream& s) {
            take_head(s);
            s.write_all(ok("accepted"));
            take(s, "the end", 10000, 10ms);
            has_come = true;
            this_fiber::sleep_for(1h);
        });
        http::client client(server.options(10s));
        require(client.post("http://server/", with_end(much)).body == "accepted", "another answer");
        this_fiber::sleep_for(10s);  // for what is on its way
        require(has_come, "a part of the body was not sent");
    });
}

TEST(http_client_early_answer, a_redirect_leaves_the_body_that_is_not_wanted) {
    explore(20, [] {
        server_in_memory server([](io::byte_stream& s) {
            std::string head(1, ' ');
            s.read_some(std::as_writable_bytes(std::span(head.data(), 1)));
            take_head(s);
            if (head == "P") {
                s.write_all("HTTP/1.1 303 See Other\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n");
                this_fiber::sleep_for(1h);
            }
            s.write_all(ok("there"));
            this_fiber::sleep_for(1h);
        });
        http::client client(server.options(10s));
        const auto a = client.post("http://server/", std::string(much, 'x'));
        require(a.body == "there" && a.redirects == 1, "another answer");
    });
}

TEST(http_client_early_answer, limits_hold_for_a_body_that_is_not_taken) {
    explore(20, [] {
        server_in_memory server([](io::byte_stream& s) {
            take_head(s);
            s.write_all("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes");
            this_fiber::sleep_for(1h);
        });
        http::client client(server.options(10s));
        const auto begin = weft::now();
        try {
            client.send("POST", "http://server/", std::string(much, 'x'), {.timeout = 2s});
            require(false, "a body that was not taken");
        } catch (const http::client_error& e) {
            require(e.code() == std::errc::timed_out && e.was_sent(), e.what());
        }
        require(weft::now() - begin < 3s, "too late");
        // Without a limit of the request the silence of the server ends the body, but the answer is there.
        require(client.post("http://server/", std::string(much, 'x')).body == "yes", "another answer");
        require(client.connections().busy == 0 && client.connections().idle == 0, "a connection is left");
    });
}

TEST(http_client_early_answer, the_limit_of_the_request_takes_no_answer_that_is_there) {
    explore(20, [] {
        server_in_memory server([](io::byte_stream& s) {
            take_head(s);
            this_fiber::sleep_for(500ms);
            s.write_all("HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nno!");
            this_fiber::sleep_for(1h);
        });
        http::client client(server.options(10s));
        require(client.send("POST", "http://server/", std::string(much, 'x'), {.timeout = 550ms}).body == "no!",
                "another answer");
    });
}

TEST(http_client_early_answer, an_answer_at_the_end_of_the_silence_is_whole_or_late) {
    int answers = 0, late = 0;
    explore(500, [&] {
        server_in_memory server([](io::byte_stream& s) {
            take_head(s);
            this_fiber::sleep_for(10s);
            std::error_code error;
            s.write_all("HTTP/1.1 200 OK\r\nContent-Length: 30000\r\n\r\n" + std::string(10000, 'a'), error);
            s.write_all(std::string(20000, 'a'), error);
            this_fiber::sleep_for(1h);
        });
        http::client client(server.options(10s));
        try {
            require(client.post("http://server/", std::string(much, 'x')).body.size() == 30000, "a part of an answer");
            ++answers;
        } catch (const http::client_error& e) {
            require(e.code() == std::errc::timed_out, e.what());
            ++late;
        }
    });
    EXPECT_GT(answers, 0);
    EXPECT_GT(late, 0);
}

TEST(http_client_early_answer, a_stop_ends_the_sender_too) {
    explore(20, [] {
        server_in_memory server([](io::byte_stream&) { this_fiber::sleep_for(1h); });
        http::client client(server.options(10s));
        auto asking = spawn([&] { client.post("http://server/", std::string(much, 'x')); });
        this_fiber::sleep_for(1s);
        asking.request_stop();
        try {
            asking.join();
            require(false, "an answer from nobody");
        } catch (const fiber_cancelled&) {}
        require(client.connections().busy == 0, "a connection is left");
    });
}

TEST(http_client_early_answer, a_lost_kept_connection_is_tried_again_with_the_whole_body) {
    explore(20, [] {
        int connections = 0;
        server_in_memory server([&](io::byte_stream& s) {
            const bool is_first = ++connections == 1;
            take_head(s);
            if (is_first) {
                s.write_all(ok("first"));
                take_head(s);
                return s.abort();  // in the middle of a body
            }
            take(s, "the end", 10000, 0s);
            s.write_all(ok("again"));
            this_fiber::sleep_for(1h);
        });
        http::client client(server.options(10s));
        require(client.get("http://server/").body == "first", "another answer");
        require(client.put("http://server/", with_end(much)).body == "again", "another answer");
        require(connections == 2, "another number of connections");
    });
}

TEST(http_client_early_answer, in_a_runtime_with_a_limit_no_fiber_is_needed) {
    runtime rt({.workers = 1, .max_fibers = 4});
    rt.run([] {
        const test::scripted server({ok("taken")});  // two fibers; one is this function
        http::client client;                         // one
        EXPECT_EQ(client.post(server.url(), std::string(8 << 20, 'x')).body, "taken");
    });
}

}  // namespace
