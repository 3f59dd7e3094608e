// url.hpp - the parts of the URL of a server.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::detail::redis {

struct server_url {
    std::string path;  // of a Unix socket; empty: host and port are meant
    std::string host;
    std::uint16_t port = 6379;
    bool tls = false;                // the connection begins with TLS
    std::string user;                // empty: the default user
    std::string password;            // empty: no AUTH
    unsigned database = 0;

    // host:port, or the path, for messages; never contains the password
    std::string name() const;
};

/// Parses redis://[[user]:password@]host[:port][/database], rediss:// with the same parts,
/// redis+unix://[[user]:password@]/path[?db=N], or unix:///path[?db=N]. User, password and path are
/// percent-encoded, an IPv6 host is in brackets.
/// \throws  std::invalid_argument naming the part that is wrong; it never shows the password.
server_url parse_url(std::string_view url);

/// \throws  std::invalid_argument if the system cannot connect to the path.
void check_path_of_socket(const server_url&);

}  // namespace weft::detail::redis
