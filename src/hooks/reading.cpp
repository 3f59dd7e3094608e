// reading.cpp - read() and its kin: sockets, pipes, terminals, counters, timers and files.
//
// A file of the disk whose bytes are not in memory cannot be waited for: the call is plain, and blocks.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <climits>

#include "hooks/entry.hpp"
#include "hooks/fortified.hpp"
#include "hooks/transfer.hpp"

namespace weft::hooks {
namespace {

/// Whether a read gives fewer bytes than it was asked for at the end of the file only.
bool fills_buffers(int fd) noexcept {
    struct stat s {};
    return direct(SYS_fstat, fd, &s) == 0 && (S_ISREG(s.st_mode) || S_ISBLK(s.st_mode));
}

class reading {
public:
    reading(fiber_call& call, int fd, const iovec* into, int count) noexcept
        : call_(call), wait_(call, fd, inward), fd_(fd), into_(into), count_(count) {}

    /// \param may_be_socket  to be tried first by recv(), which is cheaper; one buffer only.
    template <class Plain>
    long run(bool may_be_socket, const Plain& plain) {
        for (;;) {
            long r = -ENOTSOCK;
            if (may_be_socket) r = direct(SYS_recvfrom, fd_, into_->iov_base, into_->iov_len, MSG_DONTWAIT);
            const bool is_socket = r != -ENOTSOCK;
            if (!is_socket) {
                may_be_socket = false;
                r = direct(SYS_preadv2, fd_, into_, count_, -1, -1, RWF_NOWAIT);
                if (r > 0) return completed(r);
                if (is_unsure(r)) {
                    if (ready_now(fd_, POLLIN)) return plain();
                    r = -EAGAIN;
                }
            }
            if (r != -EAGAIN) return r;
            r = wait_.refusal();
            if (r != 0) return is_socket ? r : plain();  // a file of the disk does not care
            r = wait_.park();
            if (r == 0) continue;
            if (r != -EPERM) return r;
            call_.note_block();
            return plain();
        }
    }

private:
    /// Bytes that are in memory may be followed by some that are not.
    long completed(long done) noexcept {
        pieces rest(into_, static_cast<std::size_t>(count_));
        rest.skip(static_cast<std::size_t>(done));
        while (!rest.empty() && fills_buffers(fd_)) {
            call_.note_block();
            const long r = direct(SYS_readv, fd_, rest.data(), rest.size());
            if (r <= 0) break;
            done += r;
            rest.skip(static_cast<std::size_t>(r));
        }
        return done;
    }

    fiber_call& call_;
    descriptor_wait wait_;
    const int fd_;
    const iovec* const into_;
    const int count_;
};

[[gnu::always_inline]] inline ssize_t read_from(const char* name, const void* caller, int fd, void* into, std::size_t bytes) {
    return enter(
        name, caller, fd,
        [&](fiber_call& call) -> ssize_t {
            const auto plain = [&] { return direct(SYS_read, fd, into, bytes); };
            if (bytes == 0 || bytes > SSIZE_MAX) return give(plain());
            const iovec all{into, bytes};
            return give(reading(call, fd, &all, 1).run(true, plain));
        },
        [&] { return call_real<"read", ssize_t(int, void*, std::size_t), SYS_read>(fd, into, bytes); });
}

}  // namespace
}  // namespace weft::hooks

using namespace weft::hooks;

extern "C" {
#pragma GCC visibility push(default)
ssize_t read(int fd, void* into, std::size_t bytes) { return read_from("read", WEFT_CALLER, fd, into, bytes); }

ssize_t __read_chk(int fd, void* into, std::size_t bytes, std::size_t room) {
    check_room(bytes, room);
    return read_from("read", WEFT_CALLER, fd, into, bytes);
}

ssize_t readv(int fd, const iovec* into, int count) {
    return enter(
        "readv", WEFT_CALLER, fd,
        [&](fiber_call& call) -> ssize_t {
            const auto plain = [&] { return direct(SYS_readv, fd, into, count); };
            if (count <= 0 || count > IOV_MAX) return give(plain());
            return give(reading(call, fd, into, count).run(false, plain));
        },
        [&] { return call_real<"readv", ssize_t(int, const iovec*, int), SYS_readv>(fd, into, count); });
}
#pragma GCC visibility pop
}
