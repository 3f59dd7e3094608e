// seeds.hpp - what the documents that weft began with report for the same workloads, on their own machines.
#pragma once

#include <optional>
#include <string>

#include "result.hpp"

namespace bench {

struct seed_figure {
    double value;                          ///< in the unit of the result
    const char* of;                        ///< who reached it
};

/// The seed's figure for what the result measured, if it has one.
std::optional<seed_figure> seed_figure_for(const result&);

}  // namespace bench
