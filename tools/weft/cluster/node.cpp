#include "cluster/node.hpp"

#include <chrono>
#include <optional>
#include <stdexcept>

#include <weft/runtime.hpp>
#include <weft/tls/context.hpp>

#include "bank/cluster/over_engines.hpp"
#include "cluster/configuration.hpp"

namespace cluster {

void run_node(const node_options& o) {
    const auto lease = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(o.lease));
    weft::nats::client_options nats{.servers = bank::addresses_in(o.nats), .name = o.name};
    weft::etcd::client_options etcd{.endpoints = bank::addresses_in(o.etcd), .request_limit = lease / 5};
    std::optional<weft::tls::context> tls;
    auto cluster = o.cluster;
    if (!o.config.empty()) {
        const auto c = read_configuration(o.config);
        cluster = c.cluster;
        tls.emplace(weft::tls::context_options{
            .certificate_chain = c.file(o.name + ".pem"), .private_key = c.file(o.name + ".key"), .ca = c.file("ca.pem")});
        nats.tls = etcd.tls = &*tls;
        nats.inbox_prefix = "_INBOX." + o.name;
        etcd.user = o.name;
        etcd.password = c.password_of(o.name);
    }
    weft::run([&] { bank::run_node_over(nats, etcd, {.name = o.name, .cluster = cluster, .lease = lease}); }, {.workers = 2});
}

}  // namespace cluster
