// small_program.hpp - a little of everything that weft asks the system for, part by part; each part ends in its result or in one line.
#pragma once

namespace weft::attack {

/// Starts a runtime, runs the parts one after the other and ends it. Each part has some seconds. Prints a line for each that fails.
///
/// \returns  0 if none has failed, 4 if the result of one was wrong, else 1: an exit code.
/// \throws   std::exception of a runtime that cannot begin.
int run_small_program();

}  // namespace weft::attack
