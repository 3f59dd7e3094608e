#include "cluster/command.hpp"

#include <iostream>

#include <CLI/CLI.hpp>

#include <weft/runtime.hpp>

#include "cluster/etcd_users.hpp"
#include "cluster/permissions.hpp"

namespace cluster {
namespace {

void add_lease(CLI::App& command, double& seconds) {
    command.add_option("--lease", seconds, "seconds for which a node is taken to live without a word to etcd")
        ->check(CLI::Range(2.0, 3600.0))
        ->type_name("SECONDS")
        ->capture_default_str();
}

void add_dev(CLI::App& command, dev_options& o) {
    auto* const nodes =
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
    auto* const secure = command.add_flag("--secure", o.secure, "with TLS, certificates and permissions, made for this run");
    command.add_option("--config", o.config, "with those of a folder of `weft cluster init`, and its nodes")
        ->type_name("FOLDER")
        ->excludes(nodes)
        ->excludes(secure);
    add_lease(command, o.lease);
    command.callback([&o] { run_dev(o); });
}

void add_node(CLI::App& command, node_options& o) {
    command.add_option("--name", o.name, "of the node; no other node of the cluster has it")->required();
    command.add_option("--cluster", o.cluster, "its name")->capture_default_str();
    command.add_option("--nats", o.nats, "the servers that carry what nodes say")->type_name("URL,...")->capture_default_str();
    command.add_option("--etcd", o.etcd, "the servers that have names and accounts")->type_name("URL,...")->capture_default_str();
    command.add_option("--config", o.config, "certificates, passwords and the cluster's name: a folder of `weft cluster init`")
        ->type_name("FOLDER");
    add_lease(command, o.lease);
    command.callback([&o] { run_node(o); });
}

void add_shared(CLI::App& command, shared_subjects& s) {
    command.add_option("--groups", s.groups, "of actors, which each node may join and write to")
        ->delimiter(',')
        ->type_name("NAME,...");
    command.add_option("--topics", s.topics, "which each node may read and write")->delimiter(',')->type_name("NAME,...");
    command.add_option("--queues", s.queues, "of work in JetStream, which each node may fill and work on")
        ->delimiter(',')
        ->type_name("NAME,...");
}

void add_init(CLI::App& command, init_options& o) {
    command.add_option("FOLDER", o.folder, "made if it is not there; nothing in it is overwritten")->required()->type_name("");
    command.add_option("--cluster", o.cluster, "its name")->capture_default_str();
    command.add_option("--nodes", o.nodes, "their names")->delimiter(',')->type_name("NAME,...")->capture_default_str();
    command.add_option("--hosts", o.hosts, "names and addresses of the machines that the servers run on")
        ->delimiter(',')
        ->type_name("HOST,...")
        ->capture_default_str();
    command.add_option("--days", o.days, "how long the certificates are valid")
        ->check(CLI::Range(1, 36500))
        ->type_name("N")
        ->capture_default_str();
    add_shared(command, o.shared);
    command.callback([&o] {
        write_configuration(o);
        std::cout << "written: " << o.folder << " with an authority, certificates, passwords, nats.conf and etcd.yml\n"
                  << "try it: weft cluster dev --config " << o.folder << std::endl;
    });
}

void add_permissions(CLI::App& command, cluster_options& o) {
    command.add_option("--node", o.permissions_of, "whose")->required();
    command.add_option("--cluster", o.permissions_in, "its name")->capture_default_str();
    add_shared(command, o.permissions_shared);
    command.callback(
        [&o] { std::cout << nats_permissions(o.permissions_in, o.permissions_of, o.permissions_shared) << std::flush; });
}

void add_users(CLI::App& command, cluster_options& o) {
    command.add_option("FOLDER", o.users_of, "a folder of `weft cluster init`")->required()->type_name("");
    command.add_option("--etcd", o.users_at, "a new etcd that was started with etcd.yml")
        ->type_name("URL")
        ->capture_default_str();
    command.callback([&o] { weft::run([&o] { set_up_users(read_configuration(o.users_of), o.users_at); }); });
}

}  // namespace

void add_cluster(CLI::App& command, cluster_options& o) {
    command.require_subcommand(1);
    add_dev(*command.add_subcommand("dev", "Start NATS, etcd and nodes of the bank example on this machine, to try what happens"),
            o.dev);
    add_node(*command.add_subcommand("node", "Be one node of the bank example"), o.node);
    add_init(*command.add_subcommand("init", "Write certificates, passwords and permissions of a cluster"), o.init);
    add_permissions(*command.add_subcommand("permissions", "Print what a node may do at NATS, for nats.conf"), o);
    add_users(*command.add_subcommand("users", "Make the users of a cluster in a new etcd"), o);
}

}  // namespace cluster
