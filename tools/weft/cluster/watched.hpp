// watched.hpp - a process that is started again when it ends, and whose lines are printed with its name
// before them.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "cluster/starter.hpp"

namespace cluster {

struct watched_options {
    std::string name;
    std::vector<std::string> words;
    child_output output;
    std::chrono::nanoseconds pause;  ///< before it is started again
};

/// Prints a line on stdout, with the name of its process in front. The line is written by one call.
void say(const std::string& name, const std::string& line);

/// Prints lines, and starts the process again each time that it ends, until the fiber is stopped. Then it
/// asks the process to end, and kills it after three seconds.
/// \throws weft::cancelled; std::system_error
void watch(starter&, const watched_options&, weft::io::process first);

}  // namespace cluster
