#include "reload/command.hpp"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include <CLI/CLI.hpp>

#include "prefork/role.hpp"

namespace reload {
namespace {

[[noreturn]] void refuse(int process, const std::string& why) {
    throw std::runtime_error("reload: process " + std::to_string(process) + ' ' + why);
}

/// Whether the process has the mark of masters open.
bool is_master(int process) {
    const auto folder = "/proc/" + std::to_string(process) + "/fd";
    const auto mark = std::string("/memfd:") + weft::prefork::mark_of_masters + " (deleted)";
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        std::error_code gone;  // closed meanwhile
        if (std::filesystem::read_symlink(entry.path(), gone) == mark) return true;
    }
    return false;
}

/// The process, held so that its number cannot come to mean another one. Without pidfds in the
/// system it is its number.
class held_process {
public:
    explicit held_process(int number) noexcept : number_(number), fd_(static_cast<int>(::syscall(SYS_pidfd_open, number, 0))) {}
    ~held_process() {
        if (fd_ >= 0) ::close(fd_);
    }
    held_process(const held_process&) = delete;
    held_process& operator=(const held_process&) = delete;

    bool signal(int signal) const noexcept {
        return (fd_ >= 0 ? ::syscall(SYS_pidfd_send_signal, fd_, signal, nullptr, 0) : ::kill(number_, signal)) == 0;
    }

private:
    const int number_;
    const int fd_;
};

/// Whether the process has a handler for the signal, or has blocked it, as a master does while it
/// becomes another program.
bool takes(int process, int signal) {
    std::ifstream file("/proc/" + std::to_string(process) + "/status");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("SigCgt:") || line.starts_with("SigBlk:"))
            if (std::stoull(line.substr(7), nullptr, 16) >> (signal - 1) & 1) return true;
    return false;
}

void run(const reload_options& options) {
    const int process = options.process;
    const int signal = options.upgrades ? SIGUSR2 : SIGHUP;
    const std::string name = options.upgrades ? "SIGUSR2" : "SIGHUP";
    const held_process held(process);
    if (!held.signal(0)) refuse(process, "cannot be sent " + name + ": " + std::strerror(errno));
    try {
        if (!is_master(process)) refuse(process, "is no master of worker processes, and " + name + " might end it");
    } catch (const std::filesystem::filesystem_error& e) {
        refuse(process, "cannot be looked at: " + e.code().message());
    }
    if (!takes(process, signal)) refuse(process, "is a master that does not handle " + name + ", which might end it");
    if (!held.signal(signal)) refuse(process, "cannot be sent " + name + ": " + std::strerror(errno));
}

}  // namespace

void add_reload(CLI::App& command, reload_options& options) {
    command
        .add_option("PID", options.process, "the master: the process that was started, for instance by weft serve --processes 4")
        ->required()
        ->check(CLI::Range(1, 1 << 22))
        ->type_name("");
    command.add_flag("--upgrade", options.upgrades,
                     "let the master become the program that is at its path by now, too, with what that reads at its start");
    command.callback([&options] { run(options); });
}

}  // namespace reload
