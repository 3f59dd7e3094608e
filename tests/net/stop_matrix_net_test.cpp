// stop_matrix_net_test.cpp - TCP and names, interrupted in all ways, in the throwing forms and in those with an error_code.
#include "support/stop_matrix.hpp"

#include <weft/net/resolve.hpp>
#include <weft/net/tcp.hpp>
#include <weft/net/udp.hpp>
#include <weft/net/unix.hpp>
#include <weft/select.hpp>

#include <unistd.h>

#include <array>
#include <vector>

using namespace std::chrono_literals;

namespace weft::test::matrix {
namespace {

class interruption_of_a_stream : public interruption {};
TEST_P(interruption_of_a_stream, is_as_documented) { check(); }

constexpr auto nothing = [](auto&&...) {};

tcp::listener local_listener() { return tcp::listener({.host = "127.0.0.1", .port = 0}); }

/// Two connected streams, made by a party that may be stopped already.
struct connection {
    explicit connection(scene& s) {
        s.prepare([&] {
            auto l = local_listener();
            near = tcp::stream::connect(l.local());
            far = l.accept();
        });
    }
    tcp::stream near, far;
    std::array<std::byte, 4> some{};
};

/// The other side writes after the delay; `reads` gets the connection.
park_point reading(std::string name, std::function<void(scene&, connection&)> reads) {
    return {std::move(name), [=](scene& s) {
                connection c(s);
                s.wait_for_signal([&] { c.far.write_all("abcd"); }, [&] { reads(s, c); });
            }};
}

/// The other side reads everything after the delay; `writes` gets more than the buffers hold.
park_point writing(std::string name, std::function<void(scene&, connection&, std::string_view)> writes) {
    return {std::move(name), [=](scene& s) {
                connection c(s);
                const std::string much(16 << 20, 'x');
                s.wait_for_signal(
                    [&] {
                        std::vector<std::byte> buffer(1 << 20);
                        const shield until_the_end;
                        std::error_code error;
                        while (c.far.read_some(buffer, error) != 0) {}
                    },
                    [&] {
                        struct ends_the_stream {
                            tcp::stream& of;
                            ~ends_the_stream() { of.close(); }
                        } const end{c.near};
                        writes(s, c, much);
                    });
            }};
}

/// Somebody connects after the delay.
park_point accepting(std::string name, std::function<void(scene&, tcp::listener&)> accepts) {
    return {std::move(name), [=](scene& s) {
                auto l = s.prepare(local_listener);
                s.wait_for_signal([&] { tcp::stream::connect(l.local()); }, [&] { accepts(s, l); });
            }};
}

/// On this machine a connection is made at once.
park_point at_once(std::string name, std::function<void(scene&)> what) {
    return {.name = std::move(name), .park = std::move(what), .waits = park_point::waits::no};
}

/// A Unix socket whose queue is full until somebody accepts after the delay; `connects` gets its address.
park_point connecting(std::string name, std::function<void(scene&, const unix_socket::address&)> connects) {
    return {std::move(name), [=](scene& s) {
                static std::atomic<unsigned> next{0};
                const unix_socket::address at{.abstract = "weft-matrix-" + std::to_string(::getpid()) + "-" +
                                                          std::to_string(next.fetch_add(1))};
                std::vector<unix_socket::stream> queued;
                auto l = s.prepare([&] {
                    unix_socket::listener made(at, {.backlog = 0});
                    queued.push_back(unix_socket::stream::connect(at));
                    return made;
                });
                s.wait_for_signal(
                    [&] {
                        const shield until_the_end;
                        l.accept();
                    },
                    [&] { connects(s, at); });
            }};
}

/// The other side sends a packet after the delay.
park_point receiving(std::string name, std::function<void(scene&, unix_socket::packets&)> receives) {
    return {std::move(name), [=](scene& s) {
                auto ends = s.prepare(unix_socket::packet_pair);
                s.wait_for_signal([&] { ends.second.send("abcd"); }, [&] { receives(s, ends.first); });
            }};
}

/// The other side sends a datagram after the delay.
park_point receiving_datagrams(std::string name, std::function<void(scene&, udp::socket&)> receives) {
    return {std::move(name), [=](scene& s) {
                const net::endpoint any{.host = "127.0.0.1", .port = 0};
                auto here = s.prepare([&] { return udp::socket(any); });
                s.wait_for_signal([&] { udp::socket(any).send_to(udp::address(here.local()), "abcd"); },
                                  [&] { receives(s, here); });
            }};
}

std::vector<park_point> of_udp() {
    return {
        receiving_datagrams("receive_a_datagram",
                            [](scene&, udp::socket& here) {
                                std::array<std::byte, 8> room;
                                EXPECT_EQ(here.receive(room).data.size(), 4u);
                            }),
        receiving_datagrams("receive_a_datagram_by_error_code",
                            [](scene& s, udp::socket& here) {
                                std::array<std::byte, 8> room;
                                std::error_code error;
                                here.receive(room, error);
                                s.reported(error);
                            }),
        receiving_datagrams("receive_a_batch",
                            [](scene&, udp::socket& here) {
                                udp::batch room(2);
                                EXPECT_EQ(here.receive(room).size(), 1u);
                            }),
        receiving_datagrams("receive_a_batch_by_error_code",
                            [](scene& s, udp::socket& here) {
                                udp::batch room(2);
                                std::error_code error;
                                here.receive(room, error);
                                s.reported(error);
                            }),
    };
}

std::vector<park_point> of_unix_sockets() {
    return {
        connecting("connect_to_a_full_queue", [](scene&, const unix_socket::address& at) { unix_socket::stream::connect(at); }),
        connecting("connect_to_a_full_queue_by_error_code",
                   [](scene& s, const unix_socket::address& at) {
                       std::error_code error;
                       unix_socket::stream::connect(at, error);
                       s.reported(error);
                   }),
        receiving("receive_a_packet",
                  [](scene&, unix_socket::packets& p) {
                      std::array<std::byte, 8> room;
                      EXPECT_EQ(p.receive(room).count, 4u);
                  }),
        receiving("receive_a_packet_by_error_code",
                  [](scene& s, unix_socket::packets& p) {
                      std::array<std::byte, 8> room;
                      std::error_code error;
                      p.receive(room, 0, error);
                      s.reported(error);
                  }),
    };
}

std::vector<park_point> of_streams() {
    return {
        reading("read_some", [](scene&, connection& c) { EXPECT_EQ(c.near.read_some(c.some), 4u); }),
        reading("read_some_by_error_code",
                [](scene& s, connection& c) {
                    std::error_code error;
                    c.near.read_some(c.some, error);
                    s.reported(error);
                }),
        reading("read_exact", [](scene&, connection& c) { c.near.read_exact(c.some); }),
        reading("read_exact_by_error_code",
                [](scene& s, connection& c) {
                    std::error_code error;
                    c.near.read_exact(c.some, error);
                    s.reported(error);
                }),
        reading("read_until", [](scene&, connection& c) { EXPECT_EQ(c.near.read_until('d', 100), "abcd"); }),
        reading("read_until_by_error_code",
                [](scene& s, connection& c) {
                    std::error_code error;
                    c.near.read_until("d", 100, error);
                    s.reported(error);
                }),
        reading("wait_readable", [](scene&, connection& c) { c.near.wait_readable(); }),
        reading("wait_readable_by_error_code",
                [](scene& s, connection& c) {
                    std::error_code error;
                    c.near.wait_readable(error);
                    s.reported(error);
                }),
        reading("select_on_readable", [](scene&, connection& c) { select(on_readable(c.near)); }),
        reading("select_on_readable_and_a_channel",
                [](scene&, connection& c) { select(on_receive(channel<int>(), nothing), on_readable(c.near)); }),
        writing("write_all", [](scene&, connection& c, std::string_view much) { c.near.write_all(much); }),
        writing("write_all_by_error_code",
                [](scene& s, connection& c, std::string_view much) {
                    std::error_code error;
                    const auto written = c.near.write_all(much, error);
                    EXPECT_EQ(written == much.size(), !error);
                    s.reported(error);
                }),
        writing("write_some",
                [](scene&, connection& c, std::string_view much) {
                    while (!much.empty()) much.remove_prefix(c.near.write_some(much));
                }),
        accepting("accept", [](scene&, tcp::listener& l) { EXPECT_TRUE(l.accept().is_open()); }),
        accepting("accept_by_error_code",
                  [](scene& s, tcp::listener& l) {
                      std::error_code error;
                      l.accept(error);
                      s.reported(error);
                  }),
        accepting("a_step_of_a_listeners_range",
                  [](scene&, tcp::listener& l) {
                      for (tcp::stream peer : l) {
                          EXPECT_TRUE(peer.is_open());
                          break;
                      }
                  }),
        at_once("connect",
                [](scene& s) {
                    const auto l = s.prepare(local_listener);
                    tcp::stream::connect(l.local());
                }),
        at_once("connect_by_error_code",
                [](scene& s) {
                    const auto l = s.prepare(local_listener);
                    std::error_code error;
                    tcp::stream::connect(l.local(), error);
                    s.reported(error);
                }),
        at_once("resolve", [](scene&) { static_cast<void>(net::resolve("127.0.0.1", 80)); }),
        at_once("resolve_by_error_code",
                [](scene& s) {
                    std::error_code error;
                    static_cast<void>(net::resolve("127.0.0.1", 80, error));
                    s.reported(error);
                }),
    };
}

INSTANTIATE_TEST_SUITE_P(of_udp, interruption_of_a_stream, ::testing::ValuesIn(rows_of(of_udp())),
                         [](const auto& each) { return name_of(each.param); });
INSTANTIATE_TEST_SUITE_P(of_unix_sockets, interruption_of_a_stream, ::testing::ValuesIn(rows_of(of_unix_sockets())),
                         [](const auto& each) { return name_of(each.param); });
INSTANTIATE_TEST_SUITE_P(all, interruption_of_a_stream, ::testing::ValuesIn(rows_of(of_streams())),
                         [](const auto& each) { return name_of(each.param); });

}  // namespace
}  // namespace weft::test::matrix
