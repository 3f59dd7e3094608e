// url.hpp - the parts of a redis:// URL.
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

    // host:port, for messages; never contains the password
    std::string name() const;
};

/// Parses redis://[[user]:password@]host[:port][/database]. User and password are percent-encoded,
/// an IPv6 host is in brackets.
/// \throws  std::invalid_argument naming the part that is wrong; it never shows the password.
server_url parse_url(std::string_view url);

}  // namespace weft::detail::redis
