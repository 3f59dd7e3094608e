// small_program.hpp - a little of everything that weft asks the system for, part by part; each part ends in its result or in one line.
#pragma once

#include <string>
#include <vector>

namespace weft::attack {

struct part_result {
    std::string name;
    std::string failure;  // empty: its result was right
};

/// Starts a runtime, runs the parts one after the other and ends it. Each part has some seconds.
/// \throws  std::exception of a runtime that cannot begin.
std::vector<part_result> run_small_program();

}  // namespace weft::attack
