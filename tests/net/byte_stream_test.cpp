// byte_stream_test.cpp - every kind of stream behind one type: each does what tcp::stream is documented to do.
#include <sys/socket.h>

#include <weft/io/byte_listener.hpp>
#include <weft/io/byte_stream.hpp>
#include <weft/io/copy.hpp>
#include <weft/io/descriptor.hpp>
#include <weft/io/duplex.hpp>
#include <weft/io/pipe.hpp>
#include <weft/net/simulated_network.hpp>
#include <weft/select.hpp>

#include <array>
#include <optional>
#include <string>

#include "tcp_fixture.hpp"

namespace weft::test {
namespace {

using io::byte_listener;
using io::byte_stream;

static_assert(io::stream<byte_stream> && io::half_closable<byte_stream> && io::full_stream<byte_stream>);
static_assert(io::full_stream<tcp::stream> && io::full_stream<io::descriptor> && io::full_stream<net::simulated_stream>);
static_assert(io::full_stream<io::duplex<io::pipe_reader, io::pipe_writer>>);
static_assert(!io::full_stream<io::pipe_reader> && !std::is_constructible_v<byte_stream, io::pipe_reader>);
static_assert(!std::is_constructible_v<byte_stream, tcp::stream&> && !std::is_copy_constructible_v<byte_stream>);
static_assert(detail::fits_in_room<tcp::stream> && detail::fits_in_room<net::simulated_stream>, "kept inside");
static_assert(std::is_nothrow_constructible_v<byte_stream, tcp::stream> && std::is_nothrow_move_constructible_v<byte_stream>);
static_assert(sizeof(byte_stream) == 4 * sizeof(void*));

/// A stream of a user: larger than the room of a byte_stream, and without what is not required.
class large_stream {
public:
    explicit large_stream(tcp::stream s) : stream_(std::move(s)) {}

    std::size_t read_some(std::span<std::byte> into) { return stream_.read_some(into); }
    std::size_t read_some(std::span<std::byte> into, std::error_code& error) { return stream_.read_some(into, error); }
    std::size_t write_some(std::span<const std::byte> from) { return stream_.write_some(from); }
    std::size_t write_some(std::span<const std::byte> from, std::error_code& error) { return stream_.write_some(from, error); }
    void wait_readable(std::error_code& error) { stream_.wait_readable(error); }
    void shutdown(io::side which, std::error_code& error) { stream_.shutdown(which, error); }
    void close() noexcept { stream_.close(); }
    bool is_open() const noexcept { return stream_.is_open(); }
    friend auto watch_readable(const large_stream& s) noexcept { return watch_readable(s.stream_); }

private:
    tcp::stream stream_;
    std::array<std::byte, 100> more_{};
};

static_assert(io::full_stream<large_stream> && !detail::fits_in_room<large_stream>);

struct both_ends {
    byte_stream near, far;
};

both_ends by_tcp() {
    auto l = local_listener();
    auto near = tcp::stream::connect(l.local());
    return {std::move(near), l.accept()};
}

both_ends by_descriptors() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    return {io::descriptor::adopt(ends[0]), io::descriptor::adopt(ends[1])};
}

both_ends by_pipes() {
    io::pipe there, back;
    return {io::duplex(std::move(back.reader), std::move(there.writer)),
            io::duplex(std::move(there.reader), std::move(back.writer))};
}

both_ends by_simulation() {
    net::simulated_network net;
    auto l = net.listen({.host = "far", .port = 1});
    auto near = net.connect("near", {.host = "far", .port = 1});
    return {std::move(near), l.accept()};
}

both_ends by_delayed_simulation() {
    net::simulated_network net({.least_delay = 1ms, .most_delay = 3ms, .split_one_in = 2});
    auto l = net.listen({.host = "far", .port = 1});
    auto near = net.connect("near", {.host = "far", .port = 1});
    return {std::move(near), l.accept()};
}

both_ends by_large() {
    auto l = local_listener();
    auto near = tcp::stream::connect(l.local());
    return {large_stream(std::move(near)), large_stream(l.accept())};
}

struct kind {
    const char* name;
    both_ends (*make)();
    bool has_try, can_reset;
};

class byte_streams : public testing::TestWithParam<kind> {
protected:
    void SetUp() override { before_ = open_descriptors(); }
    void TearDown() override { EXPECT_EQ(open_descriptors(), before_) << "a descriptor has survived"; }

