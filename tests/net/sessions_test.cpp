// sessions_test.cpp - a server whose silent sessions hold no fiber: each keeps its state, none is lost, and a stop ends all.
#include <weft/net/sessions.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <weft/explore.hpp>
#include <weft/net/simulated_network.hpp>
#include <weft/net/tcp.hpp>
#include <weft/weft.hpp>

#include "eventually.hpp"
#include "no_leaks.hpp"
#include "random.hpp"
#include "scale.hpp"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

/// How many lines a session has seen.
struct lines_seen {
    int count = 0;
};

/// Answers each line by its number in this session; "end" ends it, and "fail" throws.
void number_lines(tcp::session& s) {
    std::array<std::byte, 100> room;
    while (const auto n = s.read_first(room)) {
        std::string text(reinterpret_cast<const char*>(room.data()), n);
        while (!text.ends_with('\n')) {
            const auto more = s.stream().read_some(room);
            if (more == 0) return;
            text.append(reinterpret_cast<const char*>(room.data()), more);
        }
        if (text == "end\n") return;
        if (text == "fail\n") throw std::runtime_error("a session that fails");
        s.stream().write_all(std::to_string(++s.state<lines_seen>().count) + "\n");
    }
}

class tcp_sessions : public on_workers {
protected:
    tcp_sessions() : rt(GetParam()) {}

    /// A server that runs while `body` does.
    template <class Body>
    void with_server(tcp::sessions::handler handler, tcp::session_options o, const Body& body) {
        rt.run([&] {
            tcp::sessions server(std::move(handler), o);
            tcp::listener port({.host = "127.0.0.1", .port = 0});
            const auto at = port.local();
            auto serving = spawn([&, p = std::move(port)]() mutable { server.serve(std::move(p)); });
            body(server, at);
            server.stop(5s);
            serving.join();
            EXPECT_EQ(server.size(), 0u);
            EXPECT_EQ(server.asleep(), 0u);
        });
    }

    static std::string ask(tcp::stream& c, std::string_view line) {
        c.write_all(line);
        return c.read_until('\n', 100);
    }

    watched_runtime rt;
};
WEFT_ON_1_2_4_8_WORKERS(tcp_sessions);

TEST_P(tcp_sessions, that_are_silent_fall_asleep_and_keep_their_state) {
    with_server(number_lines, {.cold_after = 5ms}, [](tcp::sessions& server, const net::endpoint& at) {
        auto one = tcp::stream::connect(at), two = tcp::stream::connect(at);
        for (int round = 1; round <= 3; ++round) {
            EXPECT_EQ(ask(one, "a\n"), std::to_string(round) + "\n");
            if (round == 2) {
                EXPECT_EQ(ask(two, "a\n"), "1\n");
            }
            EXPECT_TRUE(eventually_here([&] { return server.asleep() == 2; }));
            EXPECT_EQ(server.size(), 2u);
        }
        EXPECT_EQ(ask(two, "a\n"), "2\n");
    });
}

TEST_P(tcp_sessions, that_are_asleep_end_when_their_peer_leaves) {
    with_server(number_lines, {.cold_after = 5ms}, [](tcp::sessions& server, const net::endpoint& at) {
        auto one = tcp::stream::connect(at), two = tcp::stream::connect(at), three = tcp::stream::connect(at);
        EXPECT_TRUE(eventually_here([&] { return server.asleep() == 3; }));
        one.close();
        two.abort();
        EXPECT_TRUE(eventually_here([&] { return server.size() == 1; }));
        three.write_all("end\n");
        EXPECT_TRUE(three.read_until('\n', 10).empty());
        EXPECT_TRUE(eventually_here([&] { return server.size() == 0; }));
    });
}

