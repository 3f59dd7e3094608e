#include "net/udp_batch.hpp"

#include <netinet/udp.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace weft::udp {
namespace {

template <class T>
T value_of(const cmsghdr& c) noexcept {
    T value;
    std::memcpy(&value, CMSG_DATA(&c), sizeof value);
    return value;
}

void store_v4(const in_pktinfo& info, arrival& into) noexcept {
    sockaddr_in6 a{};
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_addr = info.ipi_addr;
    std::memcpy(&a, &v4, sizeof v4);
    access::store(into.local, a, sizeof v4);
}

void store_v6(const in6_pktinfo& info, arrival& into) noexcept {
    sockaddr_in6 a{};
    a.sin6_family = AF_INET6;
    a.sin6_addr = info.ipi6_addr;
    if (IN6_IS_ADDR_LINKLOCAL(&a.sin6_addr)) a.sin6_scope_id = info.ipi6_ifindex;
    access::store(into.local, a, sizeof a);
}

ecn ecn_of(int traffic_class) noexcept { return static_cast<ecn>(traffic_class & 3); }

}  // namespace

void read_control(const msghdr& message, arrival& into) noexcept {
    for (cmsghdr* c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(const_cast<msghdr*>(&message), c)) {
        if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO)
            into.segment_bytes = static_cast<std::size_t>(value_of<int>(*c));
        else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO)
            store_v4(value_of<in_pktinfo>(*c), into);
        else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO)
            store_v6(value_of<in6_pktinfo>(*c), into);
        else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS)
            into.ecn = ecn_of(value_of<std::uint8_t>(*c));
        else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS)
            into.ecn = ecn_of(value_of<int>(*c));
        else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_TIMESTAMPNS) {
            const auto at = value_of<timespec>(*c);
            into.arrived = std::chrono::system_clock::time_point(std::chrono::duration_cast<std::chrono::system_clock::duration>(
                std::chrono::seconds(at.tv_sec) + std::chrono::nanoseconds(at.tv_nsec)));
        }
    }
}

batch::state::state(std::size_t datagrams, std::size_t room)
    : size(datagrams), bytes(room), data(std::make_unique_for_overwrite<std::byte[]>(datagrams * room)) {
    for (std::size_t i = 0; i < size; ++i) {
        parts[i] = {data.get() + i * bytes, bytes};
        headers[i].msg_hdr.msg_iov = &parts[i];
        headers[i].msg_hdr.msg_iovlen = 1;
        headers[i].msg_hdr.msg_name = &from[i];
        headers[i].msg_hdr.msg_control = controls[i].bytes;
    }
    used = size;
}

void batch::state::reset() noexcept {
    for (std::size_t i = 0; i < used; ++i) {
        headers[i].msg_hdr.msg_namelen = sizeof from[i];
        headers[i].msg_hdr.msg_controllen = sizeof controls[i].bytes;
    }
    used = 0;
}

std::span<const arrival> batch::state::arrived(std::size_t n) noexcept {
    used = n;
    for (std::size_t i = 0; i < n; ++i) {
        const msghdr& m = headers[i].msg_hdr;
        arrival& a = arrivals[i];
        a = {.data = std::span(data.get() + i * bytes, std::min<std::size_t>(headers[i].msg_len, bytes)),
             .truncated = (m.msg_flags & MSG_TRUNC) != 0};
        access::store(a.from, from[i], m.msg_namelen);
        if (m.msg_controllen != 0) read_control(m, a);
    }
    return std::span(arrivals).first(n);
}

batch::batch(std::size_t datagrams, std::size_t bytes) {
    if (datagrams == 0 || datagrams > most || bytes == 0)
        throw std::invalid_argument("weft: a udp::batch has room for 1 to 64 datagrams of at least a byte");
    state_ = std::make_unique<state>(datagrams, bytes);
}

batch::batch(batch&&) noexcept = default;
batch& batch::operator=(batch&&) noexcept = default;
batch::~batch() = default;

}  // namespace weft::udp
