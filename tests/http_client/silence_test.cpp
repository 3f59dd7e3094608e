// silence_test.cpp - what counts as the silence of a server: it neither takes nor sends a byte, while it has the turn.
#include <gtest/gtest.h>

#include <string>

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

TEST(http_client_silence, a_slow_taker_is_not_silent) {
    explore(3, [] {
        server_in_memory server([](io::byte_stream& s) {
            take(s, "the end", 10000, 100ms);  // a MB in ten seconds
            s.write_some(ok("taken"));
        });
        http::client client(server.options(1s));
        require(client.post("http://server/", with_end(1000000)).body == "taken", "another answer");
    });
}

TEST(http_client_silence, one_that_takes_nothing_is_found_out) {
    explore(3, [] {
        server_in_memory server([](io::byte_stream&) { this_fiber::sleep_for(1h); });
        http::client client(server.options(1s));
        const auto begin = weft::now();
        try {
            client.post("http://server/", std::string(1000000, 'x'));
            require(false, "an answer from nobody");
        } catch (const http::client_error& e) {
            require(e.code() == std::errc::timed_out &&
                        std::string(e.what()).find("sending stands still for 1 s") != std::string::npos,
                    e.what());
        }
        require(weft::now() - begin < 3s, "too late");
    });
}

TEST(http_client_silence, no_answer_is_due_while_the_request_is_sent) {
    explore(3, [] {
        server_in_memory server([](io::byte_stream& s) {
            take(s, "\r\n0\r\n\r\n", 10000, 0s);
            this_fiber::sleep_for(900ms);
            s.write_some(ok("late"));
        });
        http::client client(server.options(1s));
        auto t = client.open({.method = "POST", .url = "http://server/", .body = http::chunked});
        auto reader = spawn([&] { return t.read_all(); });
        for (int i = 0; i < 10; ++i) {
            this_fiber::sleep_for(400ms);
            t.write("x");
            t.flush();
        }
        this_fiber::sleep_for(400ms);
        t.finish();
        require(reader.join() == "late", "another answer");
    });
}

TEST(http_client_silence, an_answer_is_due_when_nothing_more_is_sent) {
    explore(3, [] {
        server_in_memory server([](io::byte_stream& s) { take(s, "never", 10000, 0s); });
        http::client client(server.options(1s));
        for (const bool is_whole : {true, false}) {
            auto t = client.open({.method = "POST", .url = "http://server/", .body = http::chunked});
            t.write("x");
            if (is_whole)
                t.finish();
            else
                t.flush();
            const auto begin = weft::now();
            try {
                t.head();
                require(false, "an answer from nobody");
            } catch (const http::client_error& e) {
                require(e.code() == std::errc::timed_out &&
                            std::string(e.what()).find("receiving stands still for 1 s") != std::string::npos,
                        e.what());
            }
            require(weft::now() - begin < 3s, "too late");
        }
    });
}

}  // namespace
