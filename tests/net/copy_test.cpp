// copy_test.cpp - io::copy and io::relay between sockets, pipes and streams that are neither.
#include <weft/io/copy.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <thread>

#include <weft/deadline.hpp>
#include <weft/fiber.hpp>
#include <weft/io/buffered_reader.hpp>
#include <weft/io/pipe.hpp>
#include <weft/net/simulated_network.hpp>
#include <weft/net/tcp.hpp>
#include <weft/runtime.hpp>

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

static_assert(detail::of_descriptor<tcp::stream> && detail::of_descriptor<io::pipe_reader> &&
              detail::of_descriptor<io::pipe_writer>);
static_assert(!detail::of_descriptor<net::simulated_stream>);
static_assert(io::half_closable<tcp::stream> && io::half_closable<net::simulated_stream>);

struct connection {
    connection() : near(tcp::stream::connect(listener.local())), far(listener.accept()) {}

    tcp::listener listener{{.host = "127.0.0.1", .port = 0}};
    tcp::stream near, far;
};

std::string some_bytes(std::size_t n) {
    std::string bytes(n, ' ');
    for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<char>(i * 2654435761u >> 13);
    return bytes;
}

template <class S>
std::string all_of(S& from) {
    std::string text;
    std::array<std::byte, 5000> buffer;
    while (const std::size_t n = from.read_some(buffer)) text.append(reinterpret_cast<const char*>(buffer.data()), n);
    return text;
}

/// What passes between the two ends of `in` and `out` when the middle is copied.
template <class In, class From, class To, class Out>
void expect_copied(In& in, From& from, To& to, Out& out, auto end_in, auto end_to) {
    const std::string bytes = some_bytes(3'000'000);
    auto writer = weft::spawn([&] {
        io::write_all(in, bytes);
        end_in();
    });
    auto reader = weft::spawn([&] { return all_of(out); });
    EXPECT_EQ(io::copy(from, to), bytes.size());
    end_to();
    EXPECT_TRUE(reader.join() == bytes);
    writer.join();
}

TEST(copy, takes_all_bytes_from_a_socket_to_a_socket) {
    weft::run([] {
        connection a, b;
        expect_copied(
            a.near, a.far, b.near, b.far, [&] { a.near.shutdown_send(); }, [&] { b.near.shutdown_send(); });
    });
}

TEST(copy, takes_all_bytes_from_a_pipe_to_a_socket_and_back) {
    weft::run([] {
        io::pipe p;
        connection c;
        expect_copied(
            p.writer, p.reader, c.near, c.far, [&] { p.writer.close(); }, [&] { c.near.shutdown_send(); });
        io::pipe q;
        expect_copied(
            c.far, c.near, q.writer, q.reader, [&] { c.far.shutdown_send(); }, [&] { q.writer.close(); });
    });
}

TEST(copy, takes_all_bytes_where_the_system_cannot_help) {
    weft::run([] {
        io::pipe p;
        connection c;
        io::buffered_reader ahead(p.reader);
        p.writer.write_all("a line\n");
        EXPECT_EQ(ahead.read_line(), "a line");
        expect_copied(
            p.writer, ahead, c.near, c.far, [&] { p.writer.close(); }, [&] { c.near.shutdown_send(); });
    });
}

TEST(copy, does_not_end_the_stream_that_it_writes_to) {
    weft::run([] {
        connection a, b;
        a.near.write_all("one");
        a.near.shutdown_send();
        EXPECT_EQ(io::copy(a.far, b.near), 3u);
        b.near.write_all(" two");
        b.near.shutdown_send();
        EXPECT_EQ(all_of(b.far), "one two");
    });
}