TEST(tcp_sessions_asleep, are_counted_by_a_dump_with_the_longest_sleep_and_the_address) {
    weft::run(
        [] {
            net::simulated_network net;
            auto port = net.listen({.host = "server", .port = 7});
            tcp::sessions server(number_lines, {.cold_after = 1s});
            auto serving = spawn([&] { server.serve(std::move(port)); });
            const auto first = net.connect("client", {.host = "server", .port = 7});
            const auto second = net.connect("client", {.host = "server", .port = 7});
            this_fiber::sleep_for(40s);

            const auto all = take_snapshot(stacks::left_out);
            ASSERT_EQ(all.runtimes.size(), 1u);
            ASSERT_EQ(all.runtimes.front().asleep.size(), 1u);
            const auto& seen = all.runtimes.front().asleep.front();
            EXPECT_EQ(seen.owner, "tcp::sessions");
            EXPECT_EQ(seen.address, "server:7");
            EXPECT_EQ(seen.count, 2u);
            ASSERT_TRUE(seen.longest);
            EXPECT_GE(*seen.longest, 38s);
            EXPECT_LE(*seen.longest, 39s + 10ms) << "cold_after comes first";

            std::ostringstream text, json;
            dump(text, {.stacks = stacks::left_out});
            dump(json, {.format = dump_format::json, .stacks = stacks::left_out});
            EXPECT_NE(text.str().find("connections without a fiber: 2 of tcp::sessions at server:7, the longest for 3"),
                      std::string::npos)
                << text.str();
            EXPECT_NE(json.str().find(R"("asleep":[{"owner":"tcp::sessions","address":"server:7","count":2,"longest_ms":3)"),
                      std::string::npos)
                << json.str();

            server.stop(1s);
            serving.join();
            EXPECT_TRUE(take_snapshot(stacks::left_out).runtimes.front().asleep.empty()) << "nothing is served any more";
        },
        {.simulate = simulation{.seed = 1}});
}

TEST_P(tcp_sessions, that_are_busy_do_not_fall_asleep) {
    std::atomic<int> calls{0};
    with_server(
        [&](tcp::session& s) {
            ++calls;
            number_lines(s);
        },
        {.cold_after = 5ms},
        [&](tcp::sessions& server, const net::endpoint& at) {
            auto c = tcp::stream::connect(at);
            c.write_all("half a ");
            this_fiber::sleep_for(30ms);
            EXPECT_EQ(server.asleep(), 0u) << "its handler holds half a line";
            EXPECT_EQ(ask(c, "line\n"), "1\n");
        });
}

TEST_P(tcp_sessions, end_after_idle_timeout_asleep_or_not) {
    for (const auto cold : {std::chrono::nanoseconds(5ms), std::chrono::nanoseconds(1h)})
        with_server(number_lines, {.cold_after = cold, .idle_timeout = 30ms}, [](tcp::sessions&, const net::endpoint& at) {
            auto c = tcp::stream::connect(at);
            EXPECT_EQ(ask(c, "a\n"), "1\n");
            EXPECT_TRUE(c.read_until('\n', 10).empty()) << "closed in good order";
        });
}

TEST_P(tcp_sessions, a_handler_that_fails_ends_its_session_only) {
    std::atomic<int> failures{0};
    runtime_options o{.workers = GetParam()};
    o.on_unhandled = [&](const fiber_info&, std::exception_ptr) { ++failures; };
    runtime other(o);
    other.run([&] {
        tcp::sessions server(number_lines, {.cold_after = 5ms});
        tcp::listener port({.host = "127.0.0.1", .port = 0});
        const auto at = port.local();
        auto serving = spawn([&, p = std::move(port)]() mutable { server.serve(std::move(p)); });
        auto one = tcp::stream::connect(at), two = tcp::stream::connect(at);
        EXPECT_EQ(ask(two, "a\n"), "1\n");
        EXPECT_TRUE(eventually_here([&] { return server.asleep() == 2; }));
        one.write_all("fail\n");
        EXPECT_TRUE(one.read_until('\n', 10).empty());
        EXPECT_EQ(ask(two, "a\n"), "2\n");
        server.stop(5s);
        serving.join();
    });
    EXPECT_EQ(failures, 1);
}

