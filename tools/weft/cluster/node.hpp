// node.hpp - `weft cluster node`: one node of the bank example as this process.
#pragma once

#include <string>

namespace cluster {

struct node_options {
    std::string name;
    std::string cluster = "bank";
    /// Several have commas between them.
    std::string nats = "nats://127.0.0.1:4222";
    std::string etcd = "http://127.0.0.1:2379";
    double lease = 10;   ///< seconds
    /// A folder of `weft cluster init`, which has the cluster's name, too; empty: without TLS.
    std::string config;
};

/// Returns after SIGINT or SIGTERM. \throws std::exception
void run_node(const node_options&);

}  // namespace cluster
