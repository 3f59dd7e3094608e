// locking_files.cpp - flock(), fcntl() and lockf().
//
// Nothing tells when a lock of a file is free, so it is tried now and then.
//
// Two processes that wait for each other's fcntl() locks are not told so by EDEADLK: the kernel looks only at
// those that wait in it.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>

#include "hooks/clock.hpp"
#include "hooks/entry.hpp"

namespace weft::hooks {
namespace {

/// Repeats attempt() while it says that somebody has the lock.
template <class Attempt>
long try_until_free(fiber_call& call, const Attempt& attempt) {
    for (std::int64_t pause = millisecond;; pause = std::min(2 * pause, 20 * millisecond)) {
        long r = attempt();
        if (r != -EAGAIN && r != -EACCES) return r;
        r = call.sleep(after(call.now(), pause));
        if (r != -ETIME) return r;
    }
}

long flock_in(fiber_call& call, int fd, int what) {
    const auto attempt = [&] { return direct(SYS_flock, fd, what | LOCK_NB); };
    if (what & (LOCK_NB | LOCK_UN)) return direct(SYS_flock, fd, what);
    return try_until_free(call, attempt);
}

long plain_fcntl(int fd, int command, void* argument) {
    return call_real_or<"fcntl", int(int, int, ...)>([&] { return give(direct(SYS_fcntl, fd, command, argument)); }, fd, command,
                                                     argument);
}

[[gnu::always_inline]] inline int fcntl_for(const char* name, const void* caller, int fd, int command, void* argument) {
    const auto plain = [&] { return static_cast<int>(plain_fcntl(fd, command, argument)); };
    if (command != F_SETLKW && command != F_OFD_SETLKW) return plain();
    return enter(
        name, caller, fd,
        [&](fiber_call& call) -> int {
            const int once = command == F_SETLKW ? F_SETLK : F_OFD_SETLK;
            return static_cast<int>(give(try_until_free(call, [&] { return direct(SYS_fcntl, fd, once, argument); })));
        },
        plain);
}

/// From the current position, as lockf() has it.
struct flock range_from_here(off_t bytes) noexcept {
    struct flock range {};
    range.l_type = F_WRLCK;
    range.l_whence = SEEK_CUR;
    range.l_len = bytes;
    return range;
}

/// lockf() without the C library.
long plain_lockf(int fd, int command, off_t bytes) noexcept {
    auto range = range_from_here(bytes);
    switch (command) {
        case F_ULOCK: range.l_type = F_UNLCK; return direct(SYS_fcntl, fd, F_SETLK, &range);
        case F_LOCK: return direct(SYS_fcntl, fd, F_SETLKW, &range);
        case F_TLOCK: return direct(SYS_fcntl, fd, F_SETLK, &range);
        case F_TEST: {
            range.l_type = F_RDLCK;
            const long r = direct(SYS_fcntl, fd, F_GETLK, &range);
            if (r < 0 || range.l_type == F_UNLCK || range.l_pid == direct(SYS_getpid)) return r;
            return -EACCES;
        }
        default: return -EINVAL;
    }
}

[[gnu::always_inline]] inline int lockf_for(const char* name, const void* caller, int fd, int command, off_t bytes) {
    const auto plain = [&] {
        return call_real_or<"lockf", int(int, int, off_t)>([&] { return give(plain_lockf(fd, command, bytes)); }, fd, command,
                                                           bytes);
    };
    if (command != F_LOCK) return plain();
    return enter(
        name, caller, fd,
        [&](fiber_call& call) -> int {
            return static_cast<int>(give(try_until_free(call, [&] { return plain_lockf(fd, F_TLOCK, bytes); })));
        },
        plain);
}

}  // namespace
}  // namespace weft::hooks

using namespace weft::hooks;

extern "C" {
#pragma GCC visibility push(default)
int flock(int fd, int what) noexcept {
    return enter(
        "flock", WEFT_CALLER, fd, [&](fiber_call& call) -> int { return static_cast<int>(give(flock_in(call, fd, what))); },
        [&] { return static_cast<int>(give(direct(SYS_flock, fd, what))); });
}

// What is passed is a number or an address, or nothing: as the C library, it is taken for an address and
// handed on.
int fcntl(int fd, int command, ...) {
    va_list more;
    va_start(more, command);
    void* const argument = va_arg(more, void*);
    va_end(more);
    return fcntl_for("fcntl", WEFT_CALLER, fd, command, argument);
}
int fcntl64(int fd, int command, ...) {
    va_list more;
    va_start(more, command);
    void* const argument = va_arg(more, void*);
    va_end(more);
    return fcntl_for("fcntl", WEFT_CALLER, fd, command, argument);
}

int lockf(int fd, int command, off_t bytes) { return lockf_for("lockf", WEFT_CALLER, fd, command, bytes); }
int lockf64(int fd, int command, off64_t bytes) { return lockf_for("lockf", WEFT_CALLER, fd, command, bytes); }
#pragma GCC visibility pop
}
