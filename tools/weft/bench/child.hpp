// child.hpp - runs another program and reads what it prints.
#pragma once

#include <string>
#include <vector>

namespace bench {

/// The file that this program was started from.
std::string own_program();

/// Runs `program words...`, found on the PATH if it has no slash; stderr is shared, stdin is empty.
/// \returns  the lines of its stdout.
/// \throws   std::runtime_error if it cannot be started or does not end with 0; std::system_error.
std::vector<std::string> output_of(const std::string& program, const std::vector<std::string>& words);

/// \returns  whether `program words...` ends with 0; what it prints goes nowhere.
bool succeeds(const std::string& program, const std::vector<std::string>& words);

}  // namespace bench
