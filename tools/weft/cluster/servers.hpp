// servers.hpp - nats-server and etcd: where they are on this machine, and how one of each is started for a
// trial.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cluster/configuration.hpp"

namespace cluster {

struct programs {
    std::string nats, etcd;
};
/// Looks in PATH, /usr/sbin and /usr/local/sbin.
/// \throws std::runtime_error naming the packages of what is missing
programs find_programs();

/// A loopback port that was free a moment ago, and that the system gives to nobody who connects: so a server
/// may come back to it. \throws std::runtime_error
std::uint16_t free_port();

/// \returns whether something listens at that loopback port. \parks
bool listens(std::uint16_t port);

/// Where the two servers of a trial listen on loopback, and how they are configured.
struct places {
    std::string folder;  ///< for their data
    std::uint16_t nats = free_port(), etcd = free_port(), etcd_peer = free_port();
    const configuration* secured = nullptr;  ///< null: without TLS, for everybody on this machine

    [[nodiscard]] std::string nats_url() const;
    [[nodiscard]] std::string etcd_url() const;
};

/// The words that start a server.
std::vector<std::string> nats_words(const std::string& program, const places&);
/// Writes etcd's configuration into the folder if there is TLS.
std::vector<std::string> etcd_words(const std::string& program, const places&);

}  // namespace cluster