TEST_P(tcp_sessions, a_limit_of_the_handler_is_not_sleep) {
    std::atomic<int> calls{0};
    with_server(
        [&](tcp::session& s) {
            ++calls;
            std::array<std::byte, 10> room;
            try {
                with_timeout(5ms, [&] { s.read_first(room); });
                ADD_FAILURE() << "nothing was sent";
            } catch (const timeout_error&) {
                s.stream().write_all("too slow\n");
            }
        },
        {.cold_after = 1h},
        [&](tcp::sessions&, const net::endpoint& at) {
            auto c = tcp::stream::connect(at);
            EXPECT_EQ(c.read_until('\n', 100), "too slow\n");
            EXPECT_TRUE(c.read_until('\n', 100).empty());
        });
    EXPECT_EQ(calls, 1);
}

TEST_P(tcp_sessions, a_stop_ends_those_asleep_and_those_at_work_after_the_grace) {
    std::atomic<int> cancelled_ones{0};
    rt.run([&] {
        tcp::sessions server(
            [&](tcp::session& s) {
                std::array<std::byte, 10> room;
                while (const auto n = s.read_first(room)) {
                    s.stream().write_all(std::span(room).first(n));
                    if (room[0] != std::byte('w')) continue;
                    try {
                        this_fiber::sleep_for(1h);
                    } catch (const cancelled&) {
                        ++cancelled_ones;
                        throw;
                    }
                }
            },
            {.cold_after = 5ms});
        tcp::listener port({.host = "127.0.0.1", .port = 0});
        const auto at = port.local();
        auto serving = spawn([&, p = std::move(port)]() mutable { server.serve(std::move(p)); });
        std::vector<tcp::stream> clients;
        for (int i = 0; i < 10; ++i) clients.push_back(tcp::stream::connect(at));
        EXPECT_EQ(ask(clients[0], "w\n"), "w\n");
        EXPECT_TRUE(eventually_here([&] { return server.asleep() == 9; }));
        server.stop(1h);
        EXPECT_TRUE(eventually_here([&] { return server.size() == 1; })) << "the sleeping ones";
        EXPECT_THROW(tcp::stream::connect(at), std::system_error);
        server.stop(10ms);
        serving.join();
        EXPECT_EQ(cancelled_ones, 1);
        for (auto& c : clients) EXPECT_TRUE(c.read_until('\n', 10).empty());
        EXPECT_THROW(server.serve(tcp::listener({.host = "127.0.0.1", .port = 0})), std::logic_error);
    });
}

TEST_P(tcp_sessions, SESSION_SERVER_4_a_stop_ends_a_first_read_that_has_a_fiber_at_once) {
    rt.run([] {
        for (const std::chrono::nanoseconds limit : {std::chrono::nanoseconds(1h), std::chrono::nanoseconds(no_limit)}) {
            tcp::sessions server(number_lines, {.cold_after = limit});
            tcp::listener port({.host = "127.0.0.1", .port = 0});
            const auto at = port.local();
            auto serving = spawn([&, p = std::move(port)]() mutable { server.serve(std::move(p)); });
            auto used = tcp::stream::connect(at), silent = tcp::stream::connect(at);
            EXPECT_EQ(ask(used, "a\n"), "1\n");
            EXPECT_TRUE(eventually([&] { return server.size() == 2; }));
            const auto begin = std::chrono::steady_clock::now();
            server.stop(1h);
            serving.join();
            EXPECT_LT(std::chrono::steady_clock::now() - begin, 1min) << "it has waited for the grace";
            std::array<std::byte, 1> room;
            EXPECT_EQ(used.read_some(room), 0u);
            EXPECT_EQ(silent.read_some(room), 0u);
        }
    });
}

