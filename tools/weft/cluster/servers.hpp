// servers.hpp - nats-server and etcd: where they are on this machine, and how one of each is started for a trial.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cluster {

struct programs {
    std::string nats, etcd;
};
/// Looks in PATH, /usr/sbin and /usr/local/sbin.
/// \throws std::runtime_error naming the packages of what is missing
programs find_programs();

/// A loopback port that was free a moment ago, and that the system gives to nobody who connects: so a server may
/// come back to it. \throws std::runtime_error
std::uint16_t free_port();

/// \returns whether something listens at that loopback port. \parks
bool listens(std::uint16_t port);

/// The words that start a server at loopback ports, with its data in the folder.
std::vector<std::string> nats_words(const std::string& program, std::uint16_t port);
std::vector<std::string> etcd_words(const std::string& program, const std::string& folder, std::uint16_t port,
                                    std::uint16_t peer_port);

}  // namespace cluster
