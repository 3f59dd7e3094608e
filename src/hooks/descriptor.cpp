#include "hooks/descriptor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "hooks/clock.hpp"
#include "hooks/entry.hpp"

namespace weft::hooks {
namespace {

using namespace detail;

// Spares a system call per wait: few programs have ever set one.
atomic<bool> limits_are_set{false};

/// "FDSize:	256" of /proc/self/status: how many descriptors the kernel has places for.
unsigned long size_of_table() noexcept {
    const long fd = direct(SYS_openat, AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    std::array<char, 2048> text;
    const long n = direct(SYS_read, fd, text.data(), text.size() - 1);
    direct(SYS_close, fd);
    if (n <= 0) return 0;
    text[static_cast<std::size_t>(n)] = 0;
    static constexpr char label[] = "\nFDSize:";
    const char* digit = std::strstr(text.data(), label);
    if (!digit) return 0;
    for (digit += sizeof label - 1; *digit == ' ' || *digit == '\t';) ++digit;
    unsigned long size = 0;
    for (; *digit >= '0' && *digit <= '9'; ++digit) size = size * 10 + static_cast<unsigned long>(*digit - '0');
    return size;
}

}  // namespace

constexpr direction inward{POLLIN, SO_RCVTIMEO}, outward{POLLOUT, SO_SNDTIMEO};

long flags_of(int fd) noexcept { return direct(SYS_fcntl, fd, F_GETFL); }

bool is_nonblocking(int fd) noexcept {
    const long flags = flags_of(fd);
    return flags < 0 || (flags & O_NONBLOCK);
}

short ready_now(int fd, short events) noexcept {
    pollfd wanted{fd, events, 0};
    timespec none{};
    return direct(SYS_ppoll, &wanted, 1, &none, nullptr, 8) > 0 ? wanted.revents : short{0};
}

long socket_option(int fd, int option) noexcept {
    int value = 0;
    socklen_t size = sizeof value;
    const long failed = direct(SYS_getsockopt, fd, SOL_SOCKET, option, &value, &size);
    return failed < 0 ? failed : value;
}

void note_option(int level, int option) noexcept {
    // relaxed: a thread that sets an option for the call of another one tells it so by other means
    if (level == SOL_SOCKET && (option == SO_RCVTIMEO || option == SO_SNDTIMEO)) limits_are_set.store(true, relaxed);
}

std::int64_t end_of_wait(const fiber_call& call, int fd, const direction& way) noexcept {
    if (!limits_are_set.load(relaxed)) return hook_never;  // see note_option()
    timeval limit{};
    socklen_t size = sizeof limit;
    if (direct(SYS_getsockopt, fd, SOL_SOCKET, way.limit_option, &limit, &size) < 0 || (limit.tv_sec == 0 && limit.tv_usec == 0))
        return hook_never;
    return after(call.now(), nanoseconds(limit.tv_sec, limit.tv_usec * microsecond));
}

unsigned long bound_of_descriptors() noexcept {
    if (const auto size = size_of_table()) return size;
    rlimit most{};
    constexpr unsigned long chosen = 1 << 16;  // of a process whose limit says nothing
    if (direct(SYS_prlimit64, 0, RLIMIT_NOFILE, nullptr, &most) < 0) return chosen;
    return std::min<unsigned long>(most.rlim_cur, chosen);
}

}  // namespace weft::hooks
