// error_forms_test.cpp - operations of I/O in the form with an error code: they report what the other form throws.
#include <weft/io/buffered_reader.hpp>
#include <weft/io/byte_stream.hpp>
#include <weft/io/copy.hpp>
#include <weft/io/descriptor.hpp>
#include <weft/io/duplex.hpp>
#include <weft/io/limits.hpp>
#include <weft/io/pipe.hpp>
#include <weft/io/process.hpp>
#include <weft/io/signal.hpp>
#include <weft/net/simulated_network.hpp>
#include <weft/net/tcp.hpp>

#include <gtest/gtest.h>

#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/deadline.hpp>
#include <weft/runtime.hpp>

#include "support/no_leaks.hpp"

using namespace std::chrono_literals;
using namespace std::string_view_literals;

namespace weft::test {
namespace {

using io::descriptor;
using net::simulated_network;

// What no operation here reports: each must set its error, or clear it.
const std::error_code untouched = std::make_error_code(std::errc::io_error);

class error_forms : public no_leaks {
protected:
    watched_runtime rt{1};
};

std::string text_of(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

template <class From>
std::string piece_of(From& from) {
    std::array<std::byte, 64> piece;
    return text_of(std::span(piece).first(from.read_some(piece)));
}

TEST_F(error_forms, a_descriptor_that_cannot_be_adopted_is_closed) {
    std::error_code error = untouched;
    EXPECT_FALSE(descriptor::adopt(-1, error).is_open());
    EXPECT_EQ(error, std::errc::bad_file_descriptor);
    EXPECT_FALSE(descriptor::borrow(-1, error).is_open());
    EXPECT_EQ(error, std::errc::bad_file_descriptor);
    const auto event = descriptor::adopt(::eventfd(0, EFD_CLOEXEC), error);
    EXPECT_FALSE(error);
    EXPECT_TRUE(descriptor::borrow(event.native_handle(), error).is_open());
    EXPECT_FALSE(error);
}

TEST_F(error_forms, writing_everything_says_how_much_was_written) {
    std::error_code error = untouched;
    io::pipe p(error);
    ASSERT_FALSE(error);
    error = untouched;
    EXPECT_EQ(p.writer.write_all("both", error), 4u);
    EXPECT_FALSE(error);
    auto borrowed = descriptor::borrow(p.writer.native_handle());
    EXPECT_EQ(borrowed.write_all(" of", error), 3u);
    EXPECT_EQ(borrowed.write_some(" them"sv), 5u);
    EXPECT_EQ(borrowed.write_some("."sv, error), 1u);
    EXPECT_EQ(p.writer.write_some("."sv), 1u);
    EXPECT_EQ(piece_of(p.reader), "both of them..");
    p.reader.close();
    EXPECT_EQ(p.writer.write_all("nobody reads this", error), 0u);
    EXPECT_EQ(error, std::errc::broken_pipe);
    EXPECT_EQ(borrowed.write_all("nor this", error), 0u);
    EXPECT_EQ(error, std::errc::broken_pipe);
}

TEST_F(error_forms, a_write_that_is_cut_short_reports_its_part) {
    rt.run([] {
        io::pipe p;
        const std::string much(1'000'000, 'x');  // more than a pipe holds
        std::error_code error = untouched;
        const auto n = with_timeout(1ms, [&] { return p.writer.write_all(much, error); });
        EXPECT_EQ(error, std::errc::timed_out);
        EXPECT_GT(n, 0u);
        EXPECT_LT(n, much.size());
    });
}

TEST_F(error_forms, reading_to_a_length_says_how_much_there_was) {
    io::pipe p;
    p.writer.write_all("abcd");
    p.writer.close();
    std::array<std::byte, 3> three;
    std::error_code error = untouched;
    EXPECT_EQ(io::read_exact(p.reader, three, error), 3u);
    EXPECT_FALSE(error);
    EXPECT_EQ(io::read_exact(p.reader, three, error), 1u);
    EXPECT_EQ(error, std::errc::connection_aborted);
}

TEST_F(error_forms, a_duplex_writes_texts) {
    io::pipe there, back;
    io::duplex both(std::move(back.reader), std::move(there.writer));
    std::error_code error = untouched;
    EXPECT_EQ(both.write_some("a"sv), 1u);
    EXPECT_EQ(both.write_some("b"sv, error), 1u);
    EXPECT_FALSE(error);
    EXPECT_EQ(piece_of(there.reader), "ab");
}

TEST_F(error_forms, a_buffered_reader_reports_a_piece_that_is_too_long) {
    io::pipe p;
    p.writer.write_all("one\ntwo;three\n");
    io::buffered_reader from(p.reader);
    std::string line;
    std::error_code error = untouched;
    EXPECT_TRUE(from.read_line(line, 100, error));
    EXPECT_EQ(line, "one");
    EXPECT_FALSE(error);
    EXPECT_EQ(from.read_until(';', 100, error), "two;");
    EXPECT_FALSE(error);
    EXPECT_FALSE(from.read_line(line, 2, error));
    EXPECT_EQ(error, std::errc::message_size);
}

TEST_F(error_forms, a_limit_or_options_need_not_be_spelled_for_the_error) {
    rt.run([] {
        io::pipe p;
        p.writer.write_all("one\ntwo\n");
        io::buffered_reader from(p.reader);
        std::error_code error = untouched;
        std::string line;
        EXPECT_EQ(from.read_line(error), "one");
        EXPECT_FALSE(error);
        EXPECT_TRUE(from.read_line(line, error));
        EXPECT_EQ(line, "two");
        error = untouched;
        EXPECT_EQ(io::process({"true"}, error).wait().code, 0);
        EXPECT_FALSE(error);
        io::pipe ended[2], sinks[2];
        for (auto& e : ended) e.writer.close();
        io::duplex a(std::move(ended[0].reader), std::move(sinks[0].writer));
        io::duplex b(std::move(ended[1].reader), std::move(sinks[1].writer));
        error = untouched;
        EXPECT_EQ(io::relay(a, b, error).forth, 0u);
        EXPECT_FALSE(error);
    });
}

template <class Stream>
void expect_texts_and_bytes(Stream& to) {
    const std::array<std::byte, 2> array{};
    const std::vector<std::byte> vector(3);
    const std::string text("text");
    const char buffer[] = "x";
    std::error_code error = untouched;
    EXPECT_EQ(to.write_some({}), 0u);
    EXPECT_EQ(to.write_some({}, error), 0u);
    EXPECT_FALSE(error);
    EXPECT_EQ(to.write_some("literal"), 7u);
    EXPECT_EQ(to.write_some(buffer, error), 1u);
    EXPECT_EQ(to.write_some(text), 4u);
    EXPECT_EQ(to.write_some(text.c_str()), 4u);
    EXPECT_EQ(to.write_some({text.data(), 2}), 2u);
    EXPECT_EQ(to.write_some({text.data(), 2}, error), 2u);
    EXPECT_EQ(to.write_some(array), 2u);
    EXPECT_EQ(to.write_some({array.data(), 1}), 1u);
    EXPECT_EQ(to.write_some(vector, error), 3u);
    EXPECT_EQ(to.write_some(std::as_bytes(std::span(text))), 4u);
}

TEST_F(error_forms, every_stream_writes_texts_and_bytes) {
    rt.run([] {
        tcp::listener door({.host = "127.0.0.1"});
        auto connected = tcp::stream::connect(door.local());
        expect_texts_and_bytes(connected);
        io::pipe p, other;
        expect_texts_and_bytes(p.writer);
        auto borrowed = descriptor::borrow(p.writer.native_handle());
        expect_texts_and_bytes(borrowed);
        io::duplex both(std::move(other.reader), std::move(p.writer));
        expect_texts_and_bytes(both);
        io::byte_stream any = std::move(both);
        expect_texts_and_bytes(any);
        simulated_network net;
        auto listener = net.listen({.host = "server", .port = 7});
        auto simulated = net.connect("client", listener.local());
        expect_texts_and_bytes(simulated);
    });
}

TEST_F(error_forms, a_program_that_is_not_there_gives_an_empty_process) {
    rt.run([] {
        std::error_code error;
        io::process none({"/no/such/program"}, {}, error);
        EXPECT_EQ(error, std::errc::no_such_file_or_directory);
        EXPECT_FALSE(none.joinable());
        none.signal(SIGTERM, error);
        EXPECT_EQ(error, std::errc::no_such_process);
        none.signal_group(SIGTERM, error);
        EXPECT_EQ(error, std::errc::no_such_process);
        EXPECT_FALSE(none.try_wait(error));
        EXPECT_FALSE(error);
    });
}

TEST_F(error_forms, a_process_starts_and_gets_signals) {
    rt.run([] {
        std::error_code error = untouched;
        io::process child({"sleep", "100"}, {}, error);
        ASSERT_FALSE(error);
        error = untouched;
        EXPECT_FALSE(child.try_wait(error));
        EXPECT_FALSE(error);
        child.signal_group(SIGKILL, error);
        EXPECT_EQ(error, std::errc::operation_not_permitted);
        child.signal(SIGKILL, error);
        EXPECT_FALSE(error);
        EXPECT_EQ(child.wait().signal, SIGKILL);
    });
}

TEST_F(error_forms, a_stop_is_reported_by_the_start_of_a_process) {
    rt.run([] {
        std::error_code error;
        with_timeout(-1s, [&] { EXPECT_FALSE(io::process({"true"}, {}, error).joinable()); });
        EXPECT_EQ(error, std::errc::timed_out);
    });
}

TEST_F(error_forms, signals_that_cannot_be_taken_are_closed) {
    std::error_code error;
    io::signals none({SIGKILL}, error);
    EXPECT_EQ(error, std::errc::invalid_argument);
    error.clear();
    EXPECT_EQ(none.wait(error), 0);
    EXPECT_EQ(error, std::errc::bad_file_descriptor);
    io::signals some({SIGUSR2}, error);
    ASSERT_FALSE(error);
    ::raise(SIGUSR2);
    EXPECT_EQ(some.wait(error), SIGUSR2);
}

TEST_F(error_forms, the_limit_of_descriptors_is_told) {
    rlimit now{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &now), 0);
    std::error_code error = untouched;
    EXPECT_EQ(io::raise_descriptor_limit(error), now.rlim_max);
    EXPECT_FALSE(error);
    ::setrlimit(RLIMIT_NOFILE, &now);
}

TEST_F(error_forms, a_listener_that_cannot_listen_is_closed) {
    rt.run([] {
        std::error_code error = untouched;
        tcp::listener first({.host = "127.0.0.1"}, error);
        ASSERT_FALSE(error);
        EXPECT_TRUE(first.is_open());
        tcp::listener second(first.local(), {}, error);
        EXPECT_EQ(error, std::errc::address_in_use);
        EXPECT_FALSE(second.is_open());
        tcp::listener third({.host = "not a host"}, error);
        EXPECT_EQ(error, std::errc::invalid_argument);
        io::pipe no_socket;
        EXPECT_FALSE(tcp::listener::from_descriptor(no_socket.reader.native_handle(), error).is_open());
        EXPECT_TRUE(error);
        EXPECT_TRUE(no_socket.reader.is_open());
    });
}

TEST_F(error_forms, a_closed_stream_reports_that_it_has_no_options) {
    tcp::stream none;
    std::error_code error;
    none.set_no_delay(true, error);
    EXPECT_EQ(error, std::errc::bad_file_descriptor);
    error.clear();
    none.set_keep_alive(1s, error);
    EXPECT_EQ(error, std::errc::bad_file_descriptor);
    error.clear();
    none.set_keep_alive(std::chrono::duration<float, std::ratio<60>>(0.5F), error);
    EXPECT_EQ(error, std::errc::bad_file_descriptor);
    error.clear();
    none.set_reset_on_close(true, error);
    EXPECT_EQ(error, std::errc::bad_file_descriptor);
    EXPECT_TRUE(none.read_until(';', 10, error).empty());
    EXPECT_EQ(error, std::errc::bad_file_descriptor);
}

TEST_F(error_forms, a_closed_stream_reports_that_it_has_no_addresses) {
    const tcp::stream none;
    const io::byte_stream any = tcp::stream();
    const net::simulated_stream simulated;
    std::error_code error;
    EXPECT_EQ(none.local(error), net::endpoint());
    EXPECT_EQ(error, std::errc::bad_file_descriptor);
    error.clear();
    EXPECT_EQ(none.remote(error), net::endpoint());
    EXPECT_EQ(error, std::errc::bad_file_descriptor);
    error.clear();
    EXPECT_EQ(any.remote(error), net::endpoint());
    EXPECT_EQ(error, std::errc::bad_file_descriptor);
    error.clear();
    EXPECT_EQ(simulated.remote(error), net::endpoint());
    EXPECT_EQ(error, std::errc::bad_file_descriptor);
    rt.run([&] {
        tcp::listener door({.host = "127.0.0.1"});
        const auto connected = tcp::stream::connect(door.local());
        EXPECT_EQ(connected.remote(error), door.local());
        EXPECT_FALSE(error);
        EXPECT_EQ(connected.local(error), connected.local());
        EXPECT_FALSE(error);
    });
}

TEST_F(error_forms, a_simulated_network_reports_what_it_refuses) {
    rt.run([] {
        const net::endpoint door{.host = "server", .port = 7};
        simulated_network net;
        std::error_code error;
        EXPECT_FALSE(net.connect("client", door, error).is_open());
        EXPECT_EQ(error, std::errc::connection_refused);
        auto listener = net.listen(door, error);
        EXPECT_FALSE(error);
        auto second = net.listen(door, error);
        EXPECT_EQ(error, std::errc::address_in_use);
        EXPECT_FALSE(second.is_open());
        EXPECT_THROW(second.accept(), std::system_error);
        auto stream = net.connect("client", door, error);
        EXPECT_FALSE(error);
        EXPECT_EQ(stream.write_some("x"sv, error), 1u);
        auto peer = listener.accept();
        EXPECT_EQ(piece_of(peer), "x");
    });
}

TEST_F(error_forms, a_simulated_socket_reports_that_it_is_closed) {
    rt.run([] {
        const net::endpoint door{.host = "server", .port = 7};
        simulated_network net;
        std::error_code error = untouched;
        auto socket = net.bind(door, error);
        EXPECT_FALSE(error);
        auto second = net.bind(door, error);
        EXPECT_EQ(error, std::errc::address_in_use);
        second.send_to(door, std::as_bytes(std::span("x"sv)), error);
        EXPECT_EQ(error, std::errc::bad_file_descriptor);
        EXPECT_TRUE(second.receive(error).bytes.empty());
        EXPECT_EQ(error, std::errc::bad_file_descriptor);
        socket.send_to(door, std::as_bytes(std::span("yes"sv)), error);
        EXPECT_FALSE(error);
        EXPECT_EQ(text_of(socket.receive(error).bytes), "yes");
        socket.send_to(door, "text", error);
        EXPECT_FALSE(error);
        EXPECT_EQ(text_of(socket.receive().bytes), "text");
        socket.send_to(door, {});
        EXPECT_TRUE(socket.receive().bytes.empty());
    });
}

}  // namespace
}  // namespace weft::test
