// command.hpp - `weft reload PID`: lets a master (weft/prefork.hpp) replace its workers, or itself.
#pragma once

namespace CLI {
class App;
}

namespace reload {

struct reload_options {
    int process = 0;
    bool upgrades = false;
};

/// Adds PID and --upgrade; the command then sends SIGHUP or SIGUSR2.
/// \throws std::runtime_error if the process is no master, or does not handle the signal, which might end it
void add_reload(CLI::App& command, reload_options&);

}  // namespace reload