    /// Runs the body with two connected streams.
    template <class F>
    void with_ends(F&& body) {
        weft::run([&] {
            auto ends = GetParam().make();
            body(ends.near, ends.far);
        });
    }

private:
    std::set<std::string> before_;
};

INSTANTIATE_TEST_SUITE_P(of, byte_streams,
                         testing::Values(kind{"tcp", by_tcp, true, true}, kind{"descriptors", by_descriptors, false, false},
                                         kind{"pipes", by_pipes, false, false}, kind{"simulated", by_simulation, true, true},
                                         kind{"delayed", by_delayed_simulation, true, true},
                                         kind{"large", by_large, false, false}),
                         [](const auto& each) { return std::string(each.param.name); });

std::string read_exactly(byte_stream& s, std::size_t n) {
    std::string text(n, ' ');
    io::read_exact(s, std::as_writable_bytes(std::span(text)));
    return text;
}

std::string read_to_end(byte_stream& s) {
    std::string text;
    std::array<std::byte, 4096> buffer;
    while (const auto n = s.read_some(buffer)) text.append(reinterpret_cast<const char*>(buffer.data()), n);
    return text;
}

/// The error with which the operation fails.
template <class F>
std::error_code failure_of(F&& operation) {
    try {
        operation();
    } catch (const std::system_error& e) {
        return e.code();
    }
    return {};
}

TEST_P(byte_streams, carry_bytes_both_ways_and_end) {
    with_ends([](byte_stream& near, byte_stream& far) {
        near.write_all("question");
        EXPECT_EQ(read_exactly(far, 8), "question");
        const std::string head = "head;", body = "body";
        const std::array pieces{std::as_bytes(std::span(head)), std::as_bytes(std::span<const char>()),
                                std::as_bytes(std::span(body))};
        far.write_all(pieces);
        far.shutdown_send();
        EXPECT_EQ(read_to_end(near), "head;body");
        near.write_all("still");
        EXPECT_EQ(read_exactly(far, 5), "still");
        near.shutdown(io::side::send);
        EXPECT_EQ(read_to_end(far), "");
    });
}

TEST_P(byte_streams, carry_more_than_the_buffers_hold) {
    with_ends([](byte_stream& near, byte_stream& far) {
        const auto sent = pattern(1 << 20, 7);
        const auto writer = spawn([&] {
            near.write_all(sent);
            near.shutdown_send();
        });
        const auto got = read_to_end(far);
        EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(got)), sent));
    });
}

TEST_P(byte_streams, end_a_read_by_close_with_bad_file_descriptor) {
    with_ends([](byte_stream& near, byte_stream&) {
        auto reader = spawn([&] {
            std::array<std::byte, 1> one;
            return failure_of([&] { near.read_some(one); });
        });
        this_fiber::sleep_for(5ms);
        EXPECT_TRUE(near.is_open());
        near.close();
        EXPECT_EQ(reader.join(), std::errc::bad_file_descriptor);
        EXPECT_FALSE(near.is_open());
        near.close();
        EXPECT_EQ(failure_of([&] { near.write_some("x"); }), std::errc::bad_file_descriptor);
        EXPECT_EQ(failure_of([&] { near.wait_readable(); }), std::errc::bad_file_descriptor);
        EXPECT_EQ(near.native_handle(), -1);
    });
}

TEST_P(byte_streams, obey_deadlines_and_stops) {
    with_ends([](byte_stream& near, byte_stream& far) {
        std::array<std::byte, 8> some;
        EXPECT_THROW(with_timeout(5ms, [&] { near.read_some(some); }), timeout_error);
        EXPECT_THROW(with_timeout(5ms, [&] { near.wait_readable(); }), timeout_error);
        std::error_code error;
        with_scope([&](scope& s) {
            s.spawn([&] { near.read_some(some, error); });
            this_fiber::sleep_for(5ms);
            s.request_stop();
        });
        EXPECT_EQ(error, std::errc::operation_canceled);
        far.write_all("goes on");
        EXPECT_EQ(read_exactly(near, 7), "goes on");
    });
}

