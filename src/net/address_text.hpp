// address_text.hpp - the address of a listener for messages and dumps.
#pragma once

#include <string>

#include <weft/net/endpoint.hpp>

namespace weft::detail {

/// Empty if the listener does not tell its address.
inline std::string address_text(const net::endpoint& e) { return e.host.empty() ? std::string() : to_string(e); }

}  // namespace weft::detail
