// report.hpp - what was measured, for people and for programs.
#pragma once

#include <iosfwd>
#include <vector>

#include "echo.hpp"
#include "hand_off.hpp"

namespace bench::uring {

/// Medians, with the quartiles in parentheses; of hand_off, with the least and the most.
void print_table(std::ostream&, unsigned connections, const std::vector<echo_row>&);
void print_table(std::ostream&, const std::vector<hand_off_row>&);

/// Lines as those of `weft bench --json` (docs/performance.md); of echo, `n` is the number of
/// connections, of hand-off, the number of messages.
void print_json(std::ostream&, unsigned connections, const std::vector<echo_row>&);
void print_json(std::ostream&, const std::vector<hand_off_row>&);

}  // namespace bench::uring
