// host.hpp - which texts can be the host of an endpoint, and how messages show an endpoint.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include <weft/net/endpoint.hpp>

#include "base/in_quotes.hpp"

namespace weft::detail {

/// A host has no space, no bracket and no control byte. A NUL would end the text for the system,
/// but not for a check.
inline bool is_host(std::string_view text) noexcept {
    return std::ranges::all_of(text,
                               [](char c) { return static_cast<unsigned char>(c) > ' ' && c != 0x7f && c != '[' && c != ']'; });
}

/// Whether the endpoint is a Unix socket (unix_address.hpp). `unix` alone is a name like another.
inline bool is_unix(std::string_view host) noexcept { return host.starts_with("unix:/") || host.starts_with("unix:@"); }

inline constexpr std::string_view not_a_host = "the host has a space, a bracket or a control byte";

/// to_string(), but quoted if the host is invalid, so that the result is one line that no byte cuts
/// short.
inline std::string shown(const net::endpoint& e) { return is_host(e.host) ? to_string(e) : in_quotes(to_string(e)); }

}  // namespace weft::detail
