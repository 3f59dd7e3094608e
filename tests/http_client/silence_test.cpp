// silence_test.cpp - what counts as the silence of a server: it neither takes nor sends a byte, while it has the turn.
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <vector>

#include <weft/explore.hpp>
#include <weft/http/client.hpp>
#include <weft/net/simulated_network.hpp>

#include "http_client/support/scripted.hpp"

namespace {

using namespace weft;
using namespace std::chrono_literals;
using test::ok;

void require(bool holds, const char* what) {
    if (!holds) throw std::logic_error(what);
}

/// Serves each connection by a function, in a network without time but that of the runtime.
class server_in_memory {
public:
    explicit server_in_memory(std::function<void(net::simulated_stream&)> serve)
        : serve_(std::move(serve)), accepting_(spawn([this] {
              for (;;) serving_.push_back(spawn([this](net::simulated_stream s) { serve_(s); }, listener_.accept()));
          })) {}
    ~server_in_memory() {
        accepting_.request_stop();
        for (auto& f : serving_) f.request_stop();
    }

    http::client_options options(std::chrono::nanoseconds silence) {
        return {.silence_timeout = silence,
                .connect = [this](const net::endpoint& to) -> io::byte_stream { return net_.connect("client", to); }};
    }

private:
    net::simulated_network net_;
    net::simulated_listener listener_ = net_.listen({.host = "server", .port = 80});
    const std::function<void(net::simulated_stream&)> serve_;
    std::vector<fiber<>> serving_;
    fiber<> accepting_;
};

/// Reads up to and including `end`, or until the client leaves, `piece` bytes at most at a time, with a pause before each.
void take(net::simulated_stream& from, std::string_view end, std::size_t piece, std::chrono::nanoseconds pause) {
    std::vector<std::byte> room(piece);
    std::string last;
    std::error_code error;
    while (!last.ends_with(end)) {
        this_fiber::sleep_for(pause);
        const auto n = from.read_some(room, error);
        if (n == 0) return;
        last.append(reinterpret_cast<const char*>(room.data()), n);
        if (last.size() > 1000) last.erase(0, last.size() - 1000);
    }
}

TEST(http_client_silence, a_slow_taker_is_not_silent) {
    explore(3, [] {
        server_in_memory server([](net::simulated_stream& s) {
            take(s, "the end", 10000, 100ms);  // a MB in ten seconds
            s.write_some(ok("taken"));
        });
        http::client client(server.options(1s));
        require(client.post("http://server/", std::string(1000000, 'x') + "the end").body == "taken", "another answer");
    });
}

TEST(http_client_silence, one_that_takes_nothing_is_found_out) {
    explore(3, [] {
        server_in_memory server([](net::simulated_stream&) { this_fiber::sleep_for(1h); });
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
        server_in_memory server([](net::simulated_stream& s) {
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
        server_in_memory server([](net::simulated_stream& s) { take(s, "never", 10000, 0s); });
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
