// handover.hpp - what a master leaves to the program that takes its place, in a file in memory.
//
// The new program is exec'd in the master's process, so descriptors keep their numbers, and the
// workers are its children. The check of an upgrade reads the same text as a child of the master.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <weft/net/endpoint.hpp>

#include "actor/process_child.hpp"
#include "base/owned_descriptor.hpp"
#include "prefork/ports.hpp"

namespace weft::prefork {

struct handover {
    struct port {
        net::endpoint asked = {};  // for which it was opened
        int descriptor = -1;
        opened_by whose = opened_by::a_master;
        detail::socket_file file = {};  // which the new program removes in the end
    };

    unsigned last_number = 0, current = 0;  // of generations
    std::chrono::nanoseconds grace{0};  // of the workers
    int mark = -1, life_reader = -1, life_writer = -1;
    std::vector<port> ports = {};
    std::vector<detail::running_process> workers = {};  // of the current generation, from the first on
    std::vector<std::string> lines = {};  // of events that were not handled any more

    /// All descriptors in it.
    std::vector<int> descriptors() const;
    /// \returns a file in memory. \throws std::system_error
    detail::owned_descriptor written() const;
    /// \throws std::runtime_error if it is no file that `written_by`, a process, has written
    static handover read(int file, int written_by);
};

}  // namespace weft::prefork