TEST_P(byte_streams, are_cases_of_a_select) {
    with_ends([](byte_stream& near, byte_stream& far) {
        const channel<int> quiet;
        EXPECT_EQ(select(on_readable(near), otherwise()), 1u);
        EXPECT_EQ(select(on_readable(near), on_receive(quiet, [](auto&&) {}), on_timeout(5ms)), 2u);
        auto writer = spawn([&] {
            this_fiber::sleep_for(3ms);
            far.write_all("now");
        });
        std::string got;
        EXPECT_EQ(
            select(on_receive(quiet, [](auto&&) {}), on_readable(near, [&] { got = read_exactly(near, 3); }), on_timeout(10s)),
            1u);
        EXPECT_EQ(got, "now");
        far.shutdown_send();
        EXPECT_EQ(select(on_readable(near), on_timeout(10s)), 0u);
        near.close();
        EXPECT_EQ(select(on_readable(near), on_timeout(10s)), 0u);
        std::error_code error;
        near.wait_readable(error);
        EXPECT_EQ(error, std::errc::bad_file_descriptor);
    });
}

TEST_P(byte_streams, wait_until_they_are_readable_and_take_nothing) {
    with_ends([](byte_stream& near, byte_stream& far) {
        auto writer = spawn([&] {
            this_fiber::sleep_for(3ms);
            far.write_all("a");
        });
        near.wait_readable();
        near.wait_readable();
        EXPECT_EQ(read_exactly(near, 1), "a");
    });
}

TEST_P(byte_streams, try_without_waiting) {
    with_ends([&](byte_stream& near, byte_stream& far) {
        std::array<std::byte, 8> some;
        EXPECT_EQ(near.try_read_some(some), std::nullopt);
        if (!GetParam().has_try) {
            EXPECT_EQ(near.try_write_some(some), std::nullopt);
            return;
        }
        const auto n = near.try_write_some(some);
        ASSERT_TRUE(n);
        EXPECT_GE(*n, 1u);
        far.wait_readable();
        EXPECT_EQ(far.try_read_some(some), *n);
        const std::vector<std::byte> much(1 << 20);
        while (near.try_write_some(much)) {}
        far.close();
        std::error_code error;
        EXPECT_EQ(far.try_read_some(some, error), 0u);
        EXPECT_EQ(error, std::errc::bad_file_descriptor);
        EXPECT_EQ(failure_of([&] { static_cast<void>(far.try_write_some(some)); }), std::errc::bad_file_descriptor);
    });
}

TEST_P(byte_streams, reset_the_peer_where_they_can) {
    with_ends([&](byte_stream& near, byte_stream& far) {
        far.write_all("a part");
        far.abort();
        EXPECT_FALSE(far.is_open());
        std::error_code error;
        std::array<std::byte, 16> some;
        std::size_t n = 1;
        while (!error && n > 0) n = near.read_some(some, error);
        if (GetParam().can_reset)
            EXPECT_EQ(error, std::errc::connection_reset);
        else
            EXPECT_EQ(error, std::error_code());
    });
}

TEST_P(byte_streams, say_what_the_peer_does_not_have_yet) {
    with_ends([&](byte_stream& near, byte_stream& far) {
        near.write_all("abc");
        read_exactly(far, 3);
        for (int i = 0; i < 1000 && near.unacknowledged() > 0; ++i) this_fiber::sleep_for(1ms);
        EXPECT_EQ(near.unacknowledged(), 0u);
        if (!GetParam().can_reset) return;
        const std::vector<std::byte> much(1 << 20);
        while (near.try_write_some(much)) {}
        EXPECT_GT(near.unacknowledged(), 1000u);
    });
}

TEST_P(byte_streams, move_and_leave_a_closed_stream) {
    with_ends([](byte_stream& near, byte_stream& far) {
        byte_stream moved(std::move(near));
        EXPECT_FALSE(near.is_open());
        std::array<std::byte, 4> some;
        EXPECT_EQ(failure_of([&] { near.read_some(some); }), std::errc::bad_file_descriptor);
        moved.write_all("ab");
        near = std::move(moved);
        auto& same = near;
        near = std::move(same);
        near.write_all("cd");
        EXPECT_EQ(read_exactly(far, 4), "abcd");
        near = byte_stream();
        EXPECT_EQ(read_to_end(far), "") << "assigning to a stream closes it";
    });
}

