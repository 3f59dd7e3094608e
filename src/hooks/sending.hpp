// sending.hpp - completes what a socket has taken only a part of.
//
// SENDING-1  When a part was sent, an error ends the call with the part. It raises no signal then, and what
//            can be left for the next call to report is left: a connection that has ended is not written to.
#pragma once

#include <sys/socket.h>

#include "hooks/transfer.hpp"

namespace weft::hooks {

/// \param attempt  attempt(flags) sends the rest, or a part of it, and does not block.
/// \param taken    taken(bytes): they need not be sent again. \returns whether all is sent.
/// \param r        the result of the first attempt.
/// \param plain    what may block.
template <class Attempt, class Taken, class Plain>
long send_on(fiber_call& call, int fd, int flags, long r, const Attempt& attempt, const Taken& taken, const Plain& plain) {
    descriptor_wait wait(call, fd, outward);
    std::size_t done = 0;
    for (;; r = attempt(flags | MSG_DONTWAIT)) {
        if (r < 0 && r != -EAGAIN) return part_or(done, r);
        if (r >= 0) {
            done += static_cast<std::size_t>(r);
            if (taken(static_cast<std::size_t>(r)) || r == 0) return static_cast<long>(done);
            flags = (flags | MSG_NOSIGNAL) & ~MSG_FASTOPEN;  // SENDING-1
        }
        if (flags & MSG_DONTWAIT) return part_or(done, -EAGAIN);
        if (const long refused = wait.refusal(); refused != 0) return part_or(done, refused);
        const long ended = wait.park();
        if (ended == -EPERM && done == 0) {
            call.note_block();
            return plain();
        }
        if (ended != 0) return part_or(done, ended);
        if (done > 0 && (ready_now(fd, POLLOUT) & POLLHUP)) return static_cast<long>(done);  // SENDING-1
    }
}

/// The same for plain bytes, as write() sends them.
long send_rest(fiber_call& call, int fd, pieces rest, long first) noexcept;

/// As sendmsg(). `sent` bytes of it are gone already, and with them what goes with the message.
/// \param r  the result of the first attempt, when none is.
long send_message(fiber_call& call, int fd, const msghdr& message, int flags, long r, std::size_t sent = 0) noexcept;

}  // namespace weft::hooks
