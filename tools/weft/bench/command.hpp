// command.hpp - `weft bench`: its options, and what is run in which order.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "session.hpp"

namespace CLI {
class App;
}

namespace bench {

struct bench_options {
    std::vector<std::string> names;
    plan wanted;
    std::optional<std::string> json;       ///< a file, or "-" for stdout
    std::optional<std::string> plot;       ///< a folder
    bool peers = false;
};

/// Adds the arguments; the command then runs. Everything that can be wrong with them is found before the first measurement.
void add_bench(CLI::App& command, bench_options&);

}  // namespace bench
