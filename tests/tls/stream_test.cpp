// stream_test.cpp - a TLS connection as a stream: bytes both ways, ends, interruptions, and what is refused.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include <weft/blocking.hpp>
#include <weft/deadline.hpp>
#include <weft/net/tls.hpp>
#include <weft/scope.hpp>
#include <weft/select.hpp>

#include "tls/support/asks_for_keys.hpp"
#include "tls/support/both_ends.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

static_assert(io::full_stream<tls::stream>);
static_assert(detail::fits_in_room<tls::stream>);

class tls_stream : public testing::TestWithParam<unsigned> {
protected:
    template <class F>
    void on_fibers(F&& f) {
        runtime rt({.workers = GetParam()});
        rt.run(std::forward<F>(f));
    }

    const tls::context server{server_options()};
    const tls::context client{client_options()};
};
INSTANTIATE_TEST_SUITE_P(workers, tls_stream, testing::Values(1u, 2u, 4u));

std::string random_text(std::size_t size, unsigned seed) {
    std::mt19937 random(seed);
    std::string text(size, '\0');
    for (auto& c : text) c = static_cast<char>(random());
    return text;
}

TEST_P(tls_stream, carries_bytes_both_ways) {
    on_fibers([&] {
        auto [c, s] = connected(client, server);
        c.write_all("ping");
        EXPECT_EQ(read_text(s, 4), "ping");
        s.write_all("pong");
        EXPECT_EQ(read_text(c, 4), "pong");
        EXPECT_EQ(c.version(), tls::version::tls1_3);
        EXPECT_EQ(s.server_name(), "localhost");
        EXPECT_FALSE(c.cipher().empty());
    });
}

TEST_P(tls_stream, carries_much_both_ways_at_once) {
    on_fibers([&] {
        auto [c, s] = connected(client, server);
        const auto to_server = random_text(3'000'000, 1), to_client = random_text(2'000'000, 2);
        with_scope([&, &c = c, &s = s](scope& all) {
            all.spawn([&] { c.write_all(to_server); });
            all.spawn([&] { s.write_all(to_client); });
            all.spawn([&] { EXPECT_TRUE(read_text(s, to_server.size()) == to_server); });
            all.spawn([&] { EXPECT_TRUE(read_text(c, to_client.size()) == to_client); });
        });
    });
}

TEST_P(tls_stream, writes_pieces_of_all_sizes_in_order) {
    on_fibers([&] {
        auto [c, s] = connected(client, server);
        std::mt19937 random(3);
        std::vector<std::string> texts;
        std::string all;
        for (const auto size : {0, 1, 100, 16383, 16384, 16385, 0, 50000, 3, 7, 40000, 16000, 500, 0}) {
            texts.push_back(random_text(static_cast<std::size_t>(size), random()));
            all += texts.back();
        }
        auto writer = spawn([&, &to = c] {
            std::vector<std::span<const std::byte>> pieces;
            for (const auto& t : texts) pieces.push_back(std::as_bytes(std::span(t)));
            std::error_code error;
            EXPECT_EQ(to.write_all(pieces, error), all.size());
            EXPECT_FALSE(error);
        });
        EXPECT_TRUE(read_text(s, all.size()) == all);
        writer.join();
    });
}

TEST_P(tls_stream, ends_in_order) {
    on_fibers([&] {
        auto [c, s] = connected(client, server);
        c.write_all("last");
        c.shutdown(io::side::send);
        EXPECT_EQ(read_text(s, 4), "last");
        std::array<std::byte, 8> buffer;
        EXPECT_EQ(s.read_some(buffer), 0u);
        s.write_all("answer");  // after the other's end
        EXPECT_EQ(read_text(c, 6), "answer");
        s.close();
        EXPECT_EQ(c.read_some(buffer), 0u);
        EXPECT_EQ(c.read_some(buffer), 0u);
    });
}

