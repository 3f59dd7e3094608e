#include "cluster/command.hpp"

#include <CLI/CLI.hpp>

namespace cluster {
namespace {

void add_lease(CLI::App& command, double& seconds) {
    command.add_option("--lease", seconds, "seconds for which a node is taken to live without a word to etcd")
        ->check(CLI::Range(2.0, 3600.0))
        ->type_name("SECONDS")
        ->capture_default_str();
}

void add_dev(CLI::App& command, dev_options& o) {
    command.add_option("--nodes", o.nodes, "how many nodes")->check(CLI::Range(1, 32))->type_name("N")->capture_default_str();
    command.add_option("--dir", o.folder, "for logs and data; default: a temporary folder, removed at the end")
        ->type_name("FOLDER");
    command.add_option("--for", o.seconds, "end after so long; default: at Ctrl-C")
        ->check(CLI::Range(0.1, 1e6))
        ->type_name("SECONDS");
    command.add_option("--restart", o.pause, "seconds before a process that has ended is started again")
        ->check(CLI::Range(0.0, 3600.0))
        ->type_name("SECONDS")
        ->capture_default_str();
    add_lease(command, o.lease);
    command.callback([&o] { run_dev(o); });
}

void add_node(CLI::App& command, node_options& o) {
    command.add_option("--name", o.name, "of the node; no other node of the cluster has it")->required();
    command.add_option("--cluster", o.cluster, "its name")->capture_default_str();
    command.add_option("--nats", o.nats, "the server that carries what nodes say")->type_name("URL")->capture_default_str();
    command.add_option("--etcd", o.etcd, "the server that has names and accounts")->type_name("URL")->capture_default_str();
    add_lease(command, o.lease);
    command.callback([&o] { run_node(o); });
}

}  // namespace

void add_cluster(CLI::App& command, cluster_options& o) {
    command.require_subcommand(1);
    add_dev(*command.add_subcommand("dev", "Start NATS, etcd and nodes of the bank example on this machine, to try what happens"),
            o.dev);
    add_node(*command.add_subcommand("node", "Be one node of the bank example"), o.node);
}

}  // namespace cluster
