// endpoint.hpp - where to listen or connect: a host, by name or number, and a port.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft::net {

/// A host and a port: `weft::net::endpoint::parse("example.org:80")`, or
/// `{.host = "::1", .port = 80}`. Or a Unix socket: the host is `unix:/path` or `unix:@name`, and the
/// port 0. http::server listens there; TCP refuses it with address_family_not_supported.
struct WEFT_EXPORT endpoint {
    /// A name, an IPv4 address, or an IPv6 address without brackets; empty: every address of this
    /// machine when listening, loopback when connecting or resolving. A text with a space, a
    /// bracket or a control byte is not a host: connecting, listening and resolving reject it.
    std::string host;
    std::uint16_t port = 0;  ///< 0: listen on any free port

    /// Parses `host:port`, `[ipv6]:port`, `:port`, `unix:/path` or `unix:@name`.
    ///
    /// \throws  std::invalid_argument with one line that quotes the text and says what is wrong
    ///          with it.
    [[nodiscard]] static endpoint parse(std::string_view text);

    friend bool operator==(const endpoint&, const endpoint&) = default;
    friend std::strong_ordering operator<=>(const endpoint&, const endpoint&) = default;
};

/// Writes the form that parse() reads; an IPv6 host is put in brackets.
WEFT_EXPORT [[nodiscard]] std::string to_string(const endpoint&);

}  // namespace weft::net
