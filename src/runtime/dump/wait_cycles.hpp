// wait_cycles.hpp - who waits for whom, as a graph: its cycles are fibers that wait for ever.
#pragma once

#include <cstddef>
#include <vector>

namespace weft::detail {

/// `waits_for[i]` are those all of whom i waits for. \returns cycles, each of which begins with its least member; every node that lies
/// on a cycle is in at least one if it has one edge, and no two have the same members.
std::vector<std::vector<std::size_t>> find_cycles(const std::vector<std::vector<std::size_t>>& waits_for);

}  // namespace weft::detail
