// command.hpp - `weft cluster`: tries a cluster of nodes on this machine.
#pragma once

#include <string>
#include <vector>

#include "cluster/configuration.hpp"
#include "cluster/dev.hpp"
#include "cluster/node.hpp"

namespace CLI {
class App;
}

namespace cluster {

struct cluster_options {
    dev_options dev;
    node_options node;
    init_options init;
    std::string permissions_of, permissions_in = "bank";  ///< a node, and its cluster
    shared_subjects permissions_shared;
    std::string users_of, users_at = "https://127.0.0.1:2379";  ///< a folder, and etcd
};

/// Adds the subcommands. In a build without weft::nats or weft::etcd the command only says what is missing.
void add_cluster(CLI::App& command, cluster_options&);

}  // namespace cluster
