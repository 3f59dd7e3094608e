#include "cluster/node.hpp"

#include <chrono>

#include <weft/runtime.hpp>

#include "bank/cluster/over_engines.hpp"

namespace cluster {

void run_node(const node_options& o) {
    const auto lease = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(o.lease));
    const weft::nats::client_options nats{.servers = {o.nats}, .name = o.name};
    const weft::etcd::client_options etcd{.endpoints = {o.etcd}, .request_limit = lease / 5};
    weft::run([&] { bank::run_node_over(nats, etcd, {.name = o.name, .cluster = o.cluster, .lease = lease}); }, {.workers = 2});
}

}  // namespace cluster
