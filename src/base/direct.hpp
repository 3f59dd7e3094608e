// direct.hpp - the C library's calls that may block, made directly.
//
// DIRECT-1  No code of weft's libraries calls one of these functions of the C library by its name, or
//           a function that would: somebody may stand before it, for whom a fiber's call is a reason
//           to park. Those that follow take the system call; futex_lock.hpp is the lock.
//
// tests/hooks shows it: scripts/check_calls lists the names that the compiled libraries use, and says
// which of them may stay and why; own_calls.cpp stands before them all and watches who calls.
//
// Each returns the result, or the negated error, and leaves errno as it was. None is a cancellation
// point. Under a sanitizer they are the C library's functions (system_call.hpp).
#pragma once

#include <chrono>
#include <cstddef>

#include "base/futex_lock.hpp"

struct msghdr;
struct pollfd;
struct sockaddr;
struct timespec;

namespace weft::detail::direct {

long read(int fd, void* into, std::size_t bytes) noexcept;
long write(int fd, const void* from, std::size_t bytes) noexcept;
long close(int fd) noexcept;
/// For the commands that take a number, or nothing.
long fcntl(int fd, int command, long argument = 0) noexcept;

long recv(int fd, void* into, std::size_t bytes, int flags) noexcept;
long send(int fd, const void* from, std::size_t bytes, int flags) noexcept;
long sendmsg(int fd, const msghdr& message, int flags) noexcept;
long connect(int fd, const sockaddr* to, std::size_t size) noexcept;
/// Without the address of the peer.
long accept(int fd, int flags) noexcept;

/// Moves what the one has at its position to the position of the other.
long splice(int from, int to, std::size_t bytes, unsigned flags) noexcept;
long sendfile(int to, int from, long& offset, std::size_t bytes) noexcept;

/// \param most  how long it may wait; negative: for ever.
long poll(pollfd* wanted, std::size_t count, std::chrono::nanoseconds most) noexcept;

/// What waitid() tells of a child.
struct child_change {
    int child = 0;  // 0: nothing has changed
    int code = 0;   // CLD_EXITED and so on
    int status = 0;
};
long waitid(int child, int options, child_change& change) noexcept;

/// Blocks its thread for as long, whatever signals come.
void sleep_for(std::chrono::nanoseconds) noexcept;

}  // namespace weft::detail::direct
