#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <weft/io/stream.hpp>

#include "tcp_fixture.hpp"

namespace weft::test {
namespace {

static_assert(io::stream<tcp::stream>);
static_assert(std::movable<tcp::stream> && !std::copyable<tcp::stream>);
static_assert(std::input_iterator<tcp::listener::iterator>);

class tcp_stream : public tcp_test {};
INSTANTIATE_TEST_SUITE_P(place, tcp_stream, every_place(), name_of);

TEST_P(tcp_stream, bytes_arrive_in_order_and_end_of_stream_is_0) {
    run([&] {
        auto l = local_listener();
        auto peer = beside([&] {
            auto s = l.accept();
            s.write_all("hello ");
            s.write_all("world");
        });
        auto s = tcp::stream::connect(l.local());
        EXPECT_EQ(read_all(s), "hello world");
        std::byte one[1];
        EXPECT_EQ(s.read_some(one), 0u);  // and stays 0
    });
}

TEST_P(tcp_stream, seed_D19_a_million_bytes_both_ways_at_once) {
    run([&] {
        constexpr std::size_t size = 1'000'000;
        auto l = local_listener();
        const auto exchange = [&](tcp::stream s, unsigned mine, unsigned other) {
            const auto out = pattern(size, mine), expected = pattern(size, other);
            std::vector<std::byte> in(size);
            auto writer = companion(tcp_stream::GetParam().peer_is_thread, [&] { s.write_all(out); });
            s.read_exact(in);
            writer.join();
            EXPECT_TRUE(in == expected);
        };
        auto peer = beside([&] { exchange(l.accept(), 1, 2); });
        exchange(tcp::stream::connect(l.local()), 2, 1);
    });
}

TEST_P(tcp_stream, half_close_lets_the_peer_answer) {
    run([&] {
        auto l = local_listener();
        auto peer = beside([&] {
            auto s = l.accept();
            const auto question = read_all(s);  // to its end
            s.write_all("you said " + question);
        });
        auto s = tcp::stream::connect(l.local());
        s.write_all("hi");
        s.shutdown(tcp::side::send);
        EXPECT_EQ(read_all(s), "you said hi");
    });
}

// The worker that watches the descriptors goes away with what it has found there. The last body keeps its worker, so that only another
// that watches can help.
TEST(tcp_watch, somebody_else_watches_when_the_fiber_it_has_found_computes) {
    runtime rt({.workers = 2});
    rt.run([] {
        auto l = local_listener();
        auto left = tcp::stream::connect(l.local());
        auto left_peer = l.accept();
        auto right = tcp::stream::connect(l.local());
        auto right_peer = l.accept();
        constexpr int times = 400;
        std::atomic<bool> seen{false};
        std::thread peer([&] {
            std::byte one[1]{};
            for (int i = 0; i < times; ++i) {
                left_peer.write_all(one);
                left_peer.read_exact(one);
            }
            std::this_thread::sleep_for(1ms);
            right_peer.write_all(one);
        });
        auto other = spawn([&] {
            std::byte one[1];
            right.read_exact(one);
            seen = true;
        });
        spawn({.preempt = false}, [&] {
            std::byte one[1];
            for (int i = 0; i < times; ++i) {
                left.read_exact(one);
                left.write_all(one);
            }
            for (const auto end = std::chrono::steady_clock::now() + 20s; !seen && std::chrono::steady_clock::now() < end;) {}
            EXPECT_TRUE(seen);
        }).join();
        other.join();
        weft::blocking([&] { peer.join(); });
    });
}

TEST_P(tcp_stream, close_wakes_a_reader) {
    run([&] {
        auto l = local_listener();
        connection c(l);
        auto closer = beside([&] {
            sleep(10ms);
            c.near.close();
        });
        std::byte buffer[16];
        try {
            c.near.read_some(buffer);
            FAIL();
        } catch (const std::system_error& e) { EXPECT_EQ(e.code(), std::errc::bad_file_descriptor); }
        EXPECT_FALSE(c.near.is_open());
        EXPECT_EQ(c.near.native_handle(), -1);
        EXPECT_EQ(c.far.read_some(buffer), 0u);  // really closed, not only marked
    });
}

TEST_P(tcp_stream, close_wakes_a_writer) {
    run([&] {
        auto l = local_listener();
        connection c(l);
        auto closer = beside([&] {
            sleep(10ms);
            c.near.close();
        });
        const auto chunk = pattern(1 << 16, 1);
        std::error_code error;
        while (!error) c.near.write_all(chunk, error);  // nobody reads
        EXPECT_EQ(error, std::errc::bad_file_descriptor);
    });
}

TEST_P(tcp_stream, operations_on_a_closed_stream_fail) {
    run([&] {
        auto l = local_listener();
        connection c(l);
        c.near.close();
        std::byte buffer[4];
        std::error_code error;
        c.near.read_some(buffer, error);
        EXPECT_EQ(error, std::errc::bad_file_descriptor);
        c.near.write_some("x", error);
        EXPECT_EQ(error, std::errc::bad_file_descriptor);
        c.near.shutdown(tcp::side::both, error);
        EXPECT_EQ(error, std::errc::bad_file_descriptor);
        EXPECT_THROW(c.near.set_no_delay(true), std::system_error);
        EXPECT_THROW(static_cast<void>(c.near.remote()), std::system_error);
        EXPECT_THROW(tcp::stream().read_some(buffer), std::system_error);
        c.near.close();
    });
}

TEST_P(tcp_stream, a_reset_is_an_error_of_that_stream_only) {
    run([&] {
        auto l = local_listener();
        connection victim(l), other(l);
        auto peer = beside([&] {
            sleep(5ms);
            victim.far.set_reset_on_close(true);
            victim.far.close();
        });
        std::byte buffer[4];
        try {
            victim.near.read_some(buffer);
            FAIL();
        } catch (const std::system_error& e) { EXPECT_EQ(e.code(), std::errc::connection_reset); }
        other.far.write_all("fine");
        other.near.read_exact(buffer);
    });
}

TEST_P(tcp_stream, writing_to_a_gone_peer_is_broken_pipe_and_no_signal) {
    run([&] {
        auto l = local_listener();
        connection c(l);
        c.far.close();
        std::error_code error;
        while (!error) {
            c.near.write_all("anybody there?", error);
            sleep(1ms);
        }
        EXPECT_TRUE(error == std::errc::broken_pipe || error == std::errc::connection_reset) << error.message();
    });
}

TEST_P(tcp_stream, a_deadline_ends_a_read) {
    run([&] {
        auto l = local_listener();
        connection c(l);
        std::byte buffer[4];
        const auto start = std::chrono::steady_clock::now();
        EXPECT_THROW(weft::with_timeout(20ms, [&] { c.near.read_some(buffer); }), weft::timeout_error);
        EXPECT_GE(std::chrono::steady_clock::now() - start, 20ms);
        weft::with_timeout(5ms, [&] {
            std::error_code error;
            c.near.read_some(buffer, error);
            EXPECT_EQ(error, std::errc::timed_out);
        });
        c.far.write_all("ping");  // the stream is as good as before
        c.near.read_exact(buffer);
    });
}

TEST_P(tcp_stream, a_deadline_ends_a_write) {
    run([&] {
        auto l = local_listener();
        connection c(l);
        const auto bulk = pattern(64 << 20, 1);
        EXPECT_THROW(weft::with_timeout(20ms, [&] { c.near.write_all(bulk); }), weft::timeout_error);
    });
}

TEST_P(tcp_stream, a_passed_deadline_is_seen_even_if_there_is_something_to_read) {
    run([&] {
        auto l = local_listener();
        connection c(l);
        c.far.write_all("ping");
        c.near.wait_readable();
        std::byte buffer[4];
        EXPECT_THROW(weft::with_timeout(0ns, [&] { c.near.read_some(buffer); }), weft::timeout_error);
        c.near.read_exact(buffer);
    });
}

TEST_P(tcp_stream, read_exact_over_many_pieces_and_past_the_end) {
    run([&] {
        auto l = local_listener();
        auto peer = beside([&] {
            auto s = l.accept();
            for (int i = 0; i < 10; ++i) {
                s.write_all("0123456789");
                if (i % 3 == 0) sleep(1ms);
            }
        });
        auto s = tcp::stream::connect(l.local());
        std::array<std::byte, 95> most;
        s.read_exact(most);
        std::array<std::byte, 10> rest;
        std::error_code error;
        EXPECT_EQ(s.read_exact(rest, error), 5u);
        EXPECT_EQ(error, std::errc::connection_aborted);
        EXPECT_THROW(s.read_exact(rest), std::system_error);
        s.read_exact({});  // nothing to do is no failure
    });
}

TEST_P(tcp_stream, read_until_takes_not_one_byte_more) {
    run([&] {
        auto l = local_listener();
        auto peer = beside([&] {
            auto s = l.accept();
            s.write_all("first\r");
            sleep(2ms);
            s.write_all("\nsecond\r\n\r\nbody");
        });
        auto s = tcp::stream::connect(l.local());
        EXPECT_EQ(s.read_until("\r\n", 100), "first\r\n");
        EXPECT_EQ(s.read_until("\r\n\r\n", 100), "second\r\n\r\n");
        EXPECT_EQ(s.read_until('\n', 100), "body");  // the stream ended
        EXPECT_EQ(s.read_until('\n', 100), "");
    });
}

TEST_P(tcp_stream, read_until_gives_up_at_its_limit) {
    run([&] {
        auto l = local_listener();
        connection c(l);
        c.far.write_all(std::string(2000, 'x') + "\n");
        std::error_code error;
        EXPECT_EQ(c.near.read_until("\n", 1500, error).size(), 1500u);
        EXPECT_EQ(error, std::errc::message_size);
        EXPECT_EQ(c.near.read_until('\n', 501), std::string(500, 'x') + "\n");
        EXPECT_THROW(c.near.read_until("", 5), std::system_error);
    });
}

TEST_P(tcp_stream, wait_readable_holds_nothing_and_takes_nothing) {
    run([&] {
        auto l = local_listener();
        connection c(l);
        auto peer = beside([&] {
            sleep(5ms);
            c.far.write_all("ping");
        });
        c.near.wait_readable();
        c.near.wait_readable();
        std::byte buffer[8];
        EXPECT_EQ(c.near.read_some(buffer), 4u);
        EXPECT_THROW(weft::with_timeout(5ms, [&] { c.near.wait_readable(); }), weft::timeout_error);
        c.far.close();
        c.near.wait_readable();
        EXPECT_EQ(c.near.read_some(buffer), 0u);
    });
}

TEST_P(tcp_stream, several_pieces_are_written_as_one) {
    run([&] {
        auto l = local_listener();
        auto peer = beside([&] {
            auto s = l.accept();
            std::vector<std::string> texts;
            for (int i = 0; i < 100; ++i)
                texts.push_back(std::string(static_cast<std::size_t>(i) * 50, static_cast<char>('a' + i % 26)));
            std::vector<std::span<const std::byte>> pieces;
            for (const auto& t : texts) pieces.push_back(std::as_bytes(std::span(t)));
            s.write_all(pieces);
            s.write_all(std::span<const std::span<const std::byte>>());
        });
        auto s = tcp::stream::connect(l.local());
        const auto text = read_all(s);
        EXPECT_EQ(text.size(), 50u * 99 * 100 / 2);
        for (std::size_t i = 1, at = 0; i < 100; at += i * 50, ++i) ASSERT_EQ(text[at], static_cast<char>('a' + i % 26));
    });
}

TEST_P(tcp_stream, knows_both_ends_and_moves) {
    run([&] {
        auto l = local_listener();
        connection c(l);
        EXPECT_EQ(c.near.remote(), l.local());
        EXPECT_EQ(c.near.local(), c.far.remote());
        tcp::stream moved = std::move(c.near);
        EXPECT_FALSE(c.near.is_open());
        c.near = std::move(moved);
        moved = tcp::stream();
        c.near.set_no_delay(false);
        c.near.set_keep_alive(30s);
        c.near.set_keep_alive(0s);
        c.near.write_all("x");
        std::byte one[1];
        c.far.read_exact(one);
        c.near = std::move(c.far);  // closes what it was
        EXPECT_EQ(c.near.read_some(one), 0u);
    });
}

// What the system then does with it is its own: minutes pass before it gives a silent peer up.
TEST_P(tcp_stream, keep_alive_has_the_system_probe_an_idle_peer) {
    const auto option = [](const tcp::stream& s, int level, int name) {
        int value = -1;
        socklen_t size = sizeof value;
        EXPECT_EQ(::getsockopt(s.native_handle(), level, name, &value, &size), 0);
        return value;
    };
    run([&] {
        auto l = local_listener();
        connection c(l);
        for (auto* const s : {&c.near, &c.far}) {
            EXPECT_EQ(option(*s, SOL_SOCKET, SO_KEEPALIVE), 0) << "never is the default";
            s->set_keep_alive(30s);
            EXPECT_EQ(option(*s, SOL_SOCKET, SO_KEEPALIVE), 1);
            EXPECT_EQ(option(*s, IPPROTO_TCP, TCP_KEEPIDLE), 30);
            s->set_keep_alive(std::chrono::hours(1'000'000));
            EXPECT_EQ(option(*s, IPPROTO_TCP, TCP_KEEPIDLE), 32767) << "the system's limit";
            s->set_keep_alive(0s);
            EXPECT_EQ(option(*s, SOL_SOCKET, SO_KEEPALIVE), 0);
        }
    });
}

TEST_P(tcp_stream, small_writes_leave_at_once_unless_told_otherwise) {
    const auto is_on = [](const tcp::stream& s) {
        int value = -1;
        socklen_t size = sizeof value;
        EXPECT_EQ(::getsockopt(s.native_handle(), IPPROTO_TCP, TCP_NODELAY, &value, &size), 0);
        return value != 0;
    };
    run([&] {
        auto l = local_listener();
        connection c(l);
        for (auto* const s : {&c.near, &c.far}) {
            EXPECT_TRUE(is_on(*s));
            s->set_no_delay(false);
            EXPECT_FALSE(is_on(*s));
            s->set_no_delay(true);
            EXPECT_TRUE(is_on(*s));
        }
    });
}

TEST_P(tcp_stream, a_stream_that_never_runs_dry_starves_nobody) {
    if (GetParam().workers == 0) return;  // threads share by themselves
    run([&] {
        auto l = local_listener();
        connection c(l);
        std::jthread flood([&] {
            const auto chunk = pattern(1 << 18, 1);
            std::error_code error;
            while (!error) c.far.write_all(chunk, error);
        });
        auto reader = weft::spawn([&] {
            std::array<std::byte, 256> small;  // so there is always more
            std::error_code error;
            while (!error) c.near.read_some(small, error);
        });
        for (int i = 0; i < 20; ++i) sleep(1ms);  // returns at all
        c.near.close();
        reader.join();
        c.far.close();
    });
}

TEST_P(tcp_stream, a_stop_ends_a_read) {
    if (GetParam().workers == 0) return;  // plain threads are not stopped
    run([&] {
        auto l = local_listener();
        connection c(l);
        auto f = weft::spawn([&] {
            std::byte buffer[4];
            c.near.read_some(buffer);
        });
        sleep(2ms);
        f.request_stop();
        EXPECT_THROW(f.join(), weft::fiber_cancelled);
        auto g = weft::spawn([&] {
            std::byte buffer[4];
            std::error_code error;
            c.near.read_some(buffer, error);
            EXPECT_EQ(error, std::errc::operation_canceled);
        });
        sleep(2ms);
        g.request_stop();
        g.join();
    });
}

TEST(tcp_stream_travels, from_a_thread_to_a_fiber_and_back) {
    auto l = local_listener();
    connection c(l);
    std::byte buffer[8];
    EXPECT_THROW(weft::with_timeout(5ms, [&] { c.near.read_some(buffer); }), weft::timeout_error);  // waits without a driver
    {
        weft::runtime rt({.workers = 1});
        rt.run([&] { EXPECT_THROW(weft::with_timeout(5ms, [&] { c.near.read_some(buffer); }), weft::timeout_error); });
        std::thread writer([&] {
            std::this_thread::sleep_for(5ms);
            c.far.write_all("1");
        });
        EXPECT_EQ(c.near.read_some(buffer), 1u);  // this thread is woken by the driver of rt
        writer.join();
    }
    EXPECT_THROW(weft::with_timeout(5ms, [&] { c.near.read_some(buffer); }), weft::timeout_error);  // rt has ended
    weft::run([&] {
        c.far.write_all("2");
        EXPECT_EQ(c.near.read_some(buffer), 1u);
        EXPECT_THROW(weft::with_timeout(5ms, [&] { c.near.read_some(buffer); }), weft::timeout_error);
    });
}

TEST(tcp_stream_travels, between_two_runtimes_side_by_side) {
    weft::runtime first({.workers = 1}), second({.workers = 1});
    auto l = local_listener();
    connection c(l);
    const auto use = [&](char x) {
        std::byte buffer[1];
        auto reader = weft::spawn([&] { c.near.read_exact(buffer); });
        weft::this_fiber::sleep_for(2ms);
        c.far.write_all(std::string_view(&x, 1));
        reader.join();
        EXPECT_EQ(static_cast<char>(buffer[0]), x);
    };
    for (int i = 0; i < 5; ++i) {
        first.run([&] { use('a'); });
        second.run([&] { use('b'); });
    }
}

}  // namespace
}  // namespace weft::test
