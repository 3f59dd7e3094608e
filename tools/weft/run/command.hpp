// command.hpp - `weft run --hooks PROGRAM`: starts a program in which calls that block park in fibers.
#pragma once

namespace CLI {
class App;
}

namespace run {

struct run_options {
    bool hooks = false;
    bool audit = false;
};

/// Adds --hooks, --audit and the program with its arguments; the command then becomes the program.
/// \throws std::runtime_error if libweft_hooks.so is not found, or the program cannot be started
void add_run(CLI::App& command, run_options&);

}  // namespace run
