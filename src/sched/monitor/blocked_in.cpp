#include "sched/monitor/blocked_in.hpp"

#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

#include "sched/monitor/thread_file.hpp"

namespace weft::detail {
namespace {

struct named_call {
    long number;
    const char* name;
};

// The system calls in which programs sleep. Some processors have only the newer call of a pair.
constexpr named_call calls[] = {
    {SYS_read, "read"},
    {SYS_write, "write"},
    {SYS_readv, "readv"},
    {SYS_writev, "writev"},
    {SYS_pread64, "pread"},
    {SYS_pwrite64, "pwrite"},
    {SYS_preadv, "preadv"},
    {SYS_pwritev, "pwritev"},
    {SYS_openat, "openat"},
    {SYS_close, "close"},
    {SYS_fsync, "fsync"},
    {SYS_fdatasync, "fdatasync"},
    {SYS_msync, "msync"},
    {SYS_flock, "flock"},
    {SYS_fcntl, "fcntl"},
    {SYS_ioctl, "ioctl"},
    {SYS_sendfile, "sendfile"},
    {SYS_splice, "splice"},
    {SYS_getdents64, "getdents64"},
    {SYS_connect, "connect"},
    {SYS_accept, "accept"},
    {SYS_accept4, "accept4"},
    {SYS_recvfrom, "recvfrom"},
    {SYS_recvmsg, "recvmsg"},
    {SYS_recvmmsg, "recvmmsg"},
    {SYS_sendto, "sendto"},
    {SYS_sendmsg, "sendmsg"},
    {SYS_ppoll, "ppoll"},
    {SYS_pselect6, "pselect6"},
    {SYS_epoll_pwait, "epoll_pwait"},
    {SYS_futex, "futex"},
    {SYS_nanosleep, "nanosleep"},
    {SYS_clock_nanosleep, "clock_nanosleep"},
    {SYS_wait4, "wait4"},
    {SYS_waitid, "waitid"},
    {SYS_rt_sigtimedwait, "rt_sigtimedwait"},
    {SYS_rt_sigsuspend, "rt_sigsuspend"},
    {SYS_io_getevents, "io_getevents"},
    {SYS_msgrcv, "msgrcv"},
    {SYS_semtimedop, "semtimedop"},
    {SYS_restart_syscall, "restart_syscall"},
    {SYS_io_uring_enter, "io_uring_enter"},
#if defined(SYS_poll)
    {SYS_poll, "poll"},
    {SYS_select, "select"},
    {SYS_epoll_wait, "epoll_wait"},
    {SYS_pause, "pause"},
    {SYS_open, "open"},
#endif
};

}  // namespace

long system_call_in(std::string_view text) noexcept {
    long number = -1;
    const auto end = text.data() + text.size();
    const auto [stop, fault] = std::from_chars(text.data(), end, number);
    // The text may also be "running", or "-1 ..." outside of any call.
    return fault == std::errc() && stop != end && *stop == ' ' ? number : -1;
}

const char* name_of_system_call(long number) noexcept {
    const auto* const known =
        std::find_if(std::begin(calls), std::end(calls), [&](const named_call& c) { return c.number == number; });
    return known != std::end(calls) ? known->name : nullptr;
}

std::string_view blocked_in(pid_t thread, std::span<char> room) noexcept {
    std::array<char, 160> text;
    std::array<char, 64> place_text;
    const long number = system_call_in(thread_file(thread, "syscall", text));
    const auto place = thread_file(thread, "wchan", place_text);
    // 0: it runs, or the kernel may not tell
    const bool has_place = !place.empty() && place != "0";
    const char* const known = name_of_system_call(number);
    const char* const between = number >= 0 && has_place ? ", " : "";
    const auto place_length = has_place ? static_cast<int>(place.size()) : 0;
    int n = 0;
    if (known)
        n = std::snprintf(room.data(), room.size(), "%s%s%.*s", known, between, place_length, place.data());
    else if (number >= 0)
        n = std::snprintf(room.data(), room.size(), "system call %ld%s%.*s", number, between, place_length, place.data());
    else
        n = std::snprintf(room.data(), room.size(), "%.*s", place_length, place.data());
    return {room.data(), std::min(static_cast<std::size_t>(std::max(n, 0)), room.size() - 1)};
}

}  // namespace weft::detail
