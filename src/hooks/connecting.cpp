// connecting.cpp - connect() and accept().
//
// CONNECTING-1  A descriptor that waits gets O_NONBLOCK for the time of a system call, and has it back before
//               the fiber parks. Nobody else uses a socket that is not connected.
#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "hooks/entry.hpp"
#include "hooks/transfer.hpp"

namespace weft::hooks {
namespace {

using namespace detail;

class connecting {
public:
    connecting(fiber_call& call, int fd, const sockaddr* to, socklen_t size, long flags) noexcept
        : call_(call), fd_(fd), to_(to), size_(size), flags_(flags) {}

    /// For local sockets, which are connected at once unless the queue of the other side is full. Nothing
    /// tells when it has room again.
    long locally() noexcept {
        const auto until = end_of_wait(call_, fd_, outward);
        for (std::int64_t pause = millisecond;; pause = std::min(2 * pause, 20 * millisecond)) {
            long r = attempt();
            if (r != -EAGAIN) return r;
            r = call_.sleep(std::min(until, after(call_.now(), pause)));
            if (r != -ETIME) return r;
            if (call_.now() >= until) return -EAGAIN;
        }
    }

    /// \param is_asked_again  the result is that of a second connect(), which also ends the state of "in
    ///                        progress".
    long far_away(bool is_asked_again) noexcept {
        const long first = attempt();
        if (first != -EINPROGRESS && first != -EALREADY) return first;
        descriptor_wait wait(call_, fd_, outward);
        for (;;) {
            const long ended = wait.park();
            if (ended == -EAGAIN) return first;  // SO_SNDTIMEO
            if (ended == -EPERM) {
                call_.note_block();
                return direct(SYS_connect, fd_, to_, size_);
            }
            if (ended != 0) return ended;
            if (!is_asked_again) {
                const long error = socket_option(fd_, SO_ERROR);
                return error < 0 ? error : -error;
            }
            const long r = attempt();
            if (r != -EALREADY && r != -EINPROGRESS) return r;
        }
    }

private:
    long attempt() noexcept {  // CONNECTING-1
        direct(SYS_fcntl, fd_, F_SETFL, flags_ | O_NONBLOCK);
        const long r = direct(SYS_connect, fd_, to_, size_);
        direct(SYS_fcntl, fd_, F_SETFL, flags_);
        return r;
    }

    fiber_call& call_;
    const int fd_;
    const sockaddr* const to_;
    const socklen_t size_;
    const long flags_;
};

long connect_in(fiber_call& call, int fd, const sockaddr* to, socklen_t size) noexcept {
    const long flags = flags_of(fd);
    const long family = flags < 0 ? flags : socket_option(fd, SO_DOMAIN);
    // That of a datagram socket does not wait, and others may use the socket meanwhile.
    const bool waits = family >= 0 && socket_option(fd, SO_TYPE) != SOCK_DGRAM;
    if (flags < 0 || (flags & O_NONBLOCK) || !waits) return direct(SYS_connect, fd, to, size);
    connecting c(call, fd, to, size, flags);
    return family == AF_UNIX ? c.locally() : c.far_away(family == AF_INET || family == AF_INET6);
}

[[gnu::always_inline]] inline int connect_to(const char* name, const void* caller, int fd, const sockaddr* to, socklen_t size) {
    return enter(
        name, caller, fd, [&](fiber_call& call) -> int { return static_cast<int>(give(connect_in(call, fd, to, size))); },
        [&] { return call_real<"connect", int(int, const sockaddr*, socklen_t), SYS_connect>(fd, to, size); });
}

/// Fibers that find a connection look for it and take it one at a time, so that none takes a connection that
/// another has seen and then blocks. Another process still may.
class turn {
public:
    explicit turn(int fd) noexcept : taken_(all[static_cast<unsigned>(fd) % all.size()]) {
        mine_ = !taken_.exchange(true, acquire);  // pairs with the destructor
    }
    ~turn() {
        if (mine_) taken_.store(false, release);  // pairs with the constructor
    }
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;
    explicit operator bool() const noexcept { return mine_; }

private:
    static inline constinit std::array<atomic<bool>, 64> all{};
    atomic<bool>& taken_;
    bool mine_ = false;
};

long accept_in(fiber_call& call, int fd, sockaddr* from, socklen_t* size, int flags) noexcept {
    constexpr unsigned patience = 20;  // one that has lost against another process may keep its turn for ever
    const auto plain = [&] { return direct(SYS_accept4, fd, from, size, flags); };
    if (flags & ~(SOCK_CLOEXEC | SOCK_NONBLOCK)) return plain();
    descriptor_wait wait(call, fd, inward);
    for (unsigned refused = 0;;) {
        if (const turn t(fd); t || refused >= patience) {
            if (ready_now(fd, POLLIN)) return plain();
            refused = 0;
        } else {
            ++refused;
        }
        if (refused > 0) {
            if (const long r = call.sleep(after(call.now(), millisecond)); r != -ETIME) return r;
            continue;
        }
        // What accepts no connections, and what does not wait, says so at once.
        if (socket_option(fd, SO_ACCEPTCONN) <= 0 || wait.refusal() != 0) return plain();
        const long r = wait.park();
        if (r == -EPERM) {
            call.note_block();
            return plain();
        }
        if (r != 0) return r;
    }
}

}  // namespace
}  // namespace weft::hooks

using namespace weft::hooks;

extern "C" {
#pragma GCC visibility push(default)
int connect(int fd, const sockaddr* to, socklen_t size) { return connect_to("connect", WEFT_CALLER, fd, to, size); }
int __connect(int fd, const sockaddr* to, socklen_t size) { return connect_to("connect", WEFT_CALLER, fd, to, size); }

int accept(int fd, sockaddr* from, socklen_t* size) {
    return enter(
        "accept", WEFT_CALLER, fd,
        [&](fiber_call& call) -> int { return static_cast<int>(give(accept_in(call, fd, from, size, 0))); },
        [&] { return call_real<"accept", int(int, sockaddr*, socklen_t*), SYS_accept>(fd, from, size); });
}
int accept4(int fd, sockaddr* from, socklen_t* size, int flags) {
    return enter(
        "accept4", WEFT_CALLER, fd,
        [&](fiber_call& call) -> int { return static_cast<int>(give(accept_in(call, fd, from, size, flags))); },
        [&] { return call_real<"accept4", int(int, sockaddr*, socklen_t*, int), SYS_accept4>(fd, from, size, flags); });
}

// Waits ask for a limit only if there may be one.
int setsockopt(int fd, int level, int option, const void* value, socklen_t size) noexcept {
    note_option(level, option);
    return static_cast<int>(give(direct(SYS_setsockopt, fd, level, option, value, size)));
}
#pragma GCC visibility pop
}
