// udp_address.hpp - between udp::address and the system's addresses.
#pragma once

#include <netinet/in.h>

#include <cstring>

#include <weft/net/udp.hpp>

#include "net/socket_address.hpp"

namespace weft::udp {

/// Has access to the bytes of an address.
struct access {
    /// From what the system tells. An IPv4 address that is mapped into IPv6 is kept as IPv4.
    static void store(address& into, const sockaddr_in6& from, socklen_t size) noexcept {
        if (from.sin6_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&from.sin6_addr)) {
            sockaddr_in v4{};
            v4.sin_family = AF_INET;
            v4.sin_port = from.sin6_port;
            std::memcpy(&v4.sin_addr, from.sin6_addr.s6_addr + 12, sizeof v4.sin_addr);
            into.size_ = sizeof v4;
            std::memcpy(into.bytes_.data(), &v4, sizeof v4);
            return;
        }
        into.size_ = static_cast<std::uint8_t>(size);
        std::memcpy(into.bytes_.data(), &from, size);
    }

    /// For a socket of this kind: one for IPv6 sends to IPv4 by a mapped address.
    static socklen_t load(const address& from, bool v6, sockaddr_in6& into) noexcept {
        std::memcpy(&into, from.bytes_.data(), sizeof into);
        if (!v6 || into.sin6_family != AF_INET) return from.size_;
        sockaddr_in v4;
        std::memcpy(&v4, from.bytes_.data(), sizeof v4);
        into = {};
        into.sin6_family = AF_INET6;
        into.sin6_port = v4.sin_port;
        into.sin6_addr.s6_addr[10] = into.sin6_addr.s6_addr[11] = 0xff;
        std::memcpy(into.sin6_addr.s6_addr + 12, &v4.sin_addr, sizeof v4.sin_addr);
        return sizeof into;
    }
};

}  // namespace weft::udp
