// forked.hpp - a forked child and how it has ended, for tests of what a child may do.
#pragma once

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "support/eventually.hpp"
#include "support/scale.hpp"

namespace weft::test {

/// How it has ended: its exit code; 128 and the signal if one ended it. A child that hangs ends by an alarm.
inline int end_of(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0) {}
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// First thing in a child: it shall not outlast its test.
inline void hang_no_longer_than(unsigned seconds) {
    std::signal(SIGALRM, SIG_DFL);
    ::alarm(seconds);
}

inline constexpr unsigned most_seconds = 20;

/// In a child: ends it with 1 and says where, unless the condition holds.
#define WEFT_CHILD_MUST(condition)                                                                                               \
    do {                                                                                                                         \
        if (!(condition)) {                                                                                                      \
            std::fprintf(stderr, "child: line %d: not %s\n", __LINE__, #condition);                                              \
            ::_exit(1);                                                                                                          \
        }                                                                                                                        \
    } while (false)

/// How often threads have begun to run; empty if another than the caller's does now.
inline std::optional<long> runs_while_others_sleep() {
    long runs = 0;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        if (task.path().filename() == std::to_string(::gettid())) continue;
        std::ifstream status(task.path() / "status");
        for (std::string line; std::getline(status, line);) {
            if (line.starts_with("State:") && line.find('S', 6) == std::string::npos) return std::nullopt;
            if (const auto at = line.find("ctxt_switches:"); at != std::string::npos) runs += std::stol(line.substr(at + 14));
        }
    }
    return runs;
}

/// Whether no other thread runs, nor has run for a millisecond.
inline bool others_sleep() {
    const auto before = runs_while_others_sleep();
    if (!before) return false;
    ::usleep(1000);
    return runs_while_others_sleep() == before;
}

/// fork(). The ASan of g++ 12 leaves its allocator's lock to the child as it is (that of clang 17 takes it before), so that a child waits for
/// ever if another thread was in there. Nobody is while all sleep.
inline pid_t fork_now() {
    if (WEFT_UNDER_ASAN) static_cast<void>(eventually(others_sleep));
    return ::fork();
}

/// Runs f in a forked child, which ends with 0 if f returns.
template <class F>
pid_t start_child(F f) {
    const pid_t child = fork_now();
    if (child == 0) {
        hang_no_longer_than(most_seconds);
        f();
        ::_exit(0);
    }
    return child;
}

/// The same. \returns how it has ended.
template <class F>
int in_child(F f) {
    return end_of(start_child(std::move(f)));
}

}  // namespace weft::test
