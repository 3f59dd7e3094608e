// receiving.cpp - recv() and its kin.
//
// RECEIVING-1  With MSG_WAITALL a stream is read until all is there, or it has ended. What ends it is left
//              for the next call to report if a part was read.
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>

#include "hooks/entry.hpp"
#include "hooks/fortified.hpp"
#include "hooks/transfer.hpp"

namespace weft::hooks {
namespace {

/// What the kernel answers at once whatever the file says.
constexpr bool never_waits(int flags) noexcept { return flags & (MSG_DONTWAIT | MSG_ERRQUEUE | MSG_OOB); }

/// Whether a stream has ended and all of it was read.
bool is_at_its_end(int fd) noexcept {
    int there = 0;
    return (ready_now(fd, POLLIN) & POLLHUP) && direct(SYS_ioctl, fd, FIONREAD, &there) == 0 && there == 0;
}

/// \param attempt  attempt(flags) receives what is still missing.
/// \param taken    taken(bytes): they are not missing any more. \returns whether none is.
/// \param whole    whole(flags) receives as if nothing were taken.
template <class Attempt, class Taken, class Whole>
long receive(fiber_call& call, int fd, int flags, const Attempt& attempt, const Taken& taken, const Whole& whole) {
    if (never_waits(flags)) return attempt(flags);
    descriptor_wait wait(call, fd, inward);
    const auto try_it = [&] { return attempt(flags | MSG_DONTWAIT); };
    long r = wait.until_done(try_it, [&] { return attempt(flags); });
    if (r <= 0 || !(flags & MSG_WAITALL) || taken(static_cast<std::size_t>(r))) return r;
    if (socket_option(fd, SO_TYPE) != SOCK_STREAM || wait.refusal() != 0) return r;
    if (flags & MSG_PEEK) {  // what is there already would end each wait at once
        call.note_block();
        return whole(flags);
    }
    long done = r;
    for (;;) {
        const long ended = wait.park();
        if (ended == -EPERM) call.note_block();
        if ((ended != 0 && ended != -EPERM) || is_at_its_end(fd)) break;  // RECEIVING-1
        r = ended == 0 ? try_it() : attempt(flags);
        if (r == -EAGAIN) continue;
        if (r <= 0) break;
        done += r;
        if (taken(static_cast<std::size_t>(r))) break;
    }
    return done;
}

[[gnu::always_inline]] inline ssize_t receive_from(const char* name, const void* caller, int fd, void* into, std::size_t bytes,
                                                   int flags, sockaddr* from, socklen_t* size) {
    return enter(
        name, caller, fd,
        [&](fiber_call& call) -> ssize_t {
            std::size_t done = 0;
            const auto attempt = [&](int f) {
                return direct(SYS_recvfrom, fd, static_cast<char*>(into) + done, bytes - done, f, from, size);
            };
            const auto taken = [&](std::size_t n) { return (done += n) >= bytes; };
            return give(receive(call, fd, flags, attempt, taken,
                                [&](int f) { return direct(SYS_recvfrom, fd, into, bytes, f, from, size); }));
        },
        [&] {
            if (!from && !size)
                return call_real_or<"recv", ssize_t(int, void*, std::size_t, int)>(
                    [&] { return give(direct(SYS_recvfrom, fd, into, bytes, flags)); }, fd, into, bytes, flags);
            return call_real<"recvfrom", ssize_t(int, void*, std::size_t, int, sockaddr*, socklen_t*), SYS_recvfrom>(
                fd, into, bytes, flags, from, size);
        });
}

/// Whether descriptors came with the message: the kernel does not read on behind them.
bool brings_descriptors(msghdr& m) noexcept {
    for (auto* c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) return true;
    return false;
}

long receive_message(fiber_call& call, int fd, msghdr* message, int flags) {
    const auto whole = [&](int f) { return direct(SYS_recvmsg, fd, message, f); };
    if (!(flags & MSG_WAITALL) || !message)
        return receive(
            call, fd, flags, whole, [](std::size_t) { return true; }, whole);
    // Each attempt has the whole room for what comes beside the bytes.
    const msghdr asked = *message;
    pieces rest(asked.msg_iov, asked.msg_iovlen);
    const auto attempt = [&](int f) {
        msghdr m = asked;
        m.msg_iov = const_cast<iovec*>(rest.data());
        m.msg_iovlen = rest.size();
        const long r = direct(SYS_recvmsg, fd, &m, f);
        if (r < 0) return r;
        message->msg_namelen = m.msg_namelen;
        message->msg_controllen = m.msg_controllen;
        message->msg_flags = m.msg_flags;
        return r;
    };
    const auto taken = [&](std::size_t n) {
        rest.skip(n);
        return rest.empty() || brings_descriptors(*message);
    };
    return receive(call, fd, flags, attempt, taken, [&](int f) {
        *message = asked;
        return whole(f);
    });
}

/// Ends as the kernel's does: when all are there, or the time has passed when one comes.
long receive_messages(fiber_call& call, int fd, mmsghdr* messages, unsigned count, int flags, timespec* limit) {
    const auto plain = [&] { return direct(SYS_recvmmsg, fd, messages, count, flags, limit); };
    if (count == 0 || never_waits(flags) || (limit && !is_valid(*limit))) return plain();
    const auto until = limit ? after(call.now(), nanoseconds(*limit)) : hook_never;
    descriptor_wait wait(call, fd, inward);
    unsigned done = 0;
    long error = 0;
    do {
        wait.begin_again();
        const auto attempt = [&] {
            return direct(SYS_recvmmsg, fd, messages + done, count - done, flags | MSG_DONTWAIT, nullptr);
        };
        const long r = wait.until_done(
            attempt, [&] { return direct(SYS_recvmmsg, fd, messages + done, count - done, flags | MSG_WAITFORONE, nullptr); });
        if (r < 0)
            error = r;
        else
            done += static_cast<unsigned>(r);
    } while (error == 0 && done < count && !(flags & MSG_WAITFORONE) && call.now() < until);
    if (limit && done > 0) *limit = as_timespec(until - call.now());
    return part_or(done, error);
}

}  // namespace
}  // namespace weft::hooks

