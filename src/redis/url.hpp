// url.hpp - what a redis:// URL says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::detail::redis {

struct server_url {
    std::string host;
    std::uint16_t port = 6379;
    std::string user;                // empty: the default user
    std::string password;            // empty: no AUTH
    unsigned database = 0;

    std::string name() const;        // host:port, for messages: never the password
};

/// redis://[[user]:password@]host[:port][/database]; user and password percent-encoded, an IPv6 host in brackets.
/// \throws  std::invalid_argument naming the part that is wrong; never showing the password.
server_url parse_url(std::string_view url);

}  // namespace weft::detail::redis
