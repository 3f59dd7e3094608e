// stores.hpp - users in a database, by client libraries that block, as they are.
#pragma once

#include <memory>
#include <string>

#include "store.hpp"

namespace clients {

/// hiredis://host:port, postgres://user:password@host:port/database, mysql://user:password@host:port/database,
/// and http://host:port of another users service, by libcurl. redis://host:port is weft's own client, to
/// compare. To be called, as the store itself, by a fiber that is a thread.
/// \param connections  that there are at most.
/// \throws std::invalid_argument, std::runtime_error naming what is wrong
std::unique_ptr<users::store> open_store(const std::string& url, unsigned connections);

}  // namespace clients
