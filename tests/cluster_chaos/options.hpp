// options.hpp - what the driver of the chaos (tests/cluster_chaos/run) tells a node.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace chaos {

/// A fault that the judge must find.
enum class fault {
    none,
    acknowledges_first,  ///< a job is acknowledged before it is handled
    forgetful_ledger,    ///< a new owner of an account does not learn what it has taken
    tells_nobody,         ///< what one link of five is told is not recorded
    tells_twice,         ///< each failure is recorded twice
};

struct options {
    std::string name;
    std::vector<std::string> peers;  ///< the other nodes
    std::string nats, etcd;          ///< addresses with commas between them
    unsigned life = 1;               ///< grows with each process of this name
    std::string records;             ///< the file for what was done
    std::string end_of_jobs;         ///< once this file exists, no more jobs are sent
    double lease = 8;                ///< seconds
    fault planted = fault::none;

    [[nodiscard]] std::chrono::nanoseconds lease_time() const {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(lease));
    }
    /// "a1.3"
    [[nodiscard]] std::string self() const { return name + '.' + std::to_string(life); }
};

}  // namespace chaos
