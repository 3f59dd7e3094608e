// absent.cpp - `weft cluster` in a build that lacks what it needs.
#include <stdexcept>

#include <CLI/CLI.hpp>

#include "cluster/command.hpp"

namespace cluster {

void add_cluster(CLI::App& command, cluster_options&) {
    command.allow_extras();
    command.footer("This weft was built without it: " WEFT_CLUSTER_MISSING " is missing.");
    command.callback([] { throw std::runtime_error("cluster: this weft was built without " WEFT_CLUSTER_MISSING); });
}

}  // namespace cluster
