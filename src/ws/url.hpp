// url.hpp - the parts of the URL of a WebSocket. [RFC6455, 3]
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::detail::ws {

struct socket_url {
    bool tls = false;
    std::string host;       // without the brackets of IPv6
    std::uint16_t port = 80;
    std::string authority;  // as the Host field has it
    std::string target;     // path and query
};

/// \throws  std::invalid_argument naming the part that is wrong.
socket_url parse_url(std::string_view url);

}  // namespace weft::detail::ws
