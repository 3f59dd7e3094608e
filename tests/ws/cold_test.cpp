// cold_test.cpp - WebSockets whose conversation is made of functions: they hold no fiber while nothing comes.
#include <weft/http/server.hpp>
#include <weft/ws.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <weft/net/tls.hpp>
#include <weft/weft.hpp>

#include "eventually.hpp"
#include "no_leaks.hpp"

namespace {

using namespace weft;
using namespace std::chrono_literals;
using test::eventually_here;

/// A server with clients that are echoed, and can be sent to.
class crowd {
public:
    explicit crowd(http::server_options o = {.cold_after = 5ms}, ws::accept_options with = {}) {
        app.get("/ws", ws::accept(ws::handlers{.on_open = [this](auto&, ws::connection& c) { enter(c); },
                                               .on_message =
                                                   [this](ws::connection& c, ws::message m) {
                                                       ++messages;
                                                       if (m.data == "throw") throw std::runtime_error("ouch");
                                                       if (m.data == "close") {
                                                           c.close(4000);
                                                           return;
                                                       }
                                                       c.send(m);
                                                   },
                                               .on_close = [this](ws::connection& c) { leave(c); }},
                                  with));
        o.on_error = [this](const http::request&, std::exception_ptr) { ++errors; };
        app.listen({.host = "localhost", .port = 0}, std::move(o));
        running = spawn([this] { app.serve(); });
    }
    ~crowd() { stop(5s); }
    void stop(std::chrono::nanoseconds grace) {
        if (!running.joinable()) return;
        app.stop(grace);
        running.join();
    }
    std::string url() const { return "ws://localhost:" + std::to_string(app.local().port) + "/ws"; }
    void to_all(const std::string& text) {
        const std::lock_guard guard(lock);
        for (auto* c : here) c->send(text);
    }

    std::size_t size() {
        const std::lock_guard guard(lock);
        return here.size();
    }
    ws::connection* first() {
        const std::lock_guard guard(lock);
        return *here.begin();
    }

