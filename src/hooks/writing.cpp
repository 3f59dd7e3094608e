// writing.cpp - write() and its kin: all is written before they return.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <climits>

#include "hooks/entry.hpp"
#include "hooks/sending.hpp"
#include "hooks/transfer.hpp"

namespace weft::hooks {
namespace {

/// One attempt that does not block, for what is no socket.
long write_some(int fd, pieces& rest) noexcept { return direct(SYS_pwritev2, fd, rest.data(), rest.size(), -1, -1, RWF_NOWAIT); }

/// \param first  the result of the first attempt.
long write_file(fiber_call& call, int fd, pieces rest, long first) {
    descriptor_wait wait(call, fd, outward);
    std::size_t done = 0;
    const auto plainly = [&] {
        const long r = direct(SYS_writev, fd, rest.data(), rest.size());
        return r < 0 ? part_or(done, r) : static_cast<long>(done) + r;
    };
    for (long r = first;; r = write_some(fd, rest)) {
        if (r > 0) {
            done += static_cast<std::size_t>(r);
            rest.skip(static_cast<std::size_t>(r));
        }
        if (r == 0 || rest.empty()) return static_cast<long>(done);
        if (r < 0 && is_unsure(r)) {
            if (ready_now(fd, POLLOUT)) return plainly();
        } else if (r < 0 && r != -EAGAIN) {
            return part_or(done, r);
        }
        if (wait.refusal() != 0) return plainly();  // a file of the disk does not care
        const long ended = wait.park();
        if (ended == -EPERM) {
            call.note_block();
            return plainly();
        }
        if (ended != 0) return part_or(done, ended);
    }
}

}  // namespace
}  // namespace weft::hooks

using namespace weft::hooks;

extern "C" {
#pragma GCC visibility push(default)
// Of a socket with SOCK_SEQPACKET write() marks the end of a record (MSG_EOR), which send() does not. No
// protocol of the Internet and no local socket looks at it.
ssize_t write(int fd, const void* from, std::size_t bytes) {
    return enter(
        "write", WEFT_CALLER, fd,
        [&](fiber_call& call) -> ssize_t {
            if (bytes == 0 || bytes > SSIZE_MAX) return give(direct(SYS_write, fd, from, bytes));
            const iovec all{const_cast<void*>(from), bytes};
            const long r = direct(SYS_sendto, fd, from, bytes, MSG_DONTWAIT);
            if (r != -ENOTSOCK) return give(send_rest(call, fd, {&all, 1}, r));
            pieces rest(&all, 1);
            return give(write_file(call, fd, rest, write_some(fd, rest)));
        },
        [&] { return call_real<"write", ssize_t(int, const void*, std::size_t), SYS_write>(fd, from, bytes); });
}

ssize_t writev(int fd, const iovec* from, int count) {
    return enter(
        "writev", WEFT_CALLER, fd,
        [&](fiber_call& call) -> ssize_t {
            if (count <= 0 || count > IOV_MAX) return give(direct(SYS_writev, fd, from, count));
            pieces all(from, static_cast<std::size_t>(count));
            const long r = write_some(fd, all);  // the kernel reads the array first, which may be anywhere
            if (r < 0 && r != -EAGAIN && !is_unsure(r)) return give(r);
            if (r == 0) return 0;
            if (socket_option(fd, SO_TYPE) > 0) return give(send_rest(call, fd, all, is_unsure(r) ? -EAGAIN : r));
            return give(write_file(call, fd, all, r));
        },
        [&] { return call_real<"writev", ssize_t(int, const iovec*, int), SYS_writev>(fd, from, count); });
}
#pragma GCC visibility pop
}
