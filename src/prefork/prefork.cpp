// prefork.cpp - checks the options and chooses the part that this process plays.
#include <weft/prefork.hpp>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <stdexcept>

#include "base/cpus.hpp"
#include "base/direct.hpp"
#include "prefork/role.hpp"

namespace weft::prefork {
namespace {

void check_time(const char* name, std::chrono::nanoseconds t, bool may_be_zero) {
    if (t > std::chrono::nanoseconds::zero() || (may_be_zero && t == std::chrono::nanoseconds::zero())) return;
    throw std::invalid_argument("weft: prefork: " + std::string(name) + " is " + std::to_string(t.count()) + " ns; it must be " +
                                (may_be_zero ? "zero or more" : "more than zero"));
}

options checked(options o) {
    check_time("grace", o.grace, true);
    check_time("ready_within", o.ready_within, false);
    check_time("within", o.within, false);
    const unsigned cpus = detail::usable_cpus();
    if (o.processes == 0) o.processes = cpus;
    if (o.runtime.workers == 0) o.runtime.workers = std::max(1U, cpus / o.processes);
    return o;
}

/// Whose master a role names. It is a stranger's if a worker has started this program before it has
/// taken its own role out of the environment.
enum class master_is : std::uint8_t { parent, gone, a_strangers };

master_is master_of(const std::string& role) noexcept {
    int process = 0;
    const auto at = role.find('@');
    // A role of another form is refused by the worker.
    if (at == std::string::npos) return master_is::parent;
    std::from_chars(role.data() + at + 1, role.data() + role.size(), process);
    if (process <= 0 || process == ::getppid()) return master_is::parent;
    return ::kill(process, 0) != 0 && errno == ESRCH ? master_is::gone : master_is::a_strangers;
}

/// The working directory by the name under which the program was started, which a link may be a
/// part of.
std::string current_folder() {
    std::error_code error;
    if (const char* const named = ::getenv("PWD"); named && *named == '/' && std::filesystem::equivalent(named, ".", error))
        return named;
    return std::filesystem::current_path(error).string();
}

/// The path of this program as it was called, absolute, and with the links in it: after a change of
/// a link it names another program. Empty if that is not to be found.
std::string path_as_called(const char* called) {
    const std::string name = called ? called : "";
    const auto is_this = [](const std::string& path) {
        std::error_code error;
        return std::filesystem::equivalent(path, "/proc/self/exe", error);
    };
    const auto absolute = [](const std::string& path) { return path.starts_with('/') ? path : current_folder() + '/' + path; };
    if (name.empty()) return "";
    if (name.find('/') != std::string::npos) return is_this(name) ? absolute(name) : "";
    const char* const all = ::getenv("PATH");
    std::istringstream folders(all ? all : "");
    for (std::string folder; std::getline(folders, folder, ':');) {
        const auto path = (folder.empty() ? "." : folder) + '/' + name;
        if (is_this(path)) return absolute(path);
    }
    return "";
}

std::optional<std::string> take_variable(const char* name) {
    const char* const value = ::getenv(name);
    if (!value) return std::nullopt;
    std::string text = value;
    ::unsetenv(name);  // a program that this process starts has another part
    return text;
}

/// The two words of "WHAT@PID"; the number is 0 if there is none.
std::pair<std::string, int> what_and_process(const std::string& text) {
    const auto at = text.find('@');
    int process = 0;
    if (at != std::string::npos) std::from_chars(text.data() + at + 1, text.data() + text.size(), process);
    return {text.substr(0, at), process};
}

/// A variable of a stranger changes nothing.
std::optional<handover> take_handover(const std::string& text) {
    const auto [what, process] = what_and_process(text);
    int file = -1;
    const auto [end, error] = std::from_chars(what.data(), what.data() + what.size(), file);
    if (process != ::getpid() || error != std::errc() || end != what.data() + what.size()) return std::nullopt;
    const detail::owned_descriptor held(file);
    auto left = handover::read(file, process);
    for (const int fd : left.descriptors()) detail::direct::fcntl(fd, F_SETFD, FD_CLOEXEC);
    return left;
}

}  // namespace

void do_nothing_at(int number) noexcept {
    struct sigaction now {};
    if (::sigaction(number, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) || now.sa_handler != SIG_DFL) return;
    struct sigaction nothing {};
    nothing.sa_handler = [](int) {};
    nothing.sa_flags = SA_RESTART | SA_ONSTACK;
    ::sigaction(number, &nothing, nullptr);
}

int run(int argc, char** argv, const options& o, const std::function<void(worker&)>& work) {
    const auto all = checked(o);
    const auto upgrade = take_variable(upgrade_variable);
    if (const auto role = take_variable(role_variable)) {
        switch (master_of(*role)) {
            case master_is::parent: return run_as_worker(all, work, *role);
            case master_is::gone: std::fprintf(stderr, "weft: prefork: the master has gone before this worker began\n"); return 1;
            case master_is::a_strangers: break;
        }
    }
    if (upgrade)
        if (const auto [what, process] = what_and_process(*upgrade); what == "check" && process == ::getppid())
            return run_as_check(all, process);
    master_beginning b{.words = {path_as_called(argc > 0 ? argv[0] : nullptr)}};
    for (int i = 1; i < argc; ++i) b.words.emplace_back(argv[i]);
    if (upgrade) b.left = take_handover(*upgrade);
    b.given = take_given_descriptors();
    return run_as_master(all, std::move(b));
}

}  // namespace weft::prefork
