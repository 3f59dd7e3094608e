// dev.hpp - `weft cluster dev`: a nats-server, an etcd and some nodes of the bank example, as children of
// this process.
#pragma once

#include <string>

namespace cluster {

struct dev_options {
    int nodes = 3;
    std::string folder;  ///< for logs and data; empty: a temporary one, which goes with the command
    double seconds = 0;  ///< how long it runs; 0: until SIGINT or SIGTERM
    double lease = 5;    ///< of a node, in seconds
    double pause = 3;    ///< seconds before a process that has ended is started again
    bool secure = false;  ///< with TLS, and with certificates and permissions made for this run
    std::string config;   ///< the same with those of a folder of `weft cluster init`, and its nodes
};

/// Returns when all children have ended. None outlives this process, not even if it is killed.
/// \throws std::runtime_error if a server is not installed or does not start
void run_dev(const dev_options&);

}  // namespace cluster