TEST_P(tcp_sessions, after_a_second_a_sweep_sends_them_to_sleep_or_ends_them) {
    for (const bool ends : {false, true}) {
        const tcp::session_options o = ends ? tcp::session_options{.cold_after = 1h, .idle_timeout = 1s} : tcp::session_options{};
        with_server(number_lines, o, [&](tcp::sessions& server, const net::endpoint& at) {
            auto c = tcp::stream::connect(at);
            EXPECT_EQ(ask(c, "a\n"), "1\n");
            const auto begin = std::chrono::steady_clock::now();
            EXPECT_TRUE(eventually([&] { return ends ? server.size() == 0 : server.asleep() == 1; }));
            EXPECT_GE(std::chrono::steady_clock::now() - begin, 900ms);
            if (!ends) {
                EXPECT_EQ(ask(c, "a\n"), "2\n");
            }
        });
    }
}

/// The readiness of a stream that is larger than its place.
class far_readiness final : public detail::select_watch {
public:
    explicit far_readiness(const io::byte_stream& of) : of_(std::make_unique<io::byte_readiness>(of)) {}

    void open() noexcept override { of_->open(); }
    state look() noexcept override { return of_->look(); }
    bool enlist(detail::waiter& w) noexcept override { return of_->enlist(w); }
    void delist(detail::waiter& w) noexcept override { of_->delist(w); }
    detail::time_point ready_at() const noexcept override { return of_->ready_at(); }
    void close() noexcept override { of_->close(); }

private:
    std::unique_ptr<io::byte_readiness> of_;
};

/// A stream around another, as one that encrypts would be: it is no socket.
struct wrapped {
    io::byte_stream under;

    std::size_t read_some(std::span<std::byte> into, std::error_code& error) { return under.read_some(into, error); }
    std::size_t write_some(std::span<const std::byte> from, std::error_code& error) { return under.write_some(from, error); }
    std::size_t read_some(std::span<std::byte> into) { return under.read_some(into); }
    std::size_t write_some(std::span<const std::byte> from) { return under.write_some(from); }
    void wait_readable(std::error_code& error) { under.wait_readable(error); }
    void shutdown(io::side which, std::error_code& error) { under.shutdown(which, error); }
    void close() noexcept { under.close(); }
    bool is_open() const noexcept { return under.is_open(); }
    friend far_readiness watch_readable(const wrapped& w) { return far_readiness(w.under); }
};

TEST_P(tcp_sessions, whose_stream_was_replaced_keep_their_limit) {
    const auto wraps = [](tcp::session& s) {
        s.stream() = wrapped{std::move(s.stream())};
        std::array<std::byte, 10> room;
        while (const auto n = s.read_first(room)) s.stream().write_all(std::span(room).first(n));
    };
    with_server(wraps, {.cold_after = 1h, .idle_timeout = 1s}, [&](tcp::sessions& server, const net::endpoint& at) {
        auto c = tcp::stream::connect(at);
        EXPECT_EQ(ask(c, "a\n"), "a\n");
        const auto begin = std::chrono::steady_clock::now();
        EXPECT_TRUE(eventually([&] { return server.size() == 0; }));
        EXPECT_GE(std::chrono::steady_clock::now() - begin, 900ms);
    });
}

TEST_P(tcp_sessions, SESSION_SERVER_1_a_stop_before_serve_is_kept) {
    rt.run([] {
        tcp::sessions server(number_lines);
        server.stop();
        server.serve(tcp::listener({.host = "127.0.0.1", .port = 0}));
    });
}

TEST_P(tcp_sessions, end_with_the_fiber_that_serves) {
    rt.run([] {
        tcp::sessions server(number_lines, {.cold_after = 5ms});
        tcp::listener port({.host = "127.0.0.1", .port = 0});
        const auto at = port.local();
        auto serving = spawn([&, p = std::move(port)]() mutable { server.serve(std::move(p)); });
        auto one = tcp::stream::connect(at);
        EXPECT_EQ(ask(one, "a\n"), "1\n");
        EXPECT_TRUE(eventually_here([&] { return server.asleep() == 1; }));
        serving.request_stop();
        EXPECT_THROW(serving.join(), fiber_cancelled);
        EXPECT_EQ(server.size(), 0u);
    });
}

