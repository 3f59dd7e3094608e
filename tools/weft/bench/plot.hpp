// plot.hpp - the charts of a run, drawn by share/weft/plot with matplotlib.
#pragma once

#include <filesystem>
#include <span>

#include "result.hpp"

namespace bench {

/// \throws  std::invalid_argument saying what to install, if it cannot be drawn here.
void check_plotting();

/// Writes results.jsonl, results.csv, seeds.csv and the charts as PNG and SVG.
/// \throws  std::runtime_error if the folder cannot be written or the script fails.
void draw_plots(const std::filesystem::path& folder, std::span<const result>);

}  // namespace bench
