// stop_race_test.cpp - stop() beside every other call of a server, at any moment of it: pairs of calls from two threads.
#include <weft/http/server.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>

#include "eventually.hpp"
#include "http/support/served.hpp"
#include "random.hpp"

namespace {

using namespace weft;
using namespace std::chrono_literals;
using test::get;

const net::endpoint free_port{.host = "127.0.0.1", .port = 0};

/// Waits so long that the other thread has come to any step of its call.
void dawdle(unsigned turns) {
    for (unsigned i = 0; i < turns; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
}

/// Two calls at once, many times, each time a little shifted against one another. Every round must end by itself.
class http_stop_race : public test::served {
protected:
    /// Each round has a server of its own. `beside` gets it, and a random number.
    template <class Main, class Beside>
    void rounds(int n, Main main, Beside beside) {
        std::atomic<http::server*> target{nullptr};
        std::atomic<bool> over{false};
        std::thread other([&] {
            auto random = seed.of(1);
            while (!over) {
                http::server* const s = target.load();
                if (!s) {
                    std::this_thread::yield();
                    continue;
                }
                dawdle(test::below(random, 40000));
                beside(*s, random());
                target = nullptr;
            }
        });
        for (int i = 0; i < n; ++i) {
            std::optional<http::server> s(std::in_place);
            s->get("/", [&](const http::request&) {
                s->stop(0s);
                return http::text(200, "x");
            });
            main(*s, [&] { target = &*s; });
            while (target != nullptr) std::this_thread::yield();
        }
        over = true;
        other.join();
    }

    const test::seed seed;
};
WEFT_ON_1_2_4_8_WORKERS(http_stop_race);

void stop_it(http::server& s, std::uint64_t) { s.stop(0s); }

TEST_P(http_stop_race, SERVER_LIFE_1_stress_stop_beside_listen_ends_serve) {
    rounds(
        80,
        [&](http::server& s, auto go) {
            rt.run([&] {
                go();
                s.listen(free_port);
                s.serve();                                         // not for ever: the stop is not lost
                EXPECT_NE(s.local().port, 0);
            });
        },
        stop_it);
}

TEST_P(http_stop_race, SERVER_LIFE_1_stress_stop_beside_serve_ends_it) {
    rounds(
        80,
        [&](http::server& s, auto go) {
            rt.run([&] {
                s.listen(free_port);
                go();
                s.serve();
            });
        },
        stop_it);
}

TEST_P(http_stop_race, SERVER_LIFE_1_stress_stop_beside_stop_ends_serve_once) {
    rounds(
        50,
        [&](http::server& s, auto go) {
            auto running = rt.spawn([&] {
                s.listen(free_port);
                s.serve();
            });
            go();
            s.stop(1h);
            running.join();
        },
        [](http::server& s, std::uint64_t r) {
            for (int i = 0; i < 3; ++i) s.stop(std::chrono::seconds(r % 3));
        });
}

TEST_P(http_stop_race, SERVER_LIFE_4_stress_a_server_goes_when_serve_has_returned) {
    std::atomic<unsigned> entered{0};
    auto random = seed.of(2);
    for (int i = 0; i < 100; ++i) {
        std::optional<http::server> s(std::in_place);
        rt.run([&] { s->listen(free_port); });
        std::thread stopper([&, wait = test::below(random, 20000)] {
            dawdle(wait);
            ++entered;
            s->stop(0s);
        });
        rt.run([&] { s->serve(); });
        s.reset();                                                 // although stop() may not have returned
        stopper.join();
    }
    EXPECT_EQ(entered, 100u);
}

TEST_P(http_stop_race, SERVER_LIFE_1_stress_stop_beside_a_handler_that_stops) {
    rounds(
        30,
        [&](http::server& s, auto go) {
            rt.run([&] { s.listen(free_port); });
            auto running = rt.spawn([&] { s.serve(); });
            test::raw_client c(s.local().port);
            c.send(get("/"));
            go();
            const auto r = c.receive();                            // or closed by the stop from outside
            EXPECT_TRUE(r.status == 200 || r.status == 0) << r.status;
            c.half_close();
            running.join();
        },
        stop_it);
}

TEST_P(http_stop_race, stress_local_beside_listen_is_refused_or_right) {
    std::atomic<int> wrong{0};
    rounds(
        50,
        [&](http::server& s, auto go) {
            rt.run([&] {
                go();
                s.listen(free_port);
            });
        },
        [&](http::server& s, std::uint64_t) {
            try {
                wrong += s.local().port == 0;
            } catch (const std::logic_error&) {}
        });
    EXPECT_EQ(wrong, 0);
}

TEST_P(http_stop_race, a_stop_while_listen_looks_a_name_up_is_kept) {
    http::server s;
    auto running = rt.spawn([&] {
        s.listen({.host = "127.1", .port = 0});  // getaddrinfo knows it on every machine
        s.serve();
    });
    s.stop(0s);
    running.join();
}

TEST_P(http_stop_race, a_stop_is_kept_when_listen_fails) {
    http::server s;
    s.stop(0s);
    rt.run([&] {
        EXPECT_THROW(s.listen({.host = "203.0.113.1", .port = 1}), std::system_error);
        EXPECT_THROW(static_cast<void>(s.local()), std::logic_error);
        s.listen(free_port);
        s.serve();
    });
}

TEST_P(http_stop_race, SERVER_LIFE_3_the_grace_of_a_kept_stop_has_begun) {
    start();
    auto c = connect();
    c.send(get("/wait"));
    ASSERT_TRUE(test::eventually([&] { return waiting == 1; }));
    app.stop(1h);
    app.stop(10ms);
    app.stop(1h);                                                  // cannot lengthen it
    serving->join();
    EXPECT_EQ(cancelled_handlers, 1);
}

TEST_P(http_stop_race, only_one_serve_at_a_time) {
    start();
    auto c = connect();
    EXPECT_EQ(c.ask(get("/")).status, 200);                        // so the first one serves
    rt.run([&] { EXPECT_THROW(app.serve(), std::logic_error); });
    EXPECT_EQ(c.ask(get("/")).status, 200);
}

TEST_P(http_stop_race, a_server_whose_serve_was_stopped_serves_again) {
    start();
    serving->request_stop();
    EXPECT_THROW(serving->join(), fiber_cancelled);
    serving = rt.spawn([this] { app.serve(); });
    EXPECT_EQ(connect().ask(get("/")).status, 200);
}

}  // namespace
