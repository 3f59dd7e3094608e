// udp_socket.cpp - udp::address and udp::socket: opening, options, receiving.
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <stdexcept>
#include <string>

#include <weft/net/udp.hpp>

#include "base/direct.hpp"
#include "base/in_quotes.hpp"
#include "io/operation.hpp"
#include "io/reporting.hpp"
#include "net/socket.hpp"
#include "net/stream_forms.hpp"
#include "net/udp_batch.hpp"

namespace weft::udp {
namespace {

using detail::failure;
using detail::set_option;
using detail::throw_if;
using detail::with_descriptor;

/// An option that has a form for each family. A socket for IPv6 also sends and receives IPv4, so it
/// takes both.
std::error_code set_both(int fd, bool v6, int v4_option, int v6_option, int value) noexcept {
    const auto on_v4 = set_option(fd, IPPROTO_IP, v4_option, value);
    if (!v6) return on_v4;
    return set_option(fd, IPPROTO_IPV6, v6_option, value);
}

std::error_code set_options(int fd, bool v6, const socket_options& o) noexcept {
    std::error_code error;
    if (o.reuse_address) error = set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (!error && o.reuse_port) error = set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1);
    if (!error && v6) error = set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, o.v6_only);
    if (!error && o.local_addresses) error = set_both(fd, v6, IP_PKTINFO, IPV6_RECVPKTINFO, 1);
    if (!error && o.ecn) error = set_both(fd, v6, IP_RECVTOS, IPV6_RECVTCLASS, 1);
    if (!error && o.arrival_times) error = set_option(fd, SOL_SOCKET, SO_TIMESTAMPNS, 1);
    if (o.gro) static_cast<void>(set_option(fd, IPPROTO_UDP, UDP_GRO, 1));  // without it each arrives alone
    return error;
}

bool has_no_such_family(std::error_code e) noexcept {
    return e == std::errc::address_family_not_supported || e == std::errc::address_not_available;
}

long change_group(int fd, const sockaddr_in6& group, unsigned interface, bool join) noexcept {
    if (group.sin6_family == AF_INET6) {
        ipv6_mreq wanted{.ipv6mr_multiaddr = group.sin6_addr, .ipv6mr_interface = interface};
        const int option = join ? IPV6_JOIN_GROUP : IPV6_LEAVE_GROUP;
        return detail::system_result([&] { return ::setsockopt(fd, IPPROTO_IPV6, option, &wanted, sizeof wanted); });
    }
    sockaddr_in v4;
    std::memcpy(&v4, &group, sizeof v4);
    ip_mreqn wanted{.imr_multiaddr = v4.sin_addr, .imr_address = {}, .imr_ifindex = static_cast<int>(interface)};
    const int option = join ? IP_ADD_MEMBERSHIP : IP_DROP_MEMBERSHIP;
    return detail::system_result([&] { return ::setsockopt(fd, IPPROTO_IP, option, &wanted, sizeof wanted); });
}

std::error_code change_group(detail::io_source* s, const address& group, unsigned interface, bool join) noexcept {
    if (!group) return std::make_error_code(std::errc::invalid_argument);
    sockaddr_in6 system{};
    access::load(group, false, system);
    return with_descriptor(s, [&](int fd) {
        const long r = change_group(fd, system, interface, join);
        return r < 0 ? failure(r) : std::error_code();
    });
}

}  // namespace

address::address(const net::endpoint& from) {
    const auto a = detail::parse_numeric(from);
    if (!a) throw std::invalid_argument("weft: " + detail::in_quotes(to_string(from)) + " has no numeric host");
    std::memcpy(bytes_.data(), &a->storage, a->size);
    size_ = static_cast<std::uint8_t>(a->size);
}

net::endpoint address::endpoint() const {
    if (size_ == 0) return {};
    detail::socket_address a;
    std::memcpy(&a.storage, bytes_.data(), size_);
    a.size = size_;
    return detail::to_endpoint(a);
}

void socket::open(const address& at, const socket_options& options, std::error_code& error) {
    sockaddr_in6 system{};
    const socklen_t size = access::load(at, false, system);
    v6_ = system.sin6_family == AF_INET6;
    auto made = detail::make_udp_socket(system.sin6_family);
    error = made.error;
    if (error) return;
    const int fd = made.handle.native();
    error = set_options(fd, v6_, options);
    if (error) return;
    const long r = detail::system_result([&] { return ::bind(fd, reinterpret_cast<const sockaddr*>(&system), size); });
    if (r < 0) {
        error = failure(r);
        return;
    }
    handle_ = std::move(made.handle);
    local_ = detail::local_endpoint(fd);
}

socket::socket(const net::endpoint& at, const socket_options& options) {
    std::error_code error;
    open(address({.host = at.host.empty() ? "::" : at.host, .port = at.port}), options, error);
    if (at.host.empty() && has_no_such_family(error)) open(address({.host = "0.0.0.0", .port = at.port}), options, error);
    if (error) throw std::system_error(error, "weft: open a UDP socket on " + to_string(at));
}

