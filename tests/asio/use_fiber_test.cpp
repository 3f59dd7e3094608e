// use_fiber_test.cpp - operations of Asio that park: what they return and throw, and how they are interrupted.
#include <gtest/gtest.h>

#include <weft/asio.hpp>
#include <weft/deadline.hpp>
#include <weft/fiber.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>

#include <boost/asio.hpp>

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

using namespace std::chrono_literals;

namespace weft::test {
namespace {

namespace net = boost::asio;
using udp = net::ip::udp;
using tcp_socket = net::ip::tcp::socket;

const net::ip::udp::endpoint loopback(net::ip::address_v4::loopback(), 0);

TEST(use_fiber_of_asio, an_operation_is_a_call) {
    asio::loop loop;
    run([&] {
        udp::socket a(loop.context(), loopback), b(loop.context(), loopback);
        auto receiver = spawn([&] {
            std::array<char, 100> buffer;
            udp::endpoint from;
            const auto n = b.async_receive_from(net::buffer(buffer), from, use_fiber);
            EXPECT_EQ(from, a.local_endpoint());
            return std::string(buffer.data(), n);
        });
        EXPECT_EQ(a.async_send_to(net::buffer("datagram", 8), b.local_endpoint(), use_fiber), 8u);
        EXPECT_EQ(receiver.join(), "datagram");
    });
}

TEST(use_fiber_of_asio, an_operation_without_a_value_returns_nothing) {
    asio::loop loop;
    run([&] {
        net::steady_timer timer(loop.context(), 5ms);
        const auto begin = std::chrono::steady_clock::now();
        static_assert(std::is_void_v<decltype(timer.async_wait(use_fiber))>);
        timer.async_wait(use_fiber);
        EXPECT_GE(std::chrono::steady_clock::now() - begin, 5ms);
    });
}

TEST(use_fiber_of_asio, thousands_wait_at_once_on_one_thread) {
    asio::loop loop;
    run([&] {
        std::atomic<int> woken{0};
        with_scope([&](scope& all) {
            for (int i = 0; i < 2000; ++i) {
                all.spawn([&] {
                    net::steady_timer timer(loop.context(), 50ms);
                    timer.async_wait(use_fiber);
                    ++woken;
                });
            }
        });
        EXPECT_EQ(woken, 2000);
    });
}

TEST(use_fiber_of_asio, errors_are_thrown_or_stored) {
    asio::loop loop;
    run([&] {
        tcp_socket s(loop.context());
        const net::ip::tcp::endpoint nobody(net::ip::address_v4::loopback(), 1);
        try {
            s.async_connect(nobody, use_fiber);
            ADD_FAILURE() << "it was connected";
        } catch (const boost::system::system_error& e) {
            EXPECT_EQ(e.code(), net::error::connection_refused);
        }
        s.close();
        boost::system::error_code error;
        s.async_connect(nobody, use_fiber[error]);
        EXPECT_EQ(error, net::error::connection_refused);
        net::steady_timer timer(loop.context(), 0ms);
        timer.async_wait(use_fiber[error]);
        EXPECT_FALSE(error);
    });
}

/// An operation that ends with these values.
template <class Signature, class Token, class... A>
auto ends_with(net::io_context& where, Token&& token, A... values) {
    return net::async_initiate<Token, Signature>(
        [&where](auto handler, auto... given) {
            net::post(where, [h = std::move(handler), ... v = std::move(given)]() mutable { std::move(h)(std::move(v)...); });
        },
        token, std::move(values)...);
}

TEST(use_fiber_of_asio, several_values_are_a_tuple) {
    asio::loop loop;
    run([&] {
        auto& c = loop.context();
        EXPECT_EQ((ends_with<void(int)>(c, use_fiber, 3)), 3);
        EXPECT_EQ((ends_with<void(int, std::string)>(c, use_fiber, 3, std::string("x"))), std::tuple(3, std::string("x")));
        EXPECT_EQ((ends_with<void(boost::system::error_code, int, char)>(c, use_fiber, boost::system::error_code(), 3, 'x')),
                  std::tuple(3, 'x'));
        auto moved = ends_with<void(boost::system::error_code, std::unique_ptr<int>)>(c, use_fiber, boost::system::error_code(),
                                                                                      std::make_unique<int>(7));
        EXPECT_EQ(*moved, 7);
        EXPECT_THROW((ends_with<void(std::exception_ptr, int)>(c, use_fiber, std::make_exception_ptr(std::logic_error("no")), 3)),
                     std::logic_error);
        EXPECT_EQ((ends_with<void(std::exception_ptr, int)>(c, use_fiber, std::exception_ptr(), 3)), 3);
    });
}

TEST(use_fiber_of_asio, a_deadline_cancels_the_operation_if_that_is_asked_for) {
    asio::loop loop;
    run([&] {
        udp::socket s(loop.context(), loopback);
        std::array<char, 10> buffer;
        EXPECT_THROW(with_timeout(10ms, [&] { s.async_receive(net::buffer(buffer), use_fiber.or_cancel(s)); }), timeout_error);
        boost::system::error_code error;
        with_timeout(10ms, [&] { s.async_receive(net::buffer(buffer), use_fiber[error].or_cancel(s)); });
        EXPECT_EQ(error, net::error::operation_aborted);
        // The socket is as good as before.
        s.async_send_to(net::buffer("x", 1), s.local_endpoint(), use_fiber);
        EXPECT_EQ(s.async_receive(net::buffer(buffer), use_fiber.or_cancel(s)), 1u);
    });
}

TEST(use_fiber_of_asio, sockets_are_accepted_and_operations_of_several_parts_end_at_a_deadline) {
    asio::loop loop;
    run([&] {
        net::ip::tcp::acceptor port(loop.context(), {net::ip::address_v4::loopback(), 0});
        tcp_socket first(loop.context()), second(loop.context()), into(loop.context());
        auto connecting = spawn([&] {
            first.async_connect(port.local_endpoint(), use_fiber);
            second.async_connect(port.local_endpoint(), use_fiber);
        });
        tcp_socket made = port.async_accept(use_fiber);
        port.async_accept(into, use_fiber);
        connecting.join();
        EXPECT_TRUE(made.is_open() && into.is_open());

        // The peer sends bit by bit, and never all.
        auto peer = spawn([&] {
            for (;;) {
                made.async_write_some(net::buffer("x", 1), use_fiber);
                this_fiber::sleep_for(1ms);
            }
        });
        std::vector<char> much(1'000'000);
        EXPECT_THROW(with_timeout(30ms, [&] { net::async_read(first, net::buffer(much), use_fiber.or_cancel(first)); }),
                     timeout_error);
        peer.request_stop();
        EXPECT_THROW(peer.join(), fiber_cancelled);
    });
}

TEST(use_fiber_of_asio, a_stop_cancels_the_operation_if_that_is_asked_for) {
    asio::loop loop;
    run([&] {
        net::steady_timer timer(loop.context(), 1h);
        bool was_stopped = false;
        auto waiting = spawn([&] {
            try {
                timer.async_wait(use_fiber.or_cancel(timer));
            } catch (const cancelled&) {
                was_stopped = true;
                throw;
            }
        });
        this_fiber::sleep_for(5ms);
        waiting.request_stop();
        EXPECT_THROW(waiting.join(), fiber_cancelled);
        EXPECT_TRUE(was_stopped);
    });
}

TEST(use_fiber_of_asio, without_that_the_operation_ends_first) {
    asio::loop loop;
    run([&] {
        net::steady_timer timer(loop.context(), 30ms);
        bool ended = false;
        auto waiting = spawn([&] {
            timer.async_wait(use_fiber);
            ended = true;
            this_fiber::sleep_for(1h);
        });
        this_fiber::sleep_for(5ms);
        waiting.request_stop();
        EXPECT_THROW(waiting.join(), fiber_cancelled);
        EXPECT_TRUE(ended);
    });
}

TEST(use_fiber_of_asio, an_operation_of_a_context_that_ends_is_aborted) {
    std::optional<asio::loop> loop(std::in_place);
    run([&] {
        auto timer = std::make_unique<net::steady_timer>(loop->context(), 1h);
        auto waiting = spawn([&] {
            try {
                timer->async_wait(use_fiber);
                return boost::system::error_code();
            } catch (const boost::system::system_error& e) {
                return e.code();
            }
        });
        this_fiber::sleep_for(5ms);
        loop->context().stop();
        timer.reset();  // its handler is queued and never runs
        loop.reset();
        EXPECT_EQ(waiting.join(), net::error::operation_aborted);
    });
}

TEST(use_fiber_of_asio, plain_threads_block) {
    asio::loop loop;
    net::steady_timer timer(loop.context(), 5ms);
    timer.async_wait(use_fiber);
}

}  // namespace
}  // namespace weft::test