TEST_P(byte_streams, can_be_copied_and_relayed) {
    weft::run([&] {
        auto one = GetParam().make();
        auto two = GetParam().make();
        auto relay = spawn([&] { return io::relay(one.far, two.near); });
        one.near.write_all("through");
        one.near.shutdown_send();
        EXPECT_EQ(read_to_end(two.far), "through");
        two.far.write_all("back again");
        two.far.shutdown_send();
        EXPECT_EQ(read_to_end(one.near), "back again");
        const auto moved = relay.join();
        EXPECT_EQ(moved.forth, 7u);
        EXPECT_EQ(moved.back, 10u);
    });
}

TEST(byte_stream, that_is_closed_fails_every_operation) {
    byte_stream none;
    std::array<std::byte, 4> some{};
    const std::array<std::span<const std::byte>, 1> pieces{some};
    for (const auto& operation : std::initializer_list<std::function<void()>>{
             [&] { none.read_some(some); }, [&] { static_cast<void>(none.try_read_some(some)); }, [&] { none.wait_readable(); },
             [&] { none.write_some(some); }, [&] { static_cast<void>(none.try_write_some(some)); }, [&] { none.write_all(some); },
             [&] { none.write_all(pieces); }, [&] { none.shutdown(io::side::both); }})
        EXPECT_EQ(failure_of(operation), std::errc::bad_file_descriptor);
    none.close();
    none.abort();
    EXPECT_FALSE(none.is_open());
    EXPECT_EQ(none.unacknowledged(), 0u);
    EXPECT_EQ(none.remote(), net::endpoint());
    weft::run([&] { EXPECT_EQ(select(on_readable(none), on_timeout(10s)), 0u); });
}

TEST(byte_stream, knows_addresses_and_the_descriptor_of_a_connection) {
    weft::run([] {
        auto l = local_listener();
        byte_stream near = tcp::stream::connect(l.local());
        EXPECT_EQ(near.remote(), l.local());
        EXPECT_GE(near.native_handle(), 0);
        net::simulated_network net;
        auto simulated = net.listen({.host = "far", .port = 9});
        near = net.connect("near", {.host = "far", .port = 9});
        byte_stream far = simulated.accept();
        EXPECT_EQ(to_string(near.remote()), "far:9");
        EXPECT_EQ(far.remote().host, "near");
        EXPECT_NE(far.remote().port, 0);
        EXPECT_EQ(near.native_handle(), -1);
        const auto pair = by_descriptors();
        EXPECT_EQ(pair.near.remote(), net::endpoint());
        io::pipe p;
        EXPECT_EQ(failure_of([&] { io::descriptor::borrow(p.reader.native_handle()).shutdown(io::side::send); }),
                  std::errc::not_a_socket);
    });
}

template <class Make>
void check_listener(Make make, const std::function<byte_stream(const net::endpoint&)>& connect) {
    weft::run([&] {
        byte_listener l = make();
        EXPECT_TRUE(l.is_open());
        auto client = spawn([&] {
            auto s = connect(l.local());
            s.write_all("hello");
        });
        auto peer = l.accept();
        EXPECT_EQ(read_to_end(peer), "hello");
        client.join();
        auto waiting = spawn([&] {
            std::error_code error;
            EXPECT_FALSE(l.accept(error).is_open());
            EXPECT_EQ(error, std::errc::bad_file_descriptor);
            return failure_of([&] { l.accept(); });
        });
        this_fiber::sleep_for(3ms);
        l.close();
        EXPECT_EQ(waiting.join(), std::errc::bad_file_descriptor);
        EXPECT_FALSE(l.is_open());
    });
}

TEST(byte_listener, accepts_what_the_listener_inside_accepts) {
    check_listener([] { return local_listener(); }, [](const net::endpoint& at) { return tcp::stream::connect(at); });
    net::simulated_network net;
    check_listener([&] { return net.listen({.host = "far", .port = 1}); },
                   [&](const net::endpoint& at) { return net.connect("near", at); });
}

}  // namespace
}  // namespace weft::test
