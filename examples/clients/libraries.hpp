// libraries.hpp - the four libraries, one file each.
#pragma once

#include <cstdint>

#include "connection.hpp"

namespace clients {

/// scheme://user:password@host:port/path
struct address {
    std::string scheme, user, password, host, path;
    std::uint16_t port = 0;
};

std::unique_ptr<connection> connect_by_hiredis(const address&);
std::unique_ptr<connection> connect_by_libpq(const std::string& url);
std::unique_ptr<connection> connect_by_libmariadb(const address&);
std::unique_ptr<connection> connect_by_libcurl(const std::string& url);

}  // namespace clients
