// command_line.hpp - the options of the service, and one line for whoever gets them wrong.
#pragma once

#include "serve.hpp"

namespace CLI {
class App;
}

namespace users {

/// Adds --listen, --store, --store-ca, --tls-cert, --tls-key, --workers, --processes and --grace; the command then serves.
void add_serve(CLI::App& command, serve_options&);

/// Parses and runs.
/// \returns  the exit code: 0; 2 after one line on stderr that says what was wrong.
int run_command_line(CLI::App& program, int argc, char** argv);

}  // namespace users
