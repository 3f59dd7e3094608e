#include "prefork/replace_program.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "base/atomic.hpp"
#include "base/direct.hpp"

namespace weft::prefork {
namespace {

detail::atomic<unsigned> noted{0};  // a bit for each of signals_of_masters

void block_and_send_on(int number, siginfo_t*, void* context) {
    const int kept = errno;
    ::sigaddset(&static_cast<ucontext_t*>(context)->uc_sigmask, number);
    ::kill(::getpid(), number);
    errno = kept;
}

void note(int number) {
    for (std::size_t i = 0; i < signals_of_masters.size(); ++i)
        if (signals_of_masters[i] == number) noted.fetch_or(1U << i, detail::relaxed);  // relaxed: nothing else is read
}

/// SIGPIPE, too: the next program handles it no sooner than the others.
sigset_t set_of_masters() noexcept {
    sigset_t set;
    ::sigemptyset(&set);
    for (const int number : signals_of_masters) ::sigaddset(&set, number);
    ::sigaddset(&set, SIGPIPE);
    return set;
}

void set_close_on_exec(std::span<const int> descriptors, bool on) noexcept {
    for (const int fd : descriptors) detail::direct::fcntl(fd, F_SETFD, on ? FD_CLOEXEC : 0);
}

}  // namespace

pending_signals::pending_signals() noexcept {
    struct sigaction action {};
    action.sa_sigaction = block_and_send_on;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    for (std::size_t i = 0; i < signals_of_masters.size(); ++i) ::sigaction(signals_of_masters[i], &action, &before_[i]);
}

pending_signals::~pending_signals() {
    for (std::size_t i = 0; i < signals_of_masters.size(); ++i) ::sigaction(signals_of_masters[i], &before_[i], nullptr);
    // A thread that has blocked one keeps it blocked; this one must take what is pending.
    unblock_signals_of_masters();
}

int replace_program(const std::vector<std::string>& words, const std::string& variable, std::span<const int> passed) {
    const std::string_view name = std::string_view(variable).substr(0, variable.find('=') + 1);
    std::vector<char*> argv, environment;
    for (const auto& w : words) argv.push_back(const_cast<char*>(w.c_str()));
    for (char** e = environ; *e; ++e)
        if (!std::string_view(*e).starts_with(name)) environment.push_back(*e);
    environment.push_back(const_cast<char*>(variable.c_str()));
    argv.push_back(nullptr);
    environment.push_back(nullptr);
    const auto set = set_of_masters();
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    set_close_on_exec(passed, false);
    ::execve(argv[0], argv.data(), environment.data());
    const int why = errno;
    set_close_on_exec(passed, true);
    return why;
}

void unblock_signals_of_masters() noexcept {
    const auto set = set_of_masters();
    ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

noted_signals::noted_signals() noexcept {
    struct sigaction action {};
    action.sa_handler = note;
    action.sa_flags = SA_RESTART | SA_ONSTACK;
    for (std::size_t i = 0; i < signals_of_masters.size(); ++i) ::sigaction(signals_of_masters[i], &action, &before_[i]);
    unblock_signals_of_masters();
}

noted_signals::~noted_signals() {
    for (std::size_t i = 0; i < signals_of_masters.size(); ++i) ::sigaction(signals_of_masters[i], &before_[i], nullptr);
}

std::vector<int> noted_signals::take() {
    const auto bits = noted.exchange(0, detail::relaxed);  // relaxed: nothing else is read
    std::vector<int> all;
    for (std::size_t i = 0; i < signals_of_masters.size(); ++i)
        if (bits & (1U << i)) all.push_back(signals_of_masters[i]);
    return all;
}

}  // namespace weft::prefork
