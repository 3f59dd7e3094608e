// configuration.hpp - the folder that `weft cluster init` writes: certificates, passwords, and the servers'
// files.
//
//  cluster.json          the cluster's name and its nodes
//  ca.pem ca.key         the authority; its key signs further certificates, and no process needs it
//  server.pem .key       of nats-server and etcd
//  NODE.pem NODE.key     of each node, by which NATS knows it
//  NODE.password         of each node and of root, for etcd, whose gateway knows no certificates
//  root.pem root.key     certificate and key of the administrator, who sets up the users of etcd
//  nats.conf etcd.yml    of the servers
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cluster/permissions.hpp"

namespace cluster {

struct init_options {
    std::string folder;
    std::string cluster = "bank";
    std::vector<std::string> nodes = {"a1", "a2", "a3"};
    std::vector<std::string> hosts = {"localhost", "127.0.0.1", "::1"};  ///< by which the servers are reached
    shared_subjects shared = {};
    int days = 365;                                                     ///< how long certificates are valid
};

/// Writes the folder, for the user's own eyes: mode 0700, its files 0600.
/// \throws std::runtime_error if one of the files is there already, or cannot be written;
///         std::invalid_argument for a name that cannot be one
void write_configuration(const init_options&);

struct configuration {
    std::string folder, cluster;
    std::vector<std::string> nodes;

    [[nodiscard]] std::string file(const std::string& name) const { return folder + "/" + name; }
    /// \throws std::runtime_error
    [[nodiscard]] std::string password_of(const std::string& user) const;
};
/// \throws std::runtime_error if it is no such folder
configuration read_configuration(const std::string& folder);

/// Writes a file of mode 0600 that is not there yet. \throws std::runtime_error
void write_new_file(const std::string& path, const std::string& text);

struct etcd_place {
    std::string data;
    std::uint16_t port = 2379, peer_port = 2380;
};
/// The text of etcd.yml, with the certificates of the folder.
std::string etcd_configuration(const std::string& folder, const etcd_place&);

}  // namespace cluster
