// refusal.hpp - a filter of system calls, which stops root, too; and how a process under it tells what it has found.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <initializer_list>
#include <vector>

namespace weft::test {

[[noreturn]] inline void leave(int code) {
    std::fflush(stderr);
    ::_exit(code);
}

/// Ends the process with 1 and says where, unless the condition holds.
#define WEFT_MUST(condition)                                                                                                     \
    do {                                                                                                                         \
        if (!(condition)) {                                                                                                      \
            std::fprintf(stderr, "line %d: not %s\n", __LINE__, #condition);                                                     \
            ::weft::test::leave(1);                                                                                              \
        }                                                                                                                        \
    } while (false)

/// From now on these fail with `error`, in all threads.
inline void refuse(std::initializer_list<long> calls, int error) {
    std::vector<sock_filter> program = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
    };
    for (const long call : calls) {
        program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1));
        program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)));
    }
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    const sock_fprog all{.len = static_cast<unsigned short>(program.size()), .filter = program.data()};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &all) != 0) {
        std::perror("no filter");
        leave(3);
    }
}

}  // namespace weft::test
