// resolve.hpp - from the name of a host to its addresses.
#pragma once

#include <cstdint>
#include <string_view>
#include <system_error>
#include <vector>

#include <weft/net/endpoint.hpp>

namespace weft::net {

/// The addresses of a host, as endpoints whose host is a number, in the order the system prefers them. At least one.
/// An empty host means this machine's loopback. A number stands for itself and is not looked up.
///
/// \throws   std::system_error in resolve_category(), what() names the host; invalid_argument for a text that can be
///           no host; weft::cancelled.
/// \parks    while the system looks the name up, on the blocking pool. Interrupted, it leaves the look-up behind.
std::vector<endpoint> resolve(std::string_view host, std::uint16_t port);
std::vector<endpoint> resolve(std::string_view host, std::uint16_t port, std::error_code& error);

/// The failures of name service, by the numbers and words of getaddrinfo(3).
const std::error_category& resolve_category() noexcept;

}  // namespace weft::net
