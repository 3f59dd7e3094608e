// endpoint.hpp - where to listen or connect: a host, by name or number, and a port.
#pragma once

#include <weft/detail/requirements.hpp>

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft::net {

struct endpoint {
    /// A name, an IPv4 address or an IPv6 address without brackets; empty: every address of this machine. A text with a space, a
    /// bracket or a control byte is none: connecting, listening and resolving refuse it.
    std::string host;
    std::uint16_t port = 0;  ///< 0: listen on a free one

    /// Reads `host:port`, `[ipv6]:port` or `:port`.
    ///
    /// \throws  std::invalid_argument with one line that quotes the text and names what is wrong with it.
    static endpoint parse(std::string_view text);

    friend bool operator==(const endpoint&, const endpoint&) = default;
    friend std::strong_ordering operator<=>(const endpoint&, const endpoint&) = default;
};

/// The form parse() reads: an IPv6 host stands in brackets.
std::string to_string(const endpoint&);

}  // namespace weft::net
