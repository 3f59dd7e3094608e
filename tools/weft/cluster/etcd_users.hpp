// etcd_users.hpp - the users and roles of a cluster in etcd, which are set up once, when etcd is new.
#pragma once

#include <string>

#include "cluster/configuration.hpp"

namespace cluster {

/// Makes a user for each node with a role of its permissions, and root, and turns authentication on.
/// \parks until etcd has answered \throws std::runtime_error with what etcd has said;
/// weft::http::client_error
void set_up_users(const configuration&, const std::string& etcd_url);

}  // namespace cluster
