// resolve.hpp - resolves the name of a host to its addresses.
#pragma once

#include <cstdint>
#include <string_view>
#include <system_error>
#include <vector>

#include <weft/detail/export.hpp>
#include <weft/net/endpoint.hpp>

namespace weft::net {

/// \returns  the addresses of a host, at least one, in the order the system prefers them, each as
///           an endpoint whose host is a number. An empty host means this machine's loopback
///           addresses. A host that is already a number is returned without a look-up.
///
/// \throws   std::system_error in resolve_category(), whose what() names the host; invalid_argument
///           for a text that cannot be a host; weft::cancelled.
/// \parks    while the system looks the name up on a pool of threads for look-ups. If interrupted,
///           it returns and leaves the look-up running.
WEFT_EXPORT [[nodiscard]] std::vector<endpoint> resolve(std::string_view host, std::uint16_t port);
WEFT_EXPORT [[nodiscard]] std::vector<endpoint> resolve(std::string_view host, std::uint16_t port, std::error_code& error);

/// The failures of the name service, with the numbers and texts of getaddrinfo(3).
WEFT_EXPORT [[nodiscard]] const std::error_category& resolve_category() noexcept;

}  // namespace weft::net