TEST(copy, works_on_a_plain_thread) {
    connection a, b;
    std::thread writer([&] {
        a.near.write_all(some_bytes(200'000));
        a.near.shutdown_send();
    });
    std::thread reader([&] { EXPECT_TRUE(all_of(b.far) == some_bytes(200'000)); });
    EXPECT_EQ(io::copy(a.far, b.near), 200'000u);
    b.near.shutdown_send();
    writer.join();
    reader.join();
}

TEST(copy, a_deadline_and_a_closed_peer_end_it) {
    weft::run([] {
        connection a, b;
        EXPECT_THROW(with_timeout(5ms, [&] { io::copy(a.far, b.near); }), timeout_error);
        with_timeout(5ms, [&] {
            std::error_code error;
            EXPECT_EQ(io::copy(a.far, b.near, error), 0u);
            EXPECT_EQ(error, std::errc::timed_out);
        });
        b.far.set_reset_on_close(true);
        b.far.close();
        auto writer = weft::spawn([&] {
            std::error_code ignored;
            a.near.write_all(some_bytes(10'000'000), ignored);
        });
        try {
            io::copy(a.far, b.near);
            ADD_FAILURE() << "no error";
        } catch (const std::system_error& e) {  // and no SIGPIPE
            EXPECT_TRUE(e.code() == std::errc::broken_pipe || e.code() == std::errc::connection_reset) << e.what();
        }
        a.far.close();
        writer.join();
    });
}

TEST(copy, a_broken_pipe_is_an_error_and_no_signal) {
    weft::run([] {
        io::pipe in, out;
        out.reader.close();
        in.writer.write_all("lost");
        std::error_code error;
        EXPECT_EQ(io::copy(in.reader, out.writer, error), 0u);
        EXPECT_EQ(error, std::errc::broken_pipe);
    });
}

TEST(copy, a_relay_hands_each_end_on_and_lets_the_other_direction_go_on) {
    weft::run([] {
        connection client, server;
        auto relay = weft::spawn([&] { return io::relay(client.far, server.near); });
        client.near.write_all("request");
        client.near.shutdown_send();
        EXPECT_EQ(all_of(server.far), "request") << "the end came through";
        server.far.write_all(some_bytes(1'000'000));
        server.far.close();
        EXPECT_TRUE(all_of(client.near) == some_bytes(1'000'000));
        const auto passed = relay.join();
        EXPECT_EQ(passed.forth, 7u);
        EXPECT_EQ(passed.back, 1'000'000u);
    });
}

TEST(copy, a_relay_reports_its_failure_and_what_it_has_moved) {
    weft::run([] {
        connection client, server;
        client.near.write_all("request");
        std::error_code error;
        const auto moved = io::relay(client.far, server.near, {.idle_timeout = 200ms}, error);
        EXPECT_EQ(error, std::errc::timed_out);
        EXPECT_EQ(moved.forth, 7u);
        std::array<std::byte, 7> request;
        server.far.read_exact(request);
        client.near.close();
        server.far.close();
        io::relay(client.far, server.near, {}, error);
        EXPECT_FALSE(error);
    });
}

TEST(copy, a_relay_that_is_idle_both_ways_is_given_up) {
    const auto in_virtual_time = [] {
        net::simulated_network net;
        auto proxy_door = net.listen({.host = "proxy", .port = 1});
        auto server_door = net.listen({.host = "server", .port = 1});
        auto client = net.connect("client", {.host = "proxy", .port = 1});
        auto to_client = proxy_door.accept();
        auto to_server = net.connect("proxy", {.host = "server", .port = 1});
        auto server = server_door.accept();
        auto relay = weft::spawn([&] { io::relay(to_client, to_server, {.idle_timeout = 1s}); });
        for (int i = 0; i < 10; ++i) {
            io::write_all(server, "x");  // one way is enough
            this_fiber::sleep_for(700ms);
            EXPECT_FALSE(relay.done());
        }
        try {
            relay.join();
            ADD_FAILURE() << "no timeout";
        } catch (const timeout_error& e) {
            EXPECT_EQ(e.what(), "weft: relay: nothing has passed for 1 s: timed out"s);
        }
        EXPECT_TRUE(to_client.is_open()) << "the streams stay the caller's";
    };
    weft::run(in_virtual_time, {.workers = 1, .simulate = weft::simulation{.seed = 1}});
}

TEST(copy, a_relay_ends_by_a_stop_a_deadline_and_a_failure) {
    weft::run([] {
        {
            connection client, server;
            EXPECT_THROW(with_timeout(5ms, [&] { io::relay(client.far, server.near); }), timeout_error);
        }
        {
            connection client, server;
            client.near.set_reset_on_close(true);
            client.near.close();
            EXPECT_THROW(io::relay(client.far, server.near), std::system_error);
        }
        connection client, server;
        const auto stopped = weft::spawn([&] { io::relay(client.far, server.near); });  // its end stops it
        this_fiber::sleep_for(1ms);
    });
}

TEST(copy, relays_between_streams_of_any_kind) {
    weft::run([] {
        net::simulated_network net;
        auto door = net.listen({.host = "server", .port = 1});
        auto inside = net.connect("client", {.host = "server", .port = 1});
        auto server = door.accept();
        connection outside;
        auto relay = weft::spawn([&] { return io::relay(outside.far, inside); });
        outside.near.write_all("to inside");
        outside.near.shutdown_send();
        EXPECT_EQ(all_of(server), "to inside");
        io::write_all(server, "and back");
        server.shutdown_send();
        EXPECT_EQ(all_of(outside.near), "and back");
        EXPECT_EQ(relay.join().back, 8u);
    });
}

}  // namespace
}  // namespace weft::test
