// replace_program.hpp - exec in the master's process, without losing a signal on the way.
//
// A handler ends with its program, and what it has noted is lost. So before the exec each thread
// that gets one of these signals blocks it and sends it on, until all threads have blocked it; it
// is pending then, and exec keeps what is pending and what is blocked. The next program notes such
// signals by a handler of its own, and unblocks them.
#pragma once

#include <signal.h>

#include <array>
#include <span>
#include <string>
#include <vector>

namespace weft::prefork {

/// Those that a master acts upon.
inline constexpr std::array<int, 4> signals_of_masters{SIGTERM, SIGINT, SIGHUP, SIGUSR2};

/// While it exists, signals_of_masters stay pending, instead of getting to their handlers.
class pending_signals {
public:
    pending_signals() noexcept;
    ~pending_signals();
    pending_signals(const pending_signals&) = delete;
    pending_signals& operator=(const pending_signals&) = delete;

private:
    std::array<struct sigaction, signals_of_masters.size()> before_{};
};

/// Runs the program in this process. It gets `variable`, "NAME=value", in its environment, and
/// these descriptors under their numbers. While a pending_signals exists.
/// \returns if it cannot be run: why, as errno. Nothing has changed then.
int replace_program(const std::vector<std::string>& words, const std::string& variable, std::span<const int> passed);

void unblock_signals_of_masters() noexcept;

/// In the next program: unblocks the signals, and notes those that come while it exists.
class noted_signals {
public:
    noted_signals() noexcept;
    ~noted_signals();
    noted_signals(const noted_signals&) = delete;
    noted_signals& operator=(const noted_signals&) = delete;

    /// \returns those that were noted so far
    static std::vector<int> take();

private:
    std::array<struct sigaction, signals_of_masters.size()> before_{};
};

}  // namespace weft::prefork
