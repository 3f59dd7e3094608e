// copying.cpp - sendfile() and splice().
//
// A socket that waits cannot be asked for one call that does not. So it is waited for first, and then gets no
// more at a time than it has room for.
#include <fcntl.h>
#include <linux/sock_diag.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "hooks/entry.hpp"
#include "hooks/transfer.hpp"

namespace weft::hooks {
namespace {

bool is_pipe(int fd) noexcept {
    struct stat s {};
    return direct(SYS_fstat, fd, &s) == 0 && S_ISFIFO(s.st_mode);
}

bool is_socket(int fd) noexcept { return socket_option(fd, SO_TYPE) > 0; }

/// How many bytes a socket that poll() has found writable takes without a wait, more or less.
std::size_t room_of(int socket) noexcept {
    std::array<std::uint32_t, SK_MEMINFO_VARS> memory{};
    socklen_t size = sizeof memory;
    constexpr std::size_t least = 4096;
    if (direct(SYS_getsockopt, socket, SOL_SOCKET, SO_MEMINFO, memory.data(), &size) < 0) return least;
    const auto used = std::max(memory[SK_MEMINFO_WMEM_QUEUED], memory[SK_MEMINFO_WMEM_ALLOC]);
    const auto all = memory[SK_MEMINFO_SNDBUF];
    // What a buffer costs beside its bytes is counted as well: chosen, half.
    return std::max<std::size_t>(least, all > used ? (all - used) / 2 : 0);
}

long sendfile_in(fiber_call& call, int to, int from, off_t* offset, std::size_t bytes) {
    const auto plain = [&] { return direct(SYS_sendfile, to, from, offset, bytes); };
    const bool to_pipe = is_pipe(to);
    if (bytes == 0 || (!to_pipe && !is_socket(to))) {
        call.note_block();
        return plain();
    }
    descriptor_wait wait(call, to, outward);
    std::size_t done = 0;
    while (done < bytes) {
        long r = -EAGAIN;
        if (ready_now(to, POLLOUT)) {
            if (to_pipe)
                r = direct(SYS_splice, from, offset, to, nullptr, bytes - done, SPLICE_F_NONBLOCK);
            else
                r = direct(SYS_sendfile, to, from, offset, std::min(bytes - done, room_of(to)));
        }
        if (r == 0) break;
        if (r > 0) {
            done += static_cast<std::size_t>(r);
            if (to_pipe) break;  // it is given what fits
            continue;
        }
        if (r != -EAGAIN) return part_or(done, r);
        if (const long refused = wait.refusal(); refused != 0) return done > 0 ? static_cast<long>(done) : plain();
        const long ended = wait.park();
        if (ended == -EPERM) {
            call.note_block();
            const long rest = direct(SYS_sendfile, to, from, offset, bytes - done);
            return rest < 0 ? part_or(done, rest) : static_cast<long>(done) + rest;
        }
        if (ended != 0) return part_or(done, ended);
    }
    return static_cast<long>(done);
}

long splice_in(fiber_call& call, int from, off64_t* from_offset, int to, off64_t* to_offset, std::size_t bytes, unsigned flags) {
    const auto plain = [&] { return direct(SYS_splice, from, from_offset, to, to_offset, bytes, flags); };
    const bool from_pipe = is_pipe(from), to_pipe = is_pipe(to);
    if (bytes == 0 || flags & SPLICE_F_NONBLOCK || !(from_pipe || to_pipe)) return plain();
    if ((from_pipe && from_offset) || (to_pipe && to_offset)) return plain();  // it is refused at once
    descriptor_wait source(call, from, inward), sink(call, to, outward);
    const bool to_socket = is_socket(to);
    for (;;) {
        const bool is_full = !ready_now(to, POLLOUT);
        if (!is_full && ready_now(from, POLLIN)) {
            const auto most = to_socket ? std::min(bytes, room_of(to)) : bytes;
            const long r = direct(SYS_splice, from, from_offset, to, to_offset, most, flags | SPLICE_F_NONBLOCK);
            if (r != -EAGAIN) return r;
        }
        auto& wait = is_full ? sink : source;
        if (wait.refusal() != 0) return plain();
        const long ended = wait.park();
        if (ended == -EPERM) {
            call.note_block();
            return plain();
        }
        if (ended != 0) return ended;
    }
}

[[gnu::always_inline]] inline ssize_t sendfile_for(const void* caller, int to, int from, off_t* offset, std::size_t bytes) {
    return enter(
        "sendfile", caller, to, [&](fiber_call& call) -> ssize_t { return give(sendfile_in(call, to, from, offset, bytes)); },
        [&]() -> ssize_t { return give(direct(SYS_sendfile, to, from, offset, bytes)); });
}

}  // namespace
}  // namespace weft::hooks

using namespace weft::hooks;

extern "C" {
#pragma GCC visibility push(default)
ssize_t sendfile(int to, int from, off_t* offset, std::size_t bytes) noexcept {
    return sendfile_for(WEFT_CALLER, to, from, offset, bytes);
}
ssize_t sendfile64(int to, int from, off64_t* offset, std::size_t bytes) noexcept {
    return sendfile_for(WEFT_CALLER, to, from, offset, bytes);
}

ssize_t splice(int from, off64_t* from_offset, int to, off64_t* to_offset, std::size_t bytes, unsigned flags) {
    return enter(
        "splice", WEFT_CALLER, from,
        [&](fiber_call& call) -> ssize_t { return give(splice_in(call, from, from_offset, to, to_offset, bytes, flags)); },
        [&] {
            return call_real<"splice", ssize_t(int, off64_t*, int, off64_t*, std::size_t, unsigned), SYS_splice>(
                from, from_offset, to, to_offset, bytes, flags);
        });
}
#pragma GCC visibility pop
}
