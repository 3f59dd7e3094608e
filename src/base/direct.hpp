// direct.hpp - the C library's calls that may block, made directly.
//
// DIRECT-1  No code of weft's libraries calls one of these functions of the C library by name, or calls
//           a function that does. A library may stand before them and park the fiber that calls. Use
//           the functions below, which make the system call themselves, and futex_lock for std::mutex.
//
// tests/hooks shows it: scripts/check_calls lists the names that the compiled libraries use, and says
// which of them may stay and why; own_calls.cpp stands before them all and watches who calls.
//
// Each returns the result, or the negated error, and leaves errno as it was. None is a cancellation
// point. Under a sanitizer they are the C library's functions (system_call.hpp).
#pragma once

#include <chrono>
#include <cstddef>

#include <weft/detail/export.hpp>

#include "base/futex_lock.hpp"

struct epoll_event;
struct mmsghdr;
struct msghdr;
struct pollfd;
struct sockaddr;
struct timespec;

namespace weft::detail::direct {

WEFT_EXPORT long read(int fd, void* into, std::size_t bytes) noexcept;
WEFT_EXPORT long write(int fd, const void* from, std::size_t bytes) noexcept;
WEFT_EXPORT long close(int fd) noexcept;
/// For the commands that take a number, or nothing.
WEFT_EXPORT long fcntl(int fd, int command, long argument = 0) noexcept;

WEFT_EXPORT long recv(int fd, void* into, std::size_t bytes, int flags) noexcept;
WEFT_EXPORT long send(int fd, const void* from, std::size_t bytes, int flags) noexcept;
WEFT_EXPORT long sendmsg(int fd, const msghdr& message, int flags) noexcept;
WEFT_EXPORT long recvmsg(int fd, msghdr& message, int flags) noexcept;
/// Several messages. \returns how many; the rest is as it was.
WEFT_EXPORT long sendmmsg(int fd, mmsghdr* messages, unsigned count, int flags) noexcept;
/// Without a time limit: flags has MSG_DONTWAIT, or the descriptor is non-blocking.
WEFT_EXPORT long recvmmsg(int fd, mmsghdr* messages, unsigned count, int flags) noexcept;
WEFT_EXPORT long connect(int fd, const sockaddr* to, std::size_t size) noexcept;
/// Without the address of the peer.
WEFT_EXPORT long accept(int fd, int flags) noexcept;

/// Moves bytes from the current position of `from` to that of `to`.
WEFT_EXPORT long splice(int from, int to, std::size_t bytes, unsigned flags) noexcept;
WEFT_EXPORT long sendfile(int to, int from, long& offset, std::size_t bytes) noexcept;

/// The kernel does not write to `wanted`. Nobody stands before this one, but it leaves errno as it was, too.
WEFT_EXPORT long epoll_ctl(int epoll, int what, int fd, const epoll_event* wanted) noexcept;

/// \param most  how long it may wait; negative: for ever.
WEFT_EXPORT long poll(pollfd* wanted, std::size_t count, std::chrono::nanoseconds most) noexcept;

/// What waitid() tells of a child.
struct child_change {
    int child = 0;  // 0: nothing has changed
    int code = 0;   // CLD_EXITED and so on
    int status = 0;
};
WEFT_EXPORT long waitid(int child, int options, child_change& change) noexcept;

/// Blocks the calling thread for this long; signals do not shorten it.
WEFT_EXPORT void sleep_for(std::chrono::nanoseconds) noexcept;

}  // namespace weft::detail::direct