TEST_P(tcp_sessions, where_fibers_are_limited_none_falls_asleep) {
    runtime limited({.workers = GetParam(), .max_fibers = 20});
    limited.run([] {
        tcp::sessions server(number_lines, {.cold_after = 1ms});
        tcp::listener port({.host = "127.0.0.1", .port = 0});
        const auto at = port.local();
        auto serving = spawn([&, p = std::move(port)]() mutable { server.serve(std::move(p)); });
        auto one = tcp::stream::connect(at);
        EXPECT_EQ(ask(one, "a\n"), "1\n");
        this_fiber::sleep_for(20ms);
        EXPECT_EQ(server.asleep(), 0u);
        EXPECT_EQ(ask(one, "a\n"), "2\n");
        server.stop();
        serving.join();
    });
}

TEST_P(tcp_sessions, bad_options_and_a_second_type_of_state_are_refused) {
    EXPECT_THROW(tcp::sessions(nullptr), std::invalid_argument);
    EXPECT_THROW(tcp::sessions(number_lines, {.cold_after = 0s}), std::invalid_argument);
    EXPECT_THROW(tcp::sessions(number_lines, {.idle_timeout = -1s}), std::invalid_argument);
    std::atomic<bool> refused{false};
    with_server(
        [&](tcp::session& s) {
            s.state<int>() = 5;
            EXPECT_EQ(s.state<int>(), 5);
            try {
                s.state<lines_seen>();
            } catch (const std::bad_cast&) {
                refused = true;
            }
        },
        {},
        [&](tcp::sessions&, const net::endpoint& at) {
            auto c = tcp::stream::connect(at);
            EXPECT_TRUE(c.read_until('\n', 10).empty());
        });
    EXPECT_TRUE(refused);
}

TEST_P(tcp_sessions, SESSION_SERVER_2_stress_of_sleep_against_words_and_leaving) {
    const seed seed;
    with_server(number_lines, {.cold_after = 1ms}, [&](tcp::sessions& server, const net::endpoint& at) {
        with_scope([&](scope& s) {
            for (unsigned i = 0; i < 16; ++i)
                s.spawn([&, i] {
                    auto draw = seed.of(i);
                    for (int life = 0; life < scaled(50, 5); ++life) {
                        auto c = tcp::stream::connect(at);
                        const auto words = below(draw, 6);
                        for (unsigned n = 1; n <= words; ++n) {
                            EXPECT_EQ(ask(c, "a\n"), std::to_string(n) + "\n");
                            this_fiber::sleep_for(up_to(draw, 2ms));
                        }
                        if (below(draw, 2)) c.abort();
                    }
                });
        });
        EXPECT_TRUE(eventually_here([&] { return server.size() == 0; }));
    });
}

TEST(simulated_sessions, keep_their_state_on_a_network_that_splits_and_delays) {
    explore(50, [] {
        net::simulated_network net({.most_delay = 5ms, .split_one_in = 2});
        const net::endpoint at{.host = "server", .port = 7};
        tcp::sessions server(number_lines, {.cold_after = 2ms});
        auto serving = spawn([&] { server.serve(net.listen(at)); });
        with_scope([&](scope& s) {
            for (int i = 0; i < 3; ++i)
                s.spawn([&, i] {
                    io::byte_stream c = net.connect("client", at);
                    for (int n = 1; n <= 3; ++n) {
                        c.write_all("a\n");
                        std::array<std::byte, 10> room;
                        std::string got;
                        while (!got.ends_with('\n')) {
                            const auto more = c.read_some(room);
                            if (more == 0) throw std::logic_error("the session has ended");
                            got.append(reinterpret_cast<const char*>(room.data()), more);
                        }
                        if (got != std::to_string(n) + "\n") throw std::logic_error("line " + std::to_string(n) + " is " + got);
                        this_fiber::sleep_for(std::chrono::milliseconds(3 * i));
                    }
                });
        });
        server.stop();
        serving.join();
    });
}

}  // namespace
}  // namespace weft::test
