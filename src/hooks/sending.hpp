// sending.hpp - completes what a socket has taken only a part of.
//
// SENDING-1  When a part was sent, an error ends the call with the part. It raises no signal then, and what
//            can be left for the next call to report is left: a connection that has ended is not written to.
// SENDING-2  When nothing was sent, what has ended the wait is the error of the call, as it is for a thread
//            that waits in the kernel. A new attempt may hide it: by EPIPE, and a signal.
#pragma once

#include <sys/socket.h>

#include "hooks/transfer.hpp"

namespace weft::hooks {

/// \param attempt  attempt(flags) sends the rest, or a part of it, and does not block.
/// \param taken    taken(bytes): they need not be sent again. \returns whether all is sent.
/// \param r        the result of the last attempt.
/// \param plain    what may block.
/// \param done     how much was sent before that attempt.
template <class Attempt, class Taken, class Plain>
long send_on(fiber_call& call, int fd, int flags, long r, const Attempt& attempt, const Taken& taken, const Plain& plain,
             std::size_t done = 0) {
    descriptor_wait wait(call, fd, outward);
    for (;; r = attempt(flags | MSG_DONTWAIT)) {
        if (r < 0 && r != -EAGAIN) return part_or(done, r);
        if (r >= 0) {
            done += static_cast<std::size_t>(r);
            if (taken(static_cast<std::size_t>(r)) || r == 0) return static_cast<long>(done);
        }
        if (done > 0) flags = (flags | MSG_NOSIGNAL) & ~MSG_FASTOPEN;  // SENDING-1
        if (flags & MSG_DONTWAIT) return part_or(done, -EAGAIN);
        if (const long refused = wait.refusal(); refused != 0) return part_or(done, refused);
        const long ended = wait.park();
        if (ended == -EPERM) {
            call.note_block();
            if (done == 0) return plain();
            r = attempt(flags);
            return r < 0 ? static_cast<long>(done) : static_cast<long>(done) + r;
        }
        if (ended != 0) return part_or(done, ended);
        const short now = ready_now(fd, POLLOUT);
        if (done > 0 && now & POLLHUP) return static_cast<long>(done);  // SENDING-1
        if (done == 0 && now & POLLERR)
            if (const long error = socket_option(fd, SO_ERROR); error > 0) return -error;  // SENDING-2
    }
}

/// Does what send_on() does, for plain bytes, as write() sends them.
long send_rest(fiber_call& call, int fd, pieces rest, long first) noexcept;

/// As sendmsg(). `sent` bytes of it are gone already, and with them what goes with the message.
/// \param r  the result of the last attempt, which has sent none or those that `sent` does not count.
/// \returns  with those that were sent before.
long send_message(fiber_call& call, int fd, const msghdr& message, int flags, long r, std::size_t sent = 0) noexcept;

}  // namespace weft::hooks
