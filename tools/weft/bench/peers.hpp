// peers.hpp - the same workloads in other languages and libraries, run by share/weft/peers/run.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "result.hpp"

namespace bench {

/// \throws  std::invalid_argument if the script is not there.
void check_peers();

/// Runs `run NAME --workers W --runs N` for each name and each W, and hands over the results it prints, in order. The script
/// names peers that are missing on stderr and leaves them out; a name it fails for is named here and left out.
void run_peers(std::span<const std::string> names, std::span<const unsigned> workers, unsigned runs,
               const std::function<void(const result&)>& take);

}  // namespace bench
