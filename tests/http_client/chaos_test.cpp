// chaos_test.cpp - a network that resets, splits and delays as the seed wants: each request has the right
// answer or a named error, and none is done more often than the client may send it.
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <stdexcept>
#include <string>

#include <weft/explore.hpp>
#include <weft/http/client.hpp>
#include <weft/http/server.hpp>
#include <weft/net/simulated_network.hpp>
#include <weft/weft.hpp>

#include "scale.hpp"

namespace {

using namespace weft;
using namespace std::chrono_literals;

void require(bool holds, const std::string& what) {
    if (!holds) throw std::logic_error(what);
}

bool is_named(const std::error_code& e) {
    return e == http::client_errc::closed_early || e == std::errc::connection_reset || e == std::errc::broken_pipe ||
           e == std::errc::bad_file_descriptor;
}

struct counts {
    std::map<std::string, int> done;  // by the number of the request: how often the server has done it
    int right = 0, failed = 0, repeated = 0;
};

/// One request; its number is its path, and what it sends comes back.
void ask(http::client& client, const std::string& method, const std::string& number, counts& all) {
    const std::string body(draw(3) == 0 ? 70000 : draw(200), 'b');
    const bool is_streamed = draw(3) == 0;
    bool is_answered = false;
    try {
        const auto url = "http://shop/" + number;
        std::string text;
        if (is_streamed) {
            auto t = client.open({.method = method, .url = url, .body = http::chunked});
            for (std::string_view rest = body; !rest.empty();) {
                const auto piece = rest.substr(0, 1 + draw(30000));
                if (!t.write(piece)) break;
                rest.remove_prefix(piece.size());
            }
            t.finish();
            text = t.read_all();
        } else {
            text = client.send(method, url, body).body;
        }
        require(text == number + body, method + " " + number + " has another answer");
        is_answered = true;
    } catch (const http::client_error& e) {
        require(is_named(e.code()), e.what());
        ++all.failed;
    }
    const int done = all.done[number];
    const int most = method == "PUT" && !is_streamed ? 2 : 1;
    require(done <= most, method + " " + number + " was done " + std::to_string(done) + " times");
    require(!is_answered || done >= 1, method + " " + number + " was answered and not done");
    all.right += is_answered;
    all.repeated += done > 1;
}

TEST(http_client_chaos, answers_are_right_and_nothing_is_done_too_often) {
    counts sum;
    explore(static_cast<std::uint64_t>(test::scaled(150)), [&] {
        counts all;
        net::simulated_network net({.least_delay = 1ms, .most_delay = 9ms, .split_one_in = 4, .reset_one_in = 15});
        http::server server;
        server.any("/{n}", [&](const http::request& q) {
            ++all.done[q.path("n")];
            return http::text(200, q.path("n") + std::string(q.body()));
        });
        server.listen(net.listen({.host = "shop", .port = 80}), {.on_error = [](auto&, auto) {}, .on_cut_short = [](auto&) {}});
        auto serving = spawn([&] { server.serve(); });
        {
            http::client client({.most_per_host = 3,
                                 .silence_timeout = 1h,
                                 .connect = [&](const net::endpoint& to) -> io::byte_stream { return net.connect("me", to); }});
            with_scope([&](scope& s) {
                for (int f = 0; f < 4; ++f)
                    s.spawn([&, f] {
                        for (int i = 0; i < 6; ++i) ask(client, draw(2) == 0 ? "POST" : "PUT", std::to_string(f * 100 + i), all);
                    });
            });
            require(client.connections().busy == 0, "a connection is still busy");
        }
        server.stop();
        serving.join();
        sum.right += all.right;
        sum.failed += all.failed;
        sum.repeated += all.repeated;
    });
    std::cout << sum.right << " right, " << sum.failed << " failed, " << sum.repeated << " done twice\n";
    EXPECT_GT(sum.right, 0);
    EXPECT_GT(sum.failed, 0);
    EXPECT_GT(sum.repeated, 0);
}

}  // namespace
