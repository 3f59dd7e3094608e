// forked.hpp - a forked child and how it has ended, for tests of what a child may do.
#pragma once

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

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

/// Runs f in a forked child, which ends with 0 if f returns.
template <class F>
int in_child(F f) {
    const pid_t child = ::fork();
    if (child == 0) {
        hang_no_longer_than(most_seconds);
        f();
        ::_exit(0);
    }
    return end_of(child);
}

}  // namespace weft::test
