#include "runtime/dump/wait_cycles.hpp"

#include <algorithm>
#include <cstdint>
#include <set>

namespace weft::detail {
namespace {

enum class visit : std::uint8_t { none, on_path, over };

struct step {
    std::size_t node, next_edge;
};

void begin_with_least(std::vector<std::size_t>& cycle) {
    std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
}

}  // namespace

// A depth-first search; an edge to a node on the current path closes a cycle.
std::vector<std::vector<std::size_t>> find_cycles(const std::vector<std::vector<std::size_t>>& waits_for) {
    std::set<std::vector<std::size_t>> found;
    std::vector<visit> seen(waits_for.size(), visit::none);
    std::vector<step> path;
    for (std::size_t start = 0; start < waits_for.size(); ++start) {
        if (seen[start] != visit::none) continue;
        path.push_back({start, 0});
        seen[start] = visit::on_path;
        while (!path.empty()) {
            auto& [node, edge] = path.back();
            if (edge == waits_for[node].size()) {
                seen[node] = visit::over;
                path.pop_back();
                continue;
            }
            const auto to = waits_for[node][edge++];
            if (seen[to] == visit::none) {
                seen[to] = visit::on_path;
                path.push_back({to, 0});
            } else if (seen[to] == visit::on_path) {
                const auto from = std::find_if(path.begin(), path.end(), [&](const step& s) { return s.node == to; });
                std::vector<std::size_t> cycle;
                std::transform(from, path.end(), std::back_inserter(cycle), [](const step& s) { return s.node; });
                begin_with_least(cycle);
                found.insert(std::move(cycle));
            }
        }
    }
    return {found.begin(), found.end()};
}

}  // namespace weft::detail
