// server_test.cpp - weft's client and server of WebSockets together: over TCP, TLS and a simulated network, and while the server stops.
#include <weft/http/server.hpp>
#include <weft/ws.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <weft/explore.hpp>
#include <weft/net/simulated_network.hpp>
#include <weft/net/tls.hpp>
#include <weft/weft.hpp>

#include "eventually.hpp"
#include "no_leaks.hpp"
#include "random.hpp"
#include "ws/support/raw_peer.hpp"

namespace {

using namespace weft;
using namespace std::chrono_literals;
using test::echo;

/// An HTTP server that serves until the end of the block.
class serving {
public:
    serving(ws::conversation talk, http::server_options o = {}, ws::accept_options with = {.deflate = true}) {
        app.get("/ws", ws::accept(std::move(talk), std::move(with)));
        app.get("/page", [](auto&) { return http::text(200, "page"); });
        app.listen({.host = "127.0.0.1", .port = 0}, std::move(o));
        running = spawn([this] { app.serve(); });
    }
    ~serving() { stop(1s); }
    void stop(std::chrono::nanoseconds grace) {
        if (!running.joinable()) return;
        app.stop(grace);
        running.join();
    }
    std::string url(std::string_view scheme = "ws") const {
        return std::string(scheme) + "://localhost:" + std::to_string(app.local().port) + "/ws";
    }

