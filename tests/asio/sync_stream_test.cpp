// sync_stream_test.cpp - code for Asio's synchronous streams over streams of weft; a protocol that weft has not: WebSocket by Beast.
#include <gtest/gtest.h>

#include <weft/asio.hpp>
#include <weft/deadline.hpp>
#include <weft/fiber.hpp>
#include <weft/net/simulated_network.hpp>
#include <weft/net/tcp.hpp>
#include <weft/runtime.hpp>
#include <weft/simulation.hpp>

#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/websocket.hpp>

#include <chrono>
#include <string>
#include <utility>

using namespace std::chrono_literals;

namespace weft::test {
namespace {

namespace net = boost::asio;
namespace websocket = boost::beast::websocket;

static_assert(boost::beast::is_sync_stream<asio::sync_stream<tcp::stream>>::value);
static_assert(boost::beast::is_sync_stream<asio::sync_stream<io::byte_stream&>>::value);

std::pair<tcp::stream, tcp::stream> connected() {
    tcp::listener l({.host = "127.0.0.1", .port = 0});
    auto near = tcp::stream::connect(l.local());
    return {std::move(near), l.accept()};
}

TEST(sync_stream_of_asio, reads_and_writes_by_functions_of_asio) {
    run([] {
        auto [a, b] = connected();
        asio::sync_stream near(std::move(a));
        asio::sync_stream<tcp::stream&> far(b);
        const std::array<net::const_buffer, 4> pieces{net::buffer("one ", 4), net::const_buffer(), net::buffer("two ", 4),
                                                      net::buffer("\n", 1)};
        EXPECT_EQ(net::write(near, pieces), 9u);
        std::string text;
        EXPECT_EQ(net::read_until(far, net::dynamic_buffer(text), '\n'), 9u);
        EXPECT_EQ(text, "one two \n");

        boost::system::error_code error;
        char c = 0;
        EXPECT_EQ(far.read_some(net::mutable_buffer(), error), 0u);
        EXPECT_FALSE(error);
        with_timeout(5ms, [&] { far.read_some(net::buffer(&c, 1), error); });
        EXPECT_EQ(error, boost::system::errc::timed_out);
        near.next_layer().close();
        EXPECT_EQ(far.read_some(net::buffer(&c, 1), error), 0u);
        EXPECT_EQ(error, net::error::eof);
        EXPECT_THROW(far.read_some(net::buffer(&c, 1)), boost::system::system_error);
        near.write_some(net::buffer("x", 1), error);
        EXPECT_EQ(error, boost::system::errc::bad_file_descriptor);
    });
}

TEST(sync_stream_of_asio, errors_of_other_libraries_keep_their_words) {
    class category final : public std::error_category {
        const char* name() const noexcept override { return "own"; }
        std::string message(int) const override { return "own words"; }
    };
    static const category own;
    const auto error = detail::to_boost(std::error_code(7, own));
    EXPECT_EQ(error.message(), "own words");
    EXPECT_STREQ(error.category().name(), "own");
    EXPECT_EQ(error, detail::to_boost(std::error_code(7, own)));
    EXPECT_FALSE(detail::to_boost({}));
}

/// A WebSocket server that sends back what it gets, in straight-line code over a stream of weft.
template <class S>
void echo(S below) {
    websocket::stream<asio::sync_stream<S>> ws(std::move(below));
    ws.accept();
    boost::system::error_code error;
    for (boost::beast::flat_buffer message;; message.consume(message.size())) {
        ws.read(message, error);
        if (error) break;
        ws.text(ws.got_text());
        ws.write(message.data());
    }
    EXPECT_EQ(error, websocket::error::closed);
}

TEST(websocket_of_beast, a_server_over_weft_and_a_client_whose_operations_park) {
    asio::loop loop;
    run([&] {
        tcp::listener l({.host = "127.0.0.1", .port = 0});
        auto serving = spawn([&] { echo(l.accept()); });

        websocket::stream<boost::beast::tcp_stream> ws(loop.context());
        const net::ip::tcp::endpoint at(net::ip::address_v4::loopback(), l.local().port);
        ws.next_layer().socket().async_connect(at, use_fiber);
        ws.async_handshake("localhost", "/", use_fiber);
        for (const auto size : {0u, 1u, 125u, 126u, 65535u, 65536u, 1'000'000u}) {
            const std::string text(size, 'x');
            EXPECT_EQ(ws.async_write(net::buffer(text), use_fiber), size);
            boost::beast::flat_buffer answer;
            ws.async_read(answer, use_fiber);
            EXPECT_TRUE(boost::beast::buffers_to_string(answer.data()) == text);
        }
        ws.async_close(websocket::close_code::normal, use_fiber);
        serving.join();
    });
}

TEST(websocket_of_beast, both_ends_over_a_simulated_network) {
    runtime rt({.simulate = simulation{.seed = 5}});
    rt.run([] {
        weft::net::simulated_network network({.most_delay = 20ms, .split_one_in = 3});
        auto port = network.listen({.host = "chat", .port = 80});
        auto serving = spawn([&] { echo(io::byte_stream(port.accept())); });
        websocket::stream<asio::sync_stream<io::byte_stream>> ws(network.connect("client", {.host = "chat", .port = 80}));
        ws.handshake("chat", "/");
        for (int i = 0; i < 20; ++i) {
            ws.write(net::buffer("message " + std::to_string(i)));
            boost::beast::flat_buffer answer;
            ws.read(answer);
            EXPECT_EQ(boost::beast::buffers_to_string(answer.data()), "message " + std::to_string(i));
        }
        ws.close(websocket::close_code::normal);
        serving.join();
    });
}

}  // namespace
}  // namespace weft::test