    std::atomic<int> messages = 0, closed = 0, errors = 0;
    http::server app;
    fiber<> running;
    weft::mutex lock;
    std::set<ws::connection*> here;

private:
    void enter(ws::connection& c) {
        const std::lock_guard guard(lock);
        here.insert(&c);
    }
    void leave(ws::connection& c) {
        const std::lock_guard guard(lock);
        EXPECT_EQ(here.erase(&c), 1u);
        ++closed;
    }
};

class ws_cold : public test::on_workers {
protected:
    template <class F>
    void run(F&& f) {
        test::watched_runtime rt(GetParam());
        rt.run([&] { with_timeout(30s, [&] { f(rt); }); });
    }
};
WEFT_ON_1_2_4_8_WORKERS(ws_cold);

TEST_P(ws_cold, a_dump_counts_them_apart_from_http) {
    run([](runtime&) {
        crowd room;
        std::vector<ws::connection> all;
        for (int i = 0; i < 20; ++i) all.push_back(ws::connect(room.url()));
        const auto count_of = [](std::string_view owner) -> std::size_t {
            const auto seen = take_snapshot(stacks::left_out);
            for (const auto& s : seen.runtimes.front().asleep)
                if (s.owner == owner) return s.count;
            return 1'000'000;
        };
        EXPECT_TRUE(eventually_here([&] { return count_of("http::server, upgraded") == 20; }));
        EXPECT_EQ(count_of("http::server"), 0u);
        for (auto& c : all) EXPECT_TRUE(c.close());
        EXPECT_TRUE(eventually_here([&] { return count_of("http::server, upgraded") == 0; }));
    });
}

TEST_P(ws_cold, sleepers_hold_no_fiber_are_sent_to_and_wake) {
    run([](runtime& rt) {
        crowd room;
        std::vector<ws::connection> all;
        for (int i = 0; i < 20; ++i) all.push_back(ws::connect(room.url()));
        // This fiber, serve(), the one that minds the sleepers, the sweep.
        EXPECT_TRUE(eventually_here([&] { return room.size() == 20 && rt.stats().fibers == 4; }));
        for (int round = 0; round < 3; ++round) {
            for (auto& c : all) c.send(std::to_string(round));
            for (auto& c : all) EXPECT_EQ(c.receive()->data, std::to_string(round));
            EXPECT_TRUE(eventually_here([&] { return rt.stats().fibers == 4; }));
            room.to_all("news");
            for (auto& c : all) EXPECT_EQ(c.receive()->data, "news");
        }
        for (auto& c : all) EXPECT_TRUE(c.close());
        EXPECT_TRUE(eventually_here([&] { return room.closed == 20; }));
    });
}

TEST_P(ws_cold, every_end_is_told_once) {
    run([](runtime&) {
        crowd room;
        {
            auto leaving = ws::connect(room.url());  // goes with its destructor
            EXPECT_TRUE(eventually_here([&] { return room.size() == 1; }));
        }
        auto thrown = ws::connect(room.url()), asked = ws::connect(room.url());
        thrown.send("throw");
        EXPECT_FALSE(thrown.receive());
        EXPECT_EQ(thrown.peer_ending().code, 1011);
        asked.send("close");
        EXPECT_FALSE(asked.receive());
        EXPECT_EQ(asked.peer_ending().code, 4000);
        // The failure is told after the end.
        EXPECT_TRUE(eventually_here([&] { return room.closed == 3 && room.errors == 1; }));
        EXPECT_EQ(room.errors, 1);
    });
}

TEST_P(ws_cold, another_fiber_closes_a_sleeper) {
    run([](runtime& rt) {
        crowd room;
        auto c = ws::connect(room.url());
        EXPECT_TRUE(eventually_here([&] { return room.size() == 1 && rt.stats().fibers == 4; }));
        auto closing = spawn([&] { return room.first()->close(4001); });
        EXPECT_FALSE(c.receive());
        EXPECT_EQ(c.peer_ending().code, 4001);
        EXPECT_TRUE(closing.join());
        EXPECT_TRUE(eventually_here([&] { return room.closed == 1; }));
    });
}

TEST_P(ws_cold, a_stop_wakes_the_sleepers_and_says_1001) {
    run([](runtime&) {
        crowd room;
        std::vector<fiber<>> all;
        std::atomic<int> open = 0, told = 0;
        for (int i = 0; i < 20; ++i)
            all.push_back(spawn([&] {
                auto c = ws::connect(room.url());
                ++open;
                while (c.receive()) {}
                told += c.peer_ending().code == ws::close_code::going_away;
            }));
        EXPECT_TRUE(eventually_here([&] { return open == 20 && room.size() == 20; }));
        room.stop(20s);
        for (auto& f : all) f.join();
        EXPECT_EQ(told, 20);
        EXPECT_EQ(room.closed, 20);
    });
}

TEST_P(ws_cold, silent_sleepers_are_pinged_and_given_up) {
    run([](runtime&) {
        crowd room({.cold_after = 5ms}, {.ping = 400ms});
        auto awake = ws::connect(room.url()), silent = ws::connect(room.url());  // one answers pings, since it receives
        auto receiving = spawn([&] { return awake.receive()->data; });
        EXPECT_TRUE(eventually_here([&] { return room.closed == 1; }));
        this_fiber::sleep_for(600ms);
        EXPECT_EQ(room.closed, 1);
        awake.send("still here");
        EXPECT_EQ(receiving.join(), "still here");
    });
}

TEST_P(ws_cold, works_over_TLS) {
    run([](runtime&) {
        const auto own = tls::self_signed({"localhost"});
        const tls::context server({.certificate_chain = own.certificate, .private_key = own.key});
        const tls::context client({.ca = own.certificate});
        crowd room({.cold_after = 5ms, .tls = &server});
        auto c = ws::connect("wss" + room.url().substr(2), {.tls = &client});
        for (int i = 0; i < 3; ++i) {
            this_fiber::sleep_for(15ms);
            c.send("hi");
            EXPECT_EQ(c.receive()->data, "hi");
            EXPECT_EQ(room.size(), 1u);
            room.to_all("news");
            EXPECT_EQ(c.receive()->data, "news");
        }
        EXPECT_TRUE(c.close());
        EXPECT_TRUE(eventually_here([&] { return room.closed == 1; }));
    });
}

}  // namespace
