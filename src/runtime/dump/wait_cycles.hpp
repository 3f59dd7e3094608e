// wait_cycles.hpp - the graph of which fiber waits for which; its cycles wait for ever.
#pragma once

#include <cstddef>
#include <vector>

namespace weft::detail {

/// `waits_for[i]` are the nodes for all of which i waits. \returns cycles, each beginning with its
/// least member. Every node that lies on a cycle and has only one edge is in at least one of them;
/// no two have the same members.
std::vector<std::vector<std::size_t>> find_cycles(const std::vector<std::vector<std::size_t>>& waits_for);

}  // namespace weft::detail
