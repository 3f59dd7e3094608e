// hooks.cpp - client libraries that block, in fibers and otherwise: share/weft/hooks/run and the programs that it
// needs, because this one links no such library.
#include <algorithm>
#include <string>
#include <vector>

#include "child.hpp"
#include "places.hpp"
#include "session.hpp"
#include "workloads.hpp"

namespace bench {

void hooks_workload(session& s) {
    const auto lines = output_of(shared_file("hooks/run").string(),
                                 {"--json", "--rounds", std::to_string(s.runs()), "--calls", std::to_string(s.n(600))});
    std::vector<label> labels;
    std::vector<std::vector<double>> figures;
    for (const auto& line : lines) {
        const auto r = from_json(line);
        const auto at = static_cast<std::size_t>(std::ranges::find(labels, r.variant, &label::variant) - labels.begin());
        if (at == labels.size()) {
            labels.push_back({.variant = r.variant, .workers = r.workers, .n = r.n, .unit = r.unit});
            figures.emplace_back();
        }
        figures[at].push_back(r.median);
    }
    for (std::size_t i = 0; i < labels.size(); ++i) s.report(labels[i], std::move(figures[i]));
}

}  // namespace bench
