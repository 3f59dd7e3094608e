// bank_node.hpp - one node of the bank: it takes accounts that no node has, keeps them, moves money, and
// looks at the books.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <weft/cluster.hpp>

#include "ledger.hpp"

namespace bank {

struct node_options {
    std::string name;
    std::string cluster = "bank";
    std::shared_ptr<weft::cluster::transport> words = {};
    std::shared_ptr<weft::cluster::name_store> names = {};
    std::shared_ptr<bank::ledger> ledger = {};
    std::vector<std::string> accounts = {"ann", "bob", "cy", "dan", "eve", "fay"};
    std::int64_t cents_at_first = 1000;
    std::chrono::nanoseconds lease = std::chrono::seconds(10);
    /// Between two transfers that this node asks for.
    std::chrono::nanoseconds pause = std::chrono::milliseconds(100);
    /// Between two looks at the books, by the node that has the name of the auditor.
    std::chrono::nanoseconds report_every = std::chrono::seconds(1);
    std::function<void(const std::string&)> say = {};  ///< gets lines for people
};

/// Runs a node until the fiber is stopped.
///
/// What it rests on: a name of the cluster has one owner (docs/guide/27-many-machines.md), and where that is
/// not quite so, the ledger refuses the earlier one. A transfer is in the ledger before it is answered, and
/// is delivered until the other account has answered; it is taken once because it has a number.
/// \throws weft::cancelled; what the node's constructor throws
void run_node(const node_options&);

}  // namespace bank
