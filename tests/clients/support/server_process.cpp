#include "clients/support/server_process.hpp"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>

namespace weft::test {
namespace {

using namespace std::chrono_literals;

struct account {
    uid_t user;
    gid_t group;
};

std::optional<account> account_for(run_as user) {
    if (user == run_as::the_same_user || ::geteuid() != 0) return std::nullopt;
    for (const char* const name : {"postgres", "nobody"})
        if (const passwd* const found = ::getpwnam(name)) return account{found->pw_uid, found->pw_gid};
    throw std::runtime_error("neither postgres nor nobody is a user here");
}

std::string end_of(const std::string& log) {
    std::ifstream file(log);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    return text.size() > 2000 ? text.substr(text.size() - 2000) : text;
}

/// What is the child's, between fork and exec. The signal that it gets when its parent ends is set last: a
/// change of the user unsets it.
[[noreturn]] void become(char** words, const char* log, const std::optional<account>& user, int last_signal, pid_t parent) {
    const int in = ::open("/dev/null", O_RDONLY), out = ::open(log, O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (in < 0 || out < 0 || ::dup2(in, 0) < 0 || ::dup2(out, 1) < 0 || ::dup2(out, 2) < 0) ::_exit(126);
    ::close_range(3, ~0u, 0);  // libraries open connections that programs inherit
    if (user && (::setgroups(0, nullptr) != 0 || ::setgid(user->group) != 0 || ::setuid(user->user) != 0)) ::_exit(126);
    ::prctl(PR_SET_PDEATHSIG, last_signal);
    if (::getppid() != parent) ::_exit(126);
    ::execvp(words[0], words);
    ::_exit(127);
}

pid_t start_program(const std::vector<std::string>& words, const std::string& log, run_as as, int last_signal) {
    std::vector<std::string> copies(words);
    std::vector<char*> pointers;
    for (auto& word : copies) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    const auto user = account_for(as);
    const pid_t parent = ::getpid(), child = ::fork();
    if (child == 0) become(pointers.data(), log.c_str(), user, last_signal, parent);
    if (child < 0) throw std::runtime_error("no process for " + words[0]);
    return child;
}

std::string failure_of(const std::vector<std::string>& words, int status, const std::string& log) {
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127) return words[0] + " cannot be started";
    return words[0] + " has ended with " + std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)) +
           ":\n" + end_of(log);
}

void give(const std::string& path, run_as owner) {
    const auto user = account_for(owner);
    if (user && ::chown(path.c_str(), user->user, user->group) != 0) throw std::runtime_error("cannot give away " + path);
}

}  // namespace

working_folder::working_folder(run_as owner) : path_((std::filesystem::temp_directory_path() / "weft-clients-XXXXXX").string()) {
    if (!::mkdtemp(path_.data())) throw std::runtime_error("no temporary folder");
    give(path_, owner);
}

working_folder::~working_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

server_process::~server_process() {
    if (child_ <= 0) return;
    ::kill(child_, options_.last_signal);
    const auto until = std::chrono::steady_clock::now() + 10s;
    while (!has_ended() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(5ms);
    kill();
}

bool server_process::has_ended() {
    if (child_ > 0 && ::waitpid(child_, nullptr, WNOHANG) == child_) child_ = -1;
    return child_ < 0;
}

void server_process::start(const predicate& is_ready) {
    const auto until = std::chrono::steady_clock::now() + 40s;
    for (;;) {
        if (has_ended()) child_ = start_program(words_, log_, options_.user, options_.last_signal);
        std::this_thread::sleep_for(20ms);
        if (!has_ended() && is_ready()) return;
        if (std::chrono::steady_clock::now() > until) throw std::runtime_error(words_[0] + " does not serve:\n" + end_of(log_));
    }
}

void server_process::kill() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    child_ = -1;
}

std::string run_program(const std::vector<std::string>& words, const std::string& log, run_as user) {
    const pid_t child = start_program(words, log, user, SIGKILL);
    int status = 0;
    if (::waitpid(child, &status, 0) != child || status != 0) throw std::runtime_error(failure_of(words, status, log));
    return end_of(log);
}

void make_certificate(const std::string& key, const std::string& certificate, run_as owner) {
    run_program(
        {"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
         "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", certificate},
        certificate + ".log");
    std::filesystem::permissions(key, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    give(key, owner);
    give(certificate, owner);
}

}  // namespace weft::test
