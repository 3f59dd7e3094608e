// seeds.hpp - what the documents that weft began with report for the same workloads, on their own machines.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "result.hpp"

namespace bench {

struct seed_figure {
    double value;                          ///< in the unit of the result
    const char* of;                        ///< who reached it
};

struct seed_row {
    std::string_view bench, variant, unit;
    std::uint64_t n;                       ///< of a whole run; 0 for figures per operation
    seed_figure figure;
};

std::span<const seed_row> seed_rows() noexcept;

/// The seed's figure for what the result measured, if it has one.
std::optional<seed_figure> seed_figure_for(const result&);

}  // namespace bench