socket::socket(const net::endpoint& at, const socket_options& options, std::error_code& error) {
    if (!at.host.empty() && !detail::parse_numeric(at))
        error = std::make_error_code(std::errc::invalid_argument);
    else
        detail::reporting(error, [&] { *this = socket(at, options); });
}

std::span<const arrival> socket::receive(batch& into, std::error_code& error) {
    auto& b = *into.state_;
    const auto r = detail::perform(handle_.get(), detail::io_direction::read, detail::read_wait, [&](int fd) {
        b.reset();
        const long n = detail::direct::recvmmsg(fd, b.headers.data(), static_cast<unsigned>(b.size), MSG_DONTWAIT);
        b.used = n > 0 ? static_cast<std::size_t>(n) : 0;
        return n;
    });
    error = r.error;
    return b.arrived(r.count);
}

std::span<const arrival> socket::receive(batch& into) {
    std::error_code error;
    const auto got = receive(into, error);
    throw_if(error, "weft: receive datagrams");
    return got;
}

std::span<const arrival> socket::try_receive(batch& into, std::error_code& error) noexcept {
    auto& b = *into.state_;
    const auto r = detail::perform_now(handle_.get(), [&](int fd) {
        b.reset();
        const long n = detail::direct::recvmmsg(fd, b.headers.data(), static_cast<unsigned>(b.size), MSG_DONTWAIT);
        b.used = n > 0 ? static_cast<std::size_t>(n) : 0;
        return n;
    });
    error = r.error == std::errc::operation_would_block ? std::error_code() : r.error;
    return b.arrived(r.count);
}

std::span<const arrival> socket::try_receive(batch& into) {
    std::error_code error;
    const auto got = try_receive(into, error);
    throw_if(error, "weft: receive datagrams");
    return got;
}

arrival socket::receive(std::span<std::byte> into, std::error_code& error) {
    iovec part{into.data(), into.size()};
    sockaddr_in6 from;
    control_room control;
    msghdr message{};
    const auto r = detail::perform(handle_.get(), detail::io_direction::read, detail::read_wait, [&](int fd) {
        message = {.msg_name = &from,
                   .msg_namelen = sizeof from,
                   .msg_iov = &part,
                   .msg_iovlen = 1,
                   .msg_control = control.bytes,
                   .msg_controllen = sizeof control.bytes,
                   .msg_flags = 0};
        return detail::direct::recvmsg(fd, message, 0);
    });
    error = r.error;
    if (error) return {};
    arrival got{.data = into.first(r.count), .truncated = (message.msg_flags & MSG_TRUNC) != 0};
    access::store(got.from, from, message.msg_namelen);
    read_control(message, got);
    return got;
}

arrival socket::receive(std::span<std::byte> into) {
    std::error_code error;
    const auto got = receive(into, error);
    throw_if(error, "weft: receive a datagram");
    return got;
}

void socket::connect(const address& to, std::error_code& error) noexcept {
    sockaddr_in6 system{};
    const socklen_t size = access::load(to, v6_, system);
    error = with_descriptor(handle_.get(), [&](int fd) {
        const long r = detail::direct::connect(fd, reinterpret_cast<const sockaddr*>(&system), size);
        return r < 0 ? failure(r) : std::error_code();
    });
}
void socket::connect(const address& to) {
    std::error_code error;
    connect(to, error);
    throw_if(error, "weft: connect a UDP socket");
}

void socket::join_group(const address& group, unsigned interface, std::error_code& error) noexcept {
    error = change_group(handle_.get(), group, interface, true);
}
void socket::join_group(const address& group, unsigned interface) {
    throw_if(change_group(handle_.get(), group, interface, true), "weft: join a group");
}
void socket::leave_group(const address& group, unsigned interface, std::error_code& error) noexcept {
    error = change_group(handle_.get(), group, interface, false);
}
void socket::leave_group(const address& group, unsigned interface) {
    throw_if(change_group(handle_.get(), group, interface, false), "weft: leave a group");
}

void socket::set_dont_fragment(bool on, std::error_code& error) noexcept {
    error = with_descriptor(handle_.get(), [&](int fd) {
        // Both families number these alike.
        return set_both(fd, v6_, IP_MTU_DISCOVER, IPV6_MTU_DISCOVER, on ? IP_PMTUDISC_DO : IP_PMTUDISC_DONT);
    });
}
void socket::set_dont_fragment(bool on) {
    std::error_code error;
    set_dont_fragment(on, error);
    throw_if(error, "weft: set_dont_fragment");
}

void socket::set_ecn(udp::ecn mark, std::error_code& error) noexcept {
    error =
        with_descriptor(handle_.get(), [&](int fd) { return set_both(fd, v6_, IP_TOS, IPV6_TCLASS, static_cast<int>(mark)); });
}
void socket::set_ecn(udp::ecn mark) {
    std::error_code error;
    set_ecn(mark, error);
    throw_if(error, "weft: set_ecn");
}

}  // namespace weft::udp