TEST_P(tls_stream, closing_tells_the_peer_the_end) {
    on_fibers([&] {
        auto [c, s] = connected(client, server);
        c.close();
        std::array<std::byte, 8> buffer;
        EXPECT_EQ(s.read_some(buffer), 0u);
        std::error_code error;
        EXPECT_EQ(c.read_some(buffer, error), 0u);
        EXPECT_EQ(error, std::errc::bad_file_descriptor);
        EXPECT_EQ(c.write_some("x", error), 0u);
        EXPECT_EQ(error, std::errc::bad_file_descriptor);
        EXPECT_FALSE(c.is_open());
    });
}

TEST_P(tls_stream, a_cut_connection_is_no_end) {
    on_fibers([&] {
        auto [near, far] = tcp_pair();
        // A second hold on the client's socket ends it without the end of TLS.
        const int socket = ::dup(near.native_handle());
        tls::stream s;
        auto serving = spawn([&, below = std::move(far)]() mutable { s = tls::stream::accept(std::move(below), server); });
        auto c = tls::stream::connect(std::move(near), client, {.server_name = "localhost"});
        c.write_all("half");
        serving.join();
        EXPECT_EQ(read_text(s, 4), "half");
        ::shutdown(socket, SHUT_WR);
        ::close(socket);
        std::array<std::byte, 8> buffer;
        std::error_code error;
        for (int i = 0; i < 2; ++i) {
            EXPECT_EQ(s.read_some(buffer, error), 0u);
            EXPECT_EQ(error, tls::errc::truncated);
        }
        EXPECT_THROW(s.read_some(buffer), std::system_error);
    });
}

TEST_P(tls_stream, what_was_received_can_be_read_after_the_own_end) {
    on_fibers([&] {
        auto [c, s] = connected(client, server);
        c.write_all("before");
        s.wait_readable();
        s.shutdown(io::side::receive);
        EXPECT_EQ(read_text(s, 6), "before");
        std::array<std::byte, 8> buffer;
        EXPECT_EQ(s.read_some(buffer), 0u);
    });
}

TEST_P(tls_stream, shutting_down_wakes_a_reader) {
    on_fibers([&] {
        auto [c, s] = connected(client, server);
        auto reader = spawn([&, &from = s] {
            std::array<std::byte, 8> buffer;
            EXPECT_EQ(from.read_some(buffer), 0u);
        });
        this_fiber::sleep_for(10ms);
        s.shutdown(io::side::receive);
        reader.join();
    });
}

TEST_P(tls_stream, closing_wakes_a_reader_and_a_writer) {
    on_fibers([&] {
        auto [c, s] = connected(client, server);
        auto reader = spawn([&, &from = s] {
            std::array<std::byte, 8> buffer;
            std::error_code error;
            from.read_some(buffer, error);
            EXPECT_EQ(error, std::errc::bad_file_descriptor);
        });
        auto writer = spawn([&, &to = s] {
            const std::string much(64 << 20, 'x');
            std::error_code error;
            EXPECT_LT(to.write_all(much, error), much.size());
            EXPECT_EQ(error, std::errc::bad_file_descriptor);
        });
        this_fiber::sleep_for(20ms);
        s.close();
        reader.join();
        writer.join();
    });
}

TEST_P(tls_stream, an_interrupted_read_goes_on_later) {
    on_fibers([&] {
        auto [c, s] = connected(client, server);
        std::array<std::byte, 8> buffer;
        std::error_code error;
        with_timeout(10ms, [&, &from = s] { EXPECT_EQ(from.read_some(buffer, error), 0u); });
        EXPECT_EQ(error, std::errc::timed_out);
        EXPECT_THROW(with_timeout(10ms, [&from = s] { from.wait_readable(); }), timeout_error);
        c.write_all("late");
        EXPECT_EQ(read_text(s, 4), "late");
    });
}

// What was accepted arrives before what is written later, and nothing twice.
TEST_P(tls_stream, an_interrupted_write_leaves_a_whole_stream) {
    on_fibers([&] {
        auto [c, s] = connected(client, server);
        const auto much = random_text(32 << 20, 4);
        std::error_code error;
        const auto accepted = with_timeout(50ms, [&, &to = c] { return to.write_all(much, error); });
        ASSERT_EQ(error, std::errc::timed_out);
        ASSERT_LT(accepted, much.size());
        auto reader = spawn([&, &from = s] {
            EXPECT_TRUE(read_text(from, accepted) == much.substr(0, accepted));
            EXPECT_EQ(read_text(from, 5), "after");
        });
        c.write_all("after");
        reader.join();
    });
}

