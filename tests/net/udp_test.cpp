// udp_test.cpp - UDP at every place: batches, what is told of each datagram, failures, groups.
#include <weft/net/udp.hpp>

#include <gtest/gtest.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <string>
#include <vector>

#include <weft/select.hpp>

#include "tcp_fixture.hpp"

namespace weft::test {
namespace {

using udp::address;
using udp::arrival;
using udp::batch;
using udp::datagram;

// What no operation here reports: each must set its error, or clear it.
const std::error_code untouched = std::make_error_code(std::errc::io_error);

udp::socket local_socket(const udp::socket_options& options = {}) {
    return udp::socket({.host = "127.0.0.1", .port = 0}, options);
}
address of(const udp::socket& s) { return address(s.local()); }
std::string text_of(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

class udp_test : public tcp_test {};

TEST_P(udp_test, datagrams_come_with_their_sender) {
    run([&] {
        auto server = local_socket();
        auto client = local_socket();
        auto echo = beside([&] {
            batch room(4);
            for (const arrival& d : server.receive(room)) server.send_to(d.from, d.data);
        });
        client.send_to(of(server), "hello");
        std::array<std::byte, 16> room;
        const auto answer = client.receive(room);
        EXPECT_EQ(text_of(answer.data), "hello");
        EXPECT_EQ(answer.from, of(server));
        EXPECT_EQ(answer.from.endpoint(), server.local());
        EXPECT_FALSE(answer.truncated);
    });
}

TEST_P(udp_test, a_batch_takes_what_is_there) {
    run([&] {
        auto server = local_socket();
        auto client = local_socket();
        std::vector<std::string> texts;
        for (int i = 0; i < 100; ++i) texts.push_back(std::to_string(i));
        std::vector<datagram> all;
        for (const auto& t : texts) all.push_back({.data = bytes_of(t), .to = of(server)});
        auto sender = beside([&] { client.send(all); });
        batch room;
        std::vector<std::string> got;
        while (got.size() < texts.size())
            for (const arrival& d : server.receive(room)) got.push_back(text_of(d.data));
        EXPECT_EQ(got, texts) << "loopback keeps them all, and in order";
        sender.join();
        EXPECT_TRUE(server.try_receive(room).empty());
    });
}

TEST_P(udp_test, closing_wakes_who_waits) {
    run([&] {
        auto s = local_socket();
        auto closer = beside([&] {
            sleep(20ms);
            s.close();
        });
        batch room;
        std::error_code error = untouched;
        EXPECT_TRUE(s.receive(room, error).empty());
        EXPECT_EQ(error, std::errc::bad_file_descriptor);
        std::array<std::byte, 4> one;
        s.receive(one, error);
        EXPECT_EQ(error, std::errc::bad_file_descriptor);
        EXPECT_FALSE(s.try_send_to(address(), bytes_of("x"), error));
        EXPECT_EQ(error, std::errc::bad_file_descriptor);
    });
}

TEST_P(udp_test, a_deadline_ends_a_wait) {
    run([&] {
        auto s = local_socket();
        batch room(1);
        std::error_code error = untouched;
        with_timeout(5ms, [&] { s.receive(room, error); });
        EXPECT_EQ(error, std::errc::timed_out);
        EXPECT_THROW(with_timeout(5ms, [&] { s.receive(room); }), timeout_error);
    });
}

TEST_P(udp_test, a_refusal_is_told_to_one_call) {
    run([&] {
        auto gone = local_socket();
        auto s = local_socket();
        s.connect(of(gone));
        gone.close();
        s.send("x");
        batch room(8);
        std::error_code error = untouched;
        s.receive(room, error);
        EXPECT_EQ(error, std::errc::connection_refused);
        with_timeout(5ms, [&] { s.receive(room, error); });
        EXPECT_EQ(error, std::errc::timed_out) << "it is told once";
    });
}

INSTANTIATE_TEST_SUITE_P(all, udp_test, every_place(), name_of);

TEST(udp, what_does_not_fit_is_said_to_be_cut_and_only_that) {
    auto server = local_socket();
    auto client = local_socket();
    const datagram all[] = {{bytes_of("1234"), of(server)}, {bytes_of("12345"), of(server)}, {{}, of(server)}};
    client.send(all);
    batch room(8, 4);
    const auto got = server.receive(room);
    ASSERT_EQ(got.size(), 3u);
    EXPECT_FALSE(got[0].truncated);
    EXPECT_TRUE(got[1].truncated);
    EXPECT_EQ(text_of(got[1].data), "1234");
    EXPECT_FALSE(got[2].truncated);
    EXPECT_TRUE(got[2].data.empty()) << "an empty datagram is one, too";
    client.send_to(of(server), "12345");
    std::array<std::byte, 4> four;
    EXPECT_TRUE(server.receive(four).truncated);
}

TEST(udp, a_connected_socket_receives_from_its_peer_only) {
    auto server = local_socket();
    auto client = local_socket();
    auto stranger = local_socket();
    client.connect(of(server));
    stranger.send_to(of(client), "stranger");
    server.send_to(of(client), "server");
    std::array<std::byte, 16> room;
    EXPECT_EQ(text_of(client.receive(room).data), "server");
    client.send("to the peer");
    EXPECT_EQ(text_of(server.receive(room).data), "to the peer");
}

/// Sends 150,001 bytes as segments, and counts what arrives by `segment_bytes`.
void send_and_count(const udp::socket_options& options, std::size_t segment) {
    auto server = local_socket(options);
    const int much = 4 << 20;
    ::setsockopt(server.native_handle(), SOL_SOCKET, SO_RCVBUF, &much, sizeof much);
    auto client = local_socket();
    const auto bytes = pattern(150'001, 1);
    weft::run([&] {
        // In parts that any receive buffer has room for.
        std::vector<std::byte> got;
        batch room(8, 65535);
        for (std::size_t at = 0; at < bytes.size();) {
            const auto part = std::span(bytes).subspan(at, std::min<std::size_t>(40 * segment, bytes.size() - at));
            client.send_segmented(of(server), part, segment);
            at += part.size();
            while (got.size() < at)
                for (const arrival& d : server.receive(room)) {
                    if (d.segment_bytes != 0) {
                        EXPECT_EQ(d.segment_bytes, segment);
                    } else {
                        EXPECT_LE(d.data.size(), segment);
                    }
                    got.insert(got.end(), d.data.begin(), d.data.end());
                }
        }
        EXPECT_EQ(got, bytes);
    });
}

TEST(udp, one_call_sends_many_segments) { send_and_count({}, 1200); }
TEST(udp, segments_may_arrive_together) { send_and_count({.gro = true}, 1200); }

TEST(udp, segments_that_the_system_does_not_cut_are_sent_one_by_one) {
    auto server = local_socket();
    auto client = local_socket();
    // The system cuts nothing for a socket that sends no checksums (udp(7)).
    const int on = 1;
    ASSERT_EQ(::setsockopt(client.native_handle(), SOL_SOCKET, SO_NO_CHECK, &on, sizeof on), 0);
    const auto bytes = pattern(3000, 2);
    client.send_segmented(of(server), bytes, 1000);
    batch room;
    std::vector<std::byte> got;
    std::size_t count = 0;
    while (got.size() < bytes.size())
        for (const arrival& d : server.receive(room)) {
            ++count;
            got.insert(got.end(), d.data.begin(), d.data.end());
        }
    EXPECT_EQ(count, 3u);
    EXPECT_EQ(got, bytes);
    std::error_code error;
    EXPECT_EQ(client.send_segmented(of(server), bytes, 0, error), 0u);
    EXPECT_EQ(error, std::errc::invalid_argument);
}

TEST(udp, an_arrival_tells_what_was_asked_for) {
    for (const char* host : {"127.0.0.1", ""}) {
        udp::socket server({.host = host, .port = 0}, {.local_addresses = true, .ecn = true, .arrival_times = true});
        auto client = local_socket();
        client.set_ecn(udp::ecn::ect_0);
        const address to({.host = "127.0.0.1", .port = server.local().port});
        const auto before = std::chrono::system_clock::now();
        client.send_to(to, "x");
        batch room(1);
        const auto got = server.receive(room);
        ASSERT_EQ(got.size(), 1u);
        EXPECT_EQ(got[0].local.endpoint().host, "127.0.0.1") << host;
        EXPECT_EQ(got[0].ecn, udp::ecn::ect_0) << host;
        EXPECT_GE(got[0].arrived, before - 1s);
        EXPECT_LE(got[0].arrived, std::chrono::system_clock::now() + 1s);
        EXPECT_EQ(got[0].from, of(client)) << "an IPv4 peer has its IPv4 form";
        server.send_to(got[0].from, "y");
        std::array<std::byte, 4> four;
        EXPECT_EQ(text_of(client.receive(four).data), "y");
    }
}

TEST(udp, members_of_a_group_receive_what_is_sent_to_it) {
    udp::socket member({.host = "0.0.0.0", .port = 0}, {.reuse_address = true});
    const unsigned loopback = ::if_nametoindex("lo");
    const address group({.host = "239.255.77.1", .port = member.local().port});
    member.join_group(group, loopback);
    auto sender = local_socket();
    const ip_mreqn by{.imr_multiaddr = {}, .imr_address = {}, .imr_ifindex = static_cast<int>(loopback)};
    ASSERT_EQ(::setsockopt(sender.native_handle(), IPPROTO_IP, IP_MULTICAST_IF, &by, sizeof by), 0);
    sender.send_to(group, "all");
    std::array<std::byte, 4> room;
    std::error_code error = untouched;
    EXPECT_EQ(text_of(with_timeout(10s, [&] { return member.receive(room, error); }).data), "all");
    member.leave_group(group, loopback);
    member.leave_group(group, loopback, error);
    EXPECT_EQ(error, std::errc::address_not_available);
    member.join_group({}, 0, error);
    EXPECT_EQ(error, std::errc::invalid_argument);
}

TEST(udp, failures_are_named) {
    auto s = local_socket();
    std::error_code error = untouched;
    EXPECT_FALSE(udp::socket({.host = "localhost"}, {}, error).is_open());
    EXPECT_EQ(error, std::errc::invalid_argument);
    EXPECT_FALSE(udp::socket(s.local(), {}, error).is_open());
    EXPECT_EQ(error, std::errc::address_in_use);
    EXPECT_THROW(udp::socket({.host = "no.number", .port = 1}), std::invalid_argument);
    EXPECT_THROW(batch(65), std::invalid_argument);
    EXPECT_THROW(batch(1, 0), std::invalid_argument);
    s.send_to(of(s), std::vector<std::byte>(65508), error);
    EXPECT_EQ(error, std::errc::message_size);
    s.set_dont_fragment(true, error);
    EXPECT_FALSE(error);
    const datagram two[] = {{bytes_of("ok"), of(s)}, {std::span<const std::byte>(), address()}};
    EXPECT_EQ(s.send(two, error), 1u) << "the second has no peer";
    EXPECT_EQ(error, std::errc::destination_address_required);
    std::array<std::byte, 4> room;
    EXPECT_EQ(text_of(s.receive(room, error).data), "ok");
    EXPECT_FALSE(error);
}

TEST(udp, is_a_case_of_a_select) {
    weft::run([] {
        auto s = local_socket();
        auto other = local_socket();
        auto sender = spawn([&] { other.send_to(of(s), "x"); });
        int came = 0;
        select(on_readable(s, [&] { ++came; }), on_timeout(10s, [] {}));
        EXPECT_EQ(came, 1);
        batch room;
        EXPECT_EQ(s.try_receive(room).size(), 1u);
    });
}

}  // namespace
}  // namespace weft::test