using namespace weft::hooks;

extern "C" {
#pragma GCC visibility push(default)
ssize_t recv(int fd, void* into, std::size_t bytes, int flags) {
    return receive_from("recv", WEFT_CALLER, fd, into, bytes, flags, nullptr, nullptr);
}
ssize_t __recv_chk(int fd, void* into, std::size_t bytes, std::size_t room, int flags) {
    check_room(bytes, room);
    return receive_from("recv", WEFT_CALLER, fd, into, bytes, flags, nullptr, nullptr);
}
ssize_t recvfrom(int fd, void* into, std::size_t bytes, int flags, sockaddr* from, socklen_t* size) {
    return receive_from("recvfrom", WEFT_CALLER, fd, into, bytes, flags, from, size);
}
ssize_t __recvfrom_chk(int fd, void* into, std::size_t bytes, std::size_t room, int flags, sockaddr* from, socklen_t* size) {
    check_room(bytes, room);
    return receive_from("recvfrom", WEFT_CALLER, fd, into, bytes, flags, from, size);
}

ssize_t recvmsg(int fd, msghdr* message, int flags) {
    return enter(
        "recvmsg", WEFT_CALLER, fd, [&](fiber_call& call) -> ssize_t { return give(receive_message(call, fd, message, flags)); },
        [&] { return call_real<"recvmsg", ssize_t(int, msghdr*, int), SYS_recvmsg>(fd, message, flags); });
}

int recvmmsg(int fd, mmsghdr* messages, unsigned count, int flags, timespec* limit) {
    return enter(
        "recvmmsg", WEFT_CALLER, fd,
        [&](fiber_call& call) -> int {
            return static_cast<int>(give(receive_messages(call, fd, messages, count, flags, limit)));
        },
        [&] {
            return call_real<"recvmmsg", int(int, mmsghdr*, unsigned, int, timespec*), SYS_recvmmsg>(fd, messages, count, flags,
                                                                                                     limit);
        });
}
#pragma GCC visibility pop
}