TEST_P(tls_stream, try_forms_do_not_wait) {
    on_fibers([&] {
        auto [c, s] = connected(client, server);
        std::array<std::byte, 8> buffer;
        EXPECT_FALSE(s.try_read_some(buffer));
        EXPECT_EQ(c.try_write_some(std::as_bytes(std::span("abc", 3))), 3u);
        s.wait_readable();
        EXPECT_EQ(s.try_read_some(buffer), 3u);
        const std::vector<std::byte> much(1 << 20);
        std::size_t sent = 0;
        while (const auto n = c.try_write_some(much)) sent += *n;
        EXPECT_GT(sent, 0u);
        auto writer = spawn([&, &to = c] { to.write_all("end"); });
        EXPECT_EQ(read_text(s, sent), std::string(sent, '\0'));
        EXPECT_EQ(read_text(s, 3), "end");
        writer.join();
    });
}

TEST_P(tls_stream, what_a_try_has_left_leaves_while_the_fiber_reads) {
    on_fibers([&] {
        auto [c, s] = connected(client, server);
        const std::vector<std::byte> much(1 << 20);
        std::size_t sent = 0;
        while (const auto n = c.try_write_some(much)) sent += *n;
        auto peer = spawn([&, &to = s] {
            EXPECT_EQ(read_text(to, sent), std::string(sent, '\0'));
            to.write_all("done");
        });
        EXPECT_EQ(read_text(c, 4), "done");
        peer.join();
    });
}

TEST_P(tls_stream, shutting_down_sends_what_is_left_first) {
    on_fibers([&] {
        auto [c, s] = connected(client, server);
        const std::vector<std::byte> much(1 << 20);
        std::size_t sent = 0;
        while (const auto n = c.try_write_some(much)) sent += *n;
        auto peer = spawn([&, &from = s] {
            EXPECT_EQ(read_text(from, sent), std::string(sent, '\0'));
            std::array<std::byte, 8> buffer;
            EXPECT_EQ(from.read_some(buffer), 0u) << "the end of TLS, and not only of the connection";
        });
        c.shutdown(io::side::send);
        peer.join();
        std::error_code error;
        EXPECT_EQ(c.write_some("x", error), 0u);
        EXPECT_EQ(error, std::errc::broken_pipe);
        s.write_all("answer");
        EXPECT_EQ(read_text(c, 6), "answer") << "what cannot be sent does not end what is received";
    });
}

TEST_P(tls_stream, a_flood_of_requests_for_keys_holds_up_neither_deadlines_nor_the_end) {
    on_fibers([&] {
        auto [near, far] = tcp_pair();
        std::atomic<bool> ends{false};
        auto flood = spawn([&, &through = near] { ask_for_keys(through, ends); });
        auto s = tls::stream::accept(std::move(far), server);
        std::array<std::byte, 8> buffer;
        std::error_code error;
        with_timeout(100ms, [&] { EXPECT_EQ(s.read_some(buffer, error), 0u); });
        EXPECT_EQ(error, std::errc::timed_out);
        auto reader = spawn([&] {
            std::error_code why;
            s.read_some(buffer, why);
            EXPECT_EQ(why, std::errc::bad_file_descriptor);
        });
        this_fiber::sleep_for(20ms);
        EXPECT_LT(s.unacknowledged(), 20u << 20);
        s.close();
        reader.join();
        ends = true;
        flood.join();
    });
}

/// A stream that can be read by waiting only, as that of a child process is.
class waiting_only {
public:
    explicit waiting_only(tcp::stream s) : below_(std::move(s)) {}

