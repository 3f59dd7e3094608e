#include "base/direct.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <type_traits>

#include "base/system_call.hpp"

namespace weft::detail::direct {
namespace {

template <class T>
long register_of(T value) noexcept {
    if constexpr (std::is_pointer_v<T>)
        return system_argument(value);
    else
        return static_cast<long>(value);
}

/// The system call. `library` is the same by the C library, and is compiled under a sanitizer only.
template <class Library, class... Arguments>
long made([[maybe_unused]] Library library, [[maybe_unused]] long number, Arguments... arguments) noexcept {
#if WEFT_CALLS_DIRECTLY
    const long registers[6] = {register_of(arguments)...};
    return system_call(number, registers[0], registers[1], registers[2], registers[3], registers[4], registers[5]);
#else
    (static_cast<void>(arguments), ...);
    return system_result(library);
#endif
}

constexpr long signal_set_bytes = 8;  // required: what the kernel takes for a set of signals

timespec time_of(std::chrono::nanoseconds t) noexcept {
    constexpr auto second = std::chrono::nanoseconds(std::chrono::seconds(1)).count();
    return {.tv_sec = static_cast<time_t>(t.count() / second), .tv_nsec = static_cast<long>(t.count() % second)};
}

}  // namespace

long read(int fd, void* into, std::size_t bytes) noexcept {
    return made([&] { return ::read(fd, into, bytes); }, SYS_read, fd, into, bytes);
}

long write(int fd, const void* from, std::size_t bytes) noexcept {
    return made([&] { return ::write(fd, from, bytes); }, SYS_write, fd, from, bytes);
}

long close(int fd) noexcept {
    return made([&] { return ::close(fd); }, SYS_close, fd);
}

long fcntl(int fd, int command, long argument) noexcept {
    return made([&] { return ::fcntl(fd, command, argument); }, SYS_fcntl, fd, command, argument);
}

long recv(int fd, void* into, std::size_t bytes, int flags) noexcept {
    return made([&] { return ::recv(fd, into, bytes, flags); }, SYS_recvfrom, fd, into, bytes, flags);
}

long send(int fd, const void* from, std::size_t bytes, int flags) noexcept {
    return made([&] { return ::send(fd, from, bytes, flags); }, SYS_sendto, fd, from, bytes, flags);
}

long sendmsg(int fd, const msghdr& message, int flags) noexcept {
    return made([&] { return ::sendmsg(fd, &message, flags); }, SYS_sendmsg, fd, &message, flags);
}

long recvmsg(int fd, msghdr& message, int flags) noexcept {
    return made([&] { return ::recvmsg(fd, &message, flags); }, SYS_recvmsg, fd, &message, flags);
}

long sendmmsg(int fd, mmsghdr* messages, unsigned count, int flags) noexcept {
    return made([&] { return ::sendmmsg(fd, messages, count, flags); }, SYS_sendmmsg, fd, messages, count, flags);
}

long recvmmsg(int fd, mmsghdr* messages, unsigned count, int flags) noexcept {
    return made([&] { return ::recvmmsg(fd, messages, count, flags, nullptr); }, SYS_recvmmsg, fd, messages, count, flags);
}

long connect(int fd, const sockaddr* to, std::size_t size) noexcept {
    return made([&] { return ::connect(fd, to, static_cast<socklen_t>(size)); }, SYS_connect, fd, to, size);
}

long accept(int fd, int flags) noexcept {
    return made([&] { return ::accept4(fd, nullptr, nullptr, flags); }, SYS_accept4, fd, 0, 0, flags);
}

long splice(int from, int to, std::size_t bytes, unsigned flags) noexcept {
    return made([&] { return ::splice(from, nullptr, to, nullptr, bytes, flags); }, SYS_splice, from, 0, to, 0, bytes, flags);
}

long sendfile(int to, int from, long& offset, std::size_t bytes) noexcept {
    static_assert(std::is_same_v<off_t, long>);
    return made([&] { return ::sendfile(to, from, &offset, bytes); }, SYS_sendfile, to, from, &offset, bytes);
}

long epoll_ctl(int epoll, int what, int fd, const epoll_event* wanted) noexcept {
    auto* const event = const_cast<epoll_event*>(wanted);
    return made([&] { return ::epoll_ctl(epoll, what, fd, event); }, SYS_epoll_ctl, epoll, what, fd, event);
}

long poll(pollfd* wanted, std::size_t count, std::chrono::nanoseconds most) noexcept {
    timespec left = time_of(most);  // the kernel writes to it
    timespec* const limit = most.count() < 0 ? nullptr : &left;
    return made([&] { return ::ppoll(wanted, count, limit, nullptr); }, SYS_ppoll, wanted, count, limit, 0, signal_set_bytes);
}

long waitid(int child, int options, child_change& change) noexcept {
    siginfo_t info{};
    const long result = made([&] { return ::waitid(P_PID, static_cast<id_t>(child), &info, options); }, SYS_waitid,
                             static_cast<int>(P_PID), child, &info, options);
    change = {.child = info.si_pid, .code = info.si_code, .status = info.si_status};
    return result;
}

// Up to a time and not for one: a call that a signal ends tells what is left of its own time only, so
// under many signals it would last for ever.
void sleep_for(std::chrono::nanoseconds t) noexcept {
    const timespec until = time_of(std::chrono::steady_clock::now().time_since_epoch() + t);
    const auto library = [&] {
        errno = ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
        return errno == 0 ? 0 : -1;
    };
    while (made(library, SYS_clock_nanosleep, static_cast<int>(CLOCK_MONOTONIC), TIMER_ABSTIME, &until, 0) == -EINTR) {}
}

}  // namespace weft::detail::direct