    http::server app;
    fiber<> running;
};

class ws_server : public test::on_workers {
protected:
    template <class F>
    void run(F&& f) {
        test::watched_runtime rt(GetParam());
        rt.run([&] { with_timeout(30s, f); });
    }
};
WEFT_ON_1_2_4_8_WORKERS(ws_server);

void exchange(ws::connection& c) {
    c.send("hello");
    EXPECT_EQ(c.receive()->data, "hello");
    const std::string large(300000, 'x');
    c.send(std::as_bytes(std::span(large)));
    const auto back = c.receive();
    EXPECT_EQ(back->kind, ws::kind::binary);
    EXPECT_EQ(back->data, large);
    EXPECT_TRUE(c.close(4000, "bye"));
    EXPECT_EQ(c.peer_ending().code, 4000);
    EXPECT_FALSE(c.receive());
}

TEST_P(ws_server, talks_with_weft_over_TCP) {
    run([] {
        serving s(echo);
        for (const bool deflate : {false, true}) {
            auto c = ws::connect(s.url(), {.deflate = deflate});
            EXPECT_EQ(c.is_compressed(), deflate);
            exchange(c);
        }
        EXPECT_THROW(ws::connect(s.url() + "/nowhere"), std::system_error);
    });
}

TEST_P(ws_server, talks_with_weft_over_TLS) {
    run([] {
        const auto own = tls::self_signed({"localhost"});
        const tls::context server({.certificate_chain = own.certificate, .private_key = own.key});
        const tls::context client({.ca = own.certificate});
        serving s(echo, {.tls = &server});
        auto c = ws::connect(s.url("wss"), {.tls = &client, .deflate = true});
        exchange(c);
        auto other = ws::connect(s.url("wss"), {.tls = &client});
        auto receiving = spawn([&] { EXPECT_FALSE(other.receive()); });
        s.stop(10s);
        receiving.join();
        EXPECT_EQ(other.peer_ending().code, ws::close_code::going_away);
    });
}

TEST_P(ws_server, sends_1001_to_all_when_it_stops_and_waits_for_their_answers) {
    run([] {
        std::atomic<int> empty = 0;
        serving s([&](const http::request&, ws::connection& c) {
            while (c.receive()) {}
            ++empty;
        });
        constexpr int clients = 50;
        std::vector<fiber<>> all;
        std::atomic<int> open = 0, told = 0;
        for (int i = 0; i < clients; ++i)
            all.push_back(spawn([&] {
                auto c = ws::connect(s.url());
                ++open;
                while (c.receive()) {}
                if (c.peer_ending().code == ws::close_code::going_away) ++told;
            }));
        while (open < clients) this_fiber::sleep_for(1ms);
        const auto begin = std::chrono::steady_clock::now();
        s.stop(20s);
        EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
        for (auto& f : all) f.join();
        EXPECT_EQ(told, clients);
        EXPECT_EQ(empty, clients);
    });
}

TEST_P(ws_server, cuts_off_at_the_end_of_the_grace_what_does_not_close) {
    run([] {
        std::atomic<int> cancelled_ones = 0;
        std::atomic<bool> open = false;
        serving s([&](const http::request&, ws::connection& c) {
            open = true;
            try {
                c.receive();
            } catch (const cancelled&) {
                ++cancelled_ones;
                throw;
            }
        });
        auto silent = tcp::stream::connect(s.app.local());
        silent.write_all(
            "GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
        while (!open) this_fiber::sleep_for(1ms);
        s.stop(30ms);
        EXPECT_EQ(cancelled_ones, 1);
    });
}

TEST_P(ws_server, the_connection_is_counted_and_other_routes_go_on) {
    run([] {
        serving s(echo, {.max_connections = 2});
        auto c = ws::connect(s.url());
        auto page = tcp::stream::connect(s.app.local());
        page.write_all("GET /page HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        std::string got(15, '\0');
        page.read_exact(std::as_writable_bytes(std::span(got)));
        EXPECT_EQ(got, "HTTP/1.1 200 OK");
        c.send("still");
        EXPECT_EQ(c.receive()->data, "still");
    });
}

/// Peers that send, close, vanish and are cancelled at random, while many fibers write on each WebSocket.
void storm(const std::function<ws::connection(bool deflate)>& connect, const test::seed& seed, int peers, int messages) {
    std::atomic<int> whole = 0;
    with_scope({.on_failure = on_failure::report}, [&](scope& all) {
        for (int p = 0; p < peers; ++p)
            all.spawn([&, p] {
                auto random = seed.of(static_cast<std::uint64_t>(p));
                try {
                    auto c = connect(test::below(random, 2) == 0);
                    const int writers = 1 + static_cast<int>(test::below(random, 4));
                    const bool is_cut = test::below(random, 4) == 0;
                    with_scope([&](scope& mine) {
                        for (int w = 0; w < writers; ++w)
                            mine.spawn([&, w, mix = seed.of(static_cast<std::uint64_t>(1000 + p * 10 + w))]() mutable {
                                for (int i = 0; i < messages; ++i) {
                                    const std::string text(test::below(mix, test::below(mix, 8) == 0 ? 20000 : 100),
                                                           static_cast<char>('a' + w));
                                    try {
                                        if (test::below(mix, 16) == 0)
                                            with_timeout(test::up_to(mix, 200us), [&] { c.send(text); });
                                        else
                                            c.send(text);
                                        if (test::below(mix, 16) == 0) c.ping("x");
                                    } catch (const timeout_error&) {
                                    } catch (const std::system_error&) {
                                        return;
                                    }
                                }
                            });
                        mine.spawn([&] {
                            const int most = is_cut ? static_cast<int>(test::below(random, 30)) : writers * messages / 2;
                            int got = 0;
                            try {
                                while (got < most)
                                    if (const auto m = with_timeout(50ms, [&] { return c.receive(); })) {
                                        ++got;
                                        for (char l : m->data) ASSERT_EQ(l, m->data.front());
                                    }
                            } catch (const timeout_error&) {
                            } catch (const std::system_error&) {}
                            if (is_cut) mine.request_stop();
                        });
                    });
                    if (!is_cut && c.close()) ++whole;
                } catch (const std::system_error& e) {
                    if (&e.code().category() == &ws::error_category()) ADD_FAILURE() << e.what();
                }
            });
    });
    EXPECT_GT(whole, 0);
}

TEST_P(ws_server, LINK_stress_many_writers_closes_and_cancels_over_TCP) {
    const test::seed seed;
    run([&] {
        serving s(echo, {}, {.deflate = true, .compression = {.takeover = true}});
        storm([&](bool deflate) { return ws::connect(s.url(), {.deflate = deflate, .compression = {.takeover = true}}); }, seed,
              12, 60);
    });
}

/// A chat of three, over a network that splits what is sent, and is simulated, so that all orders of a seed repeat.
void chat_simulated() {
    net::simulated_network net({.least_delay = 1ms, .most_delay = 40ms, .split_one_in = 3});
    const net::endpoint room{.host = "room", .port = 80};
    http::server app;
    std::vector<ws::connection*> here;
    app.get("/ws", ws::accept([&](const http::request&, ws::connection& c) {
                here.push_back(&c);
                while (const auto m = c.receive())
                    for (auto* other : here) other->send(*m);
                std::erase(here, &c);
            }));
    app.listen(net.listen(room));
    auto serving_room = spawn([&] { app.serve(); });
    int heard = 0;
    latch joined(3);
    with_scope([&](scope& all) {
        for (int i = 0; i < 3; ++i)
            all.spawn([&, i] {
                ws::connect_options o;
                o.connect = [&](const net::endpoint& at) { return net.connect("guest", at); };
                auto c = ws::connect("ws://room/ws", std::move(o));
                joined.arrive_and_wait();
                this_fiber::sleep_for(200ms);  // all of them are in `here`
                c.send(std::to_string(i));
                for (int n = 0; n < 3; ++n)
                    if (c.receive()) ++heard;
                this_fiber::sleep_for(200ms);
                if (!c.close()) throw std::logic_error("no answer to a close");
            });
    });
    app.stop(10s);
    serving_room.join();
    if (heard != 9) throw std::logic_error("heard " + std::to_string(heard));
}

TEST(ws_simulated, a_chat_is_complete_in_every_order) {
    const auto found = find_failure(150, chat_simulated);
    EXPECT_FALSE(found) << found->what;
}

}  // namespace