    std::size_t read_some(std::span<std::byte> into) { return below_.read_some(into); }
    std::size_t read_some(std::span<std::byte> into, std::error_code& error) { return below_.read_some(into, error); }
    std::size_t write_some(std::span<const std::byte> from) { return below_.write_some(from); }
    std::size_t write_some(std::span<const std::byte> from, std::error_code& error) { return below_.write_some(from, error); }
    void wait_readable(std::error_code& error) { below_.wait_readable(error); }
    void shutdown(io::side which, std::error_code& error) { below_.shutdown(which, error); }
    void close() noexcept { below_.close(); }
    bool is_open() const noexcept { return below_.is_open(); }
    friend auto watch_readable(const waiting_only& s) noexcept { return watch_readable(s.below_); }

private:
    tcp::stream below_;
};

TEST_P(tls_stream, works_over_streams_that_can_only_wait) {
    on_fibers([&] {
        auto [near, far] = tcp_pair();
        tls::stream s;
        auto serving = spawn([&, &below = far] { s = tls::stream::accept(waiting_only(std::move(below)), server); });
        auto c = tls::stream::connect(waiting_only(std::move(near)), client, {.server_name = "localhost"});
        serving.join();
        const auto much = random_text(500'000, 7);
        auto writer = spawn([&] { s.write_all(much); });
        EXPECT_EQ(select(on_readable(c), on_timeout(10s)), 0u);
        EXPECT_TRUE(read_text(c, much.size()) == much);
        writer.join();
        c.shutdown(io::side::send);
        std::array<std::byte, 8> buffer;
        EXPECT_EQ(s.read_some(buffer), 0u);
    });
}

TEST_P(tls_stream, is_a_case_of_a_select) {
    on_fibers([&] {
        auto [c, s] = connected(client, server);
        bool timed_out = false, readable = false;
        // The tickets of the server are bytes below, and no data.
        select(on_readable(c, [&] { readable = true; }), on_timeout(20ms, [&] { timed_out = true; }));
        EXPECT_TRUE(timed_out && !readable);
        auto writer = spawn([&, &to = s] {
            this_fiber::sleep_for(5ms);
            to.write_all("now");
        });
        select(on_readable(c, [&] { readable = true; }), on_timeout(10s, [&] { timed_out = false; }));
        EXPECT_TRUE(timed_out && readable);
        EXPECT_EQ(read_text(c, 3), "now");
        writer.join();
    });
}

TEST_P(tls_stream, works_over_streams_of_other_kinds) {
    on_fibers([&] {
        // A TLS connection in a TLS connection: the stream below is no descriptor.
        auto [c, s] = connected(client, server);
        tls::stream inner_server;
        auto serving = spawn([&, &below = s] { inner_server = tls::stream::accept(std::move(below), server); });
        auto inner = tls::stream::connect(std::move(c), client, {.server_name = "localhost"});
        serving.join();
        const auto much = random_text(1'000'000, 5);
        auto writer = spawn([&] { inner.write_all(much); });
        EXPECT_TRUE(read_text(inner_server, much.size()) == much);
        writer.join();
        inner.close();
        std::array<std::byte, 8> buffer;
        EXPECT_EQ(inner_server.read_some(buffer), 0u);
    });
}

TEST_P(tls_stream, a_moved_stream_goes_on) {
    on_fibers([&] {
        auto [c, s] = connected(client, server);
        io::byte_stream any = std::move(c);
        any.write_all(std::string_view("moved"));
        EXPECT_EQ(read_text(s, 5), "moved");
        EXPECT_EQ(any.remote().host, "127.0.0.1");
        EXPECT_FALSE(c.is_open());
    });
}

TEST(tls_on_threads, carries_bytes) {
    const tls::context server(server_options()), client(client_options());
    auto [near, far] = tcp_pair();
    std::thread serving([&, below = std::move(far)]() mutable {
        auto s = tls::stream::accept(std::move(below), server);
        std::string text = read_text(s, 100'000);
        s.write_all(text);
    });
    auto c = tls::stream::connect(std::move(near), client, {.server_name = "localhost"});
    const auto text = random_text(100'000, 6);
    c.write_all(text);
    EXPECT_TRUE(read_text(c, text.size()) == text);
    serving.join();
}

}  // namespace
}  // namespace weft::test
