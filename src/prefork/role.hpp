// role.hpp - the two parts that run() plays.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <weft/prefork.hpp>

#include "prefork/handover.hpp"
#include "prefork/ports.hpp"

namespace weft::prefork {

/// "GENERATION.NUMBER@PID" in the environment of a worker, with the master's number.
inline constexpr const char* role_variable = "WEFT_PREFORK";
/// "FILE@PID" in the environment of a program that takes the place of the master PID, which is
/// this process: FILE is the number of the descriptor of its handover. "check@PID" in that of a
/// child of the master, which only tries whether it could.
inline constexpr const char* upgrade_variable = "WEFT_PREFORK_UPGRADE";
/// The name under which such a child gets the handover.
inline constexpr std::string_view handover_descriptor = "handover";
/// An empty file in memory of this name, which a master keeps open, tells `weft reload` that it is
/// one: another process might be ended by SIGHUP.
inline constexpr const char* mark_of_masters = "weft-prefork-master";
/// The name under which a worker gets the read end of the pipe that ends with the master.
inline constexpr std::string_view life_descriptor = "life";
/// The name of the i-th port.
inline std::string port_descriptor(std::size_t i) { return "port" + std::to_string(i); }

// chosen: a worker has this time to end by itself after the grace
inline constexpr std::chrono::seconds after_grace{5};

/// Lets the signal change nothing, unless the program has ignored or handled it. By a handler, since
/// an ignored signal would be ignored in the programs that this one starts, too.
void do_nothing_at(int number) noexcept;

/// \returns the exit code
int run_as_worker(const options&, const std::function<void(worker&)>&, const std::string& role);
/// Opens what a master would, says that it is ready, and ends. \returns the exit code
int run_as_check(const options&, int master);

/// What a master begins with.
struct master_beginning {
    /// The program, empty for that of this process, and its arguments.
    std::vector<std::string> words = {};
    std::optional<handover> left = {};  // by the program whose place this one takes
    std::vector<given_descriptor> given = {};  // by a supervisor of services
};
/// \returns the exit code
int run_as_master(const options&, master_beginning);

}  // namespace weft::prefork
