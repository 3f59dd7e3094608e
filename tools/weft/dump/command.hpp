// command.hpp - `weft dump PID` and `weft hooks PID`: ask a process for its fibers, or for its hooked calls.
#pragma once

namespace CLI {
class App;
}

namespace dump {

struct dump_options {
    int process = 0;
    bool json = false;
};

/// Adds PID and --json; the command then prints the dump. \throws std::runtime_error if the process does not answer
void add_dump(CLI::App& command, dump_options&);
/// The same for the report of hooked calls.
void add_hooks(CLI::App& command, dump_options&);

}  // namespace dump
