// finished.hpp - a program that was run to its end, and what it left behind.
#pragma once

#include <string>
#include <vector>

namespace weft::test {

struct finished {
    int code = -1;                         ///< the exit code; 128 and the signal if one ended it
    std::string output;
    std::string errors;
};

/// Runs `program words...` with an empty stdin.
finished run_program(const std::string& program, std::vector<std::string> words);
/// The weft command.
finished run_weft(std::vector<std::string> words);

std::vector<std::string> lines_of(const std::string& text);

}  // namespace weft::test
