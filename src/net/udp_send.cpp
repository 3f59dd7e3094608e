// udp_send.cpp - how udp::socket sends: one datagram, many, or one that the system cuts into many.
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>

#include <weft/net/udp.hpp>

#include "base/direct.hpp"
#include "io/operation.hpp"
#include "net/stream_forms.hpp"
#include "net/udp_address.hpp"

namespace weft::udp {
namespace {

using detail::io_direction;
using detail::io_result;
using detail::io_source;
using detail::write_wait;

constexpr std::size_t most_segments = 64;        // required: what kernels since 4.18 cut at once
constexpr std::size_t longest_datagram = 65507;  // required: by IPv4, with its headers 65,535

/// One datagram, as the system wants it.
struct outgoing {
    outgoing() noexcept = default;
    outgoing(const datagram& d, bool v6) noexcept : outgoing(d.to, d.data, v6) {}
    outgoing(const address& peer, std::span<const std::byte> data, bool v6) noexcept
        : part{const_cast<std::byte*>(data.data()), data.size()} {  // sendmsg() only reads it
        if (peer) size = access::load(peer, v6, to);
    }
    msghdr header() noexcept {
        msghdr m{};
        if (size != 0) m.msg_name = &to, m.msg_namelen = size;
        m.msg_iov = &part;
        m.msg_iovlen = 1;
        return m;
    }

    sockaddr_in6 to{};
    socklen_t size = 0;
    iovec part{};
};

/// Whether the system or the way to the peer cannot cut: EIO where the network device checks no sums,
/// EMSGSIZE or EINVAL for pieces that do not fit into one packet on the way.
bool cannot_cut(std::error_code e) noexcept {
    constexpr int reasons[] = {EIO, EINVAL, EMSGSIZE, ENOPROTOOPT, EOPNOTSUPP};
    return e.category() == std::system_category() &&
           std::find(std::begin(reasons), std::end(reasons), e.value()) != std::end(reasons);
}

/// Up to most_segments of them, by one system call.
io_result send_cut(io_source* s, const address& to, bool v6, std::span<const std::byte> data, std::size_t segment) noexcept {
    outgoing one(to, data, v6);
    struct {
        alignas(cmsghdr) std::byte bytes[CMSG_SPACE(sizeof(std::uint16_t))];
    } control{};
    msghdr message = one.header();
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = IPPROTO_UDP;
    header->cmsg_type = UDP_SEGMENT;
    header->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
    const auto cut = static_cast<std::uint16_t>(segment);
    std::memcpy(CMSG_DATA(header), &cut, sizeof cut);
    return detail::perform(s, io_direction::write, write_wait,
                           [&](int fd) { return detail::direct::sendmsg(fd, message, MSG_NOSIGNAL); });
}

/// `count` datagrams, at most batch::most, by one system call. `nth` gives each.
template <class Nth>
io_result send_many(io_source* s, bool v6, std::size_t count, Nth&& nth) noexcept {
    std::array<outgoing, batch::most> all;
    std::array<mmsghdr, batch::most> headers;
    for (std::size_t i = 0; i < count; ++i) {
        all[i] = outgoing(nth(i), v6);
        headers[i] = {.msg_hdr = all[i].header(), .msg_len = 0};
    }
    return detail::perform(s, io_direction::write, write_wait, [&](int fd) {
        return detail::direct::sendmmsg(fd, headers.data(), static_cast<unsigned>(count), MSG_NOSIGNAL);
    });
}

/// By send_many(), again and again. \returns how many.
template <class Nth>
io_result send_all(io_source* s, bool v6, std::size_t count, Nth&& nth) noexcept {
    std::size_t done = 0;
    while (done < count) {
        const auto r = send_many(s, v6, std::min(count - done, batch::most), [&](std::size_t i) { return nth(done + i); });
        if (r.error) return {done, r.error};
        done += r.count;
    }
    return {done, {}};
}

}  // namespace

void socket::send_to(const address& to, std::span<const std::byte> data, std::error_code& error) {
    outgoing one(to, data, v6_);
    const msghdr message = one.header();
    error = detail::perform(handle_.get(), io_direction::write, write_wait, [&](int fd) {
                return detail::direct::sendmsg(fd, message, MSG_NOSIGNAL);
            }).error;
}

void socket::send_to(const address& to, std::span<const std::byte> data) {
    std::error_code error;
    send_to(to, data, error);
    detail::throw_if(error, "weft: send a datagram");
}

bool socket::try_send_to(const address& to, std::span<const std::byte> data, std::error_code& error) noexcept {
    outgoing one(to, data, v6_);
    const msghdr message = one.header();
    error = detail::perform_now(handle_.get(), [&](int fd) { return detail::direct::sendmsg(fd, message, MSG_NOSIGNAL); }).error;
    if (!error) return true;
    if (error == std::errc::operation_would_block) error.clear();
    return false;
}

bool socket::try_send_to(const address& to, std::span<const std::byte> data) {
    std::error_code error;
    const bool sent = try_send_to(to, data, error);
    detail::throw_if(error, "weft: send a datagram");
    return sent;
}

std::size_t socket::send(std::span<const datagram> all, std::error_code& error) {
    return report(send_all(handle_.get(), v6_, all.size(), [&](std::size_t i) { return all[i]; }), error);
}

void socket::send(std::span<const datagram> all) {
    std::error_code error;
    send(all, error);
    detail::throw_if(error, "weft: send datagrams");
}

std::size_t socket::send_segmented(const address& to, std::span<const std::byte> data, std::size_t segment,
                                   std::error_code& error) {
    error = segment == 0 ? std::make_error_code(std::errc::invalid_argument) : std::error_code();
    if (error) return 0;
    const std::size_t at_once = std::min(most_segments, longest_datagram / segment) * segment;
    std::size_t done = 0;
    while (at_once > segment && done < data.size()) {
        const auto r = send_cut(handle_.get(), to, v6_, data.subspan(done, std::min(at_once, data.size() - done)), segment);
        error = r.error;
        if (cannot_cut(error)) break;
        if (error) return done;
        done += r.count;
    }
    const auto rest = data.subspan(done);
    const auto r = send_all(handle_.get(), v6_, (rest.size() + segment - 1) / segment, [&](std::size_t i) {
        return datagram{.data = rest.subspan(i * segment, std::min(segment, rest.size() - i * segment)), .to = to};
    });
    error = r.error;
    return done + std::min(r.count * segment, rest.size());
}

void socket::send_segmented(const address& to, std::span<const std::byte> data, std::size_t segment) {
    std::error_code error;
    send_segmented(to, data, segment, error);
    detail::throw_if(error, "weft: send datagrams");
}

}  // namespace weft::udp
