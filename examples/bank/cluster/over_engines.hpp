// over_engines.hpp - a node of the bank over NATS and etcd.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <weft/etcd/client.hpp>
#include <weft/nats/client.hpp>

#include "bank_node.hpp"

namespace bank {

/// \returns the addresses in a text that has commas between them.
std::vector<std::string> addresses_in(std::string_view text);

/// Runs a node until SIGINT or SIGTERM. It prints what happens on stdout, a line at a time.
/// \param node  words, names, ledger and say are set here
/// \throws std::system_error, std::invalid_argument of the clients and the node
void run_node_over(weft::nats::client_options, const weft::etcd::client_options&, node_options node);

}  // namespace bank
