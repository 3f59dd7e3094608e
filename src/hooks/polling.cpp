#include "hooks/polling.hpp"

#include <signal.h>
#include <sys/epoll.h>

#include "hooks/clock.hpp"
#include "hooks/descriptor.hpp"
#include "hooks/entry.hpp"
#include "hooks/fortified.hpp"

namespace weft::hooks {

long park_for(fiber_call& call, const pollfd* wanted, std::size_t count, std::int64_t until) noexcept {
    for (std::size_t i = 0; i < count; ++i)
        if (wanted[i].fd >= 0) {
            const long r = call.wait(wanted, count, until);
            // The next look tells which file has the number. The fibers are told before the close, which may
            // be yet to come (CLOSING-1).
            return r == -EBADF ? pause(call, until) : r;
        }
    return call.sleep(until);
}

namespace {

constexpr std::size_t mask_bytes = 8;  // of a signal mask, as the kernel takes it

long ppoll_now(pollfd* wanted, nfds_t count, std::int64_t ns) noexcept {
    timespec limit = as_timespec(ns);
    return direct(SYS_ppoll, wanted, count, ns == hook_never ? nullptr : &limit, nullptr, mask_bytes);
}

long poll_until(fiber_call& call, pollfd* wanted, nfds_t count, std::int64_t ns) {
    count = static_cast<unsigned>(count);  // as the kernel takes it
    const long r = ppoll_now(wanted, count, 0);
    if (r != 0 || ns == 0) return r;
    const auto until = after(call.now(), ns);
    bool is_first = true;  // it has been looked
    return look_until(
        call, until, [&] { return std::exchange(is_first, false) ? 0 : ppoll_now(wanted, count, 0); },
        [&](std::int64_t u) { return park_for(call, wanted, count, u); },
        [&] { return ppoll_now(wanted, count, until == hook_never ? hook_never : until - call.now()); });
}

[[gnu::always_inline]] inline int poll_for(const char* name, const void* caller, pollfd* wanted, nfds_t count, int milliseconds) {
    return enter(
        name, caller, -1,
        [&](fiber_call& call) -> int {
            const auto ns = milliseconds < 0 ? hook_never : milliseconds * millisecond;
            return static_cast<int>(give(poll_until(call, wanted, count, ns)));
        },
        [&] {
            return call_real_or<"poll", int(pollfd*, nfds_t, int)>(
                [&] { return give(ppoll_now(wanted, count, milliseconds < 0 ? hook_never : milliseconds * millisecond)); },
                wanted, count, milliseconds);
        });
}

[[gnu::always_inline]] inline int ppoll_for(const char* name, const void* caller, pollfd* wanted, nfds_t count,
                                            const timespec* limit, const sigset_t* mask) {
    const auto plain = [&] {
        timespec left{};
        if (limit) left = *limit;  // the kernel writes to it
        return give(direct(SYS_ppoll, wanted, count, limit ? &left : nullptr, mask, mask_bytes));
    };
    return enter(
        name, caller, -1,
        [&](fiber_call& call) -> int {
            if (mask || (limit && !is_valid(*limit))) {
                call.note_block();
                return static_cast<int>(plain());
            }
            return static_cast<int>(give(poll_until(call, wanted, count, limit ? nanoseconds(*limit) : hook_never)));
        },
        [&] {
            return call_real_or<"ppoll", int(pollfd*, nfds_t, const timespec*, const sigset_t*)>(plain, wanted, count, limit,
                                                                                                 mask);
        });
}

long epoll_now(int fd, epoll_event* events, int most, std::int64_t ns, const sigset_t* mask) noexcept {
    if (ns == hook_never) return direct(SYS_epoll_pwait, fd, events, most, -1, mask, mask_bytes);
    constexpr std::int64_t longest = 0x7FFF'FFFF;
    const auto ms = std::min(longest, std::max<std::int64_t>(ns, 0) / millisecond + (ns % millisecond != 0));
    return direct(SYS_epoll_pwait, fd, events, most, ms, mask, mask_bytes);
}

long epoll_until(fiber_call& call, int fd, epoll_event* events, int most, std::int64_t ns) {
    const long r = epoll_now(fd, events, most, 0, nullptr);
    if (r != 0 || ns == 0) return r;
    const auto until = after(call.now(), ns);
    bool is_first = true;  // it has been looked
    const pollfd itself{fd, POLLIN, 0};
    return look_until(
        call, until, [&] { return std::exchange(is_first, false) ? 0 : epoll_now(fd, events, most, 0, nullptr); },
        [&](std::int64_t u) { return call.wait(&itself, 1, u); },
        [&] { return epoll_now(fd, events, most, until == hook_never ? hook_never : until - call.now(), nullptr); });
}

constexpr std::int64_t as_limit(int milliseconds) noexcept { return milliseconds < 0 ? hook_never : milliseconds * millisecond; }

}  // namespace
}  // namespace weft::hooks

using namespace weft::hooks;

extern "C" {
#pragma GCC visibility push(default)
int poll(pollfd* wanted, nfds_t count, int milliseconds) { return poll_for("poll", WEFT_CALLER, wanted, count, milliseconds); }
int __poll(pollfd* wanted, nfds_t count, int milliseconds) { return poll_for("poll", WEFT_CALLER, wanted, count, milliseconds); }
int __poll_chk(pollfd* wanted, nfds_t count, int milliseconds, std::size_t room) {
    check_room(count, room / sizeof(pollfd));
    return poll_for("poll", WEFT_CALLER, wanted, count, milliseconds);
}

int ppoll(pollfd* wanted, nfds_t count, const timespec* limit, const sigset_t* mask) {
    return ppoll_for("ppoll", WEFT_CALLER, wanted, count, limit, mask);
}
int __ppoll_chk(pollfd* wanted, nfds_t count, const timespec* limit, const sigset_t* mask, std::size_t room) {
    check_room(count, room / sizeof(pollfd));
    return ppoll_for("ppoll", WEFT_CALLER, wanted, count, limit, mask);
}

int epoll_wait(int fd, epoll_event* events, int most, int milliseconds) {
    return enter(
        "epoll_wait", WEFT_CALLER, fd,
        [&](fiber_call& call) -> int {
            return static_cast<int>(give(epoll_until(call, fd, events, most, as_limit(milliseconds))));
        },
        [&] {
            return call_real_or<"epoll_wait", int(int, epoll_event*, int, int)>(
                [&] { return give(direct(SYS_epoll_pwait, fd, events, most, milliseconds, nullptr, mask_bytes)); }, fd, events,
                most, milliseconds);
        });
}

int epoll_pwait(int fd, epoll_event* events, int most, int milliseconds, const sigset_t* mask) {
    const auto plain = [&] { return give(direct(SYS_epoll_pwait, fd, events, most, milliseconds, mask, mask_bytes)); };
    return enter(
        "epoll_pwait", WEFT_CALLER, fd,
        [&](fiber_call& call) -> int {
            if (!mask) return static_cast<int>(give(epoll_until(call, fd, events, most, as_limit(milliseconds))));
            call.note_block();
            return static_cast<int>(plain());
        },
        [&] {
            return call_real_or<"epoll_pwait", int(int, epoll_event*, int, int, const sigset_t*)>(plain, fd, events, most,
                                                                                                  milliseconds, mask);
        });
}

int epoll_pwait2(int fd, epoll_event* events, int most, const timespec* limit, const sigset_t* mask) {
    const auto plain = [&] { return give(direct(SYS_epoll_pwait2, fd, events, most, limit, mask, mask_bytes)); };
    return enter(
        "epoll_pwait2", WEFT_CALLER, fd,
        [&](fiber_call& call) -> int {
            if (!mask && (!limit || is_valid(*limit)))
                return static_cast<int>(give(epoll_until(call, fd, events, most, limit ? nanoseconds(*limit) : hook_never)));
            call.note_block();
            return static_cast<int>(plain());
        },
        [&] {
            return call_real_or<"epoll_pwait2", int(int, epoll_event*, int, const timespec*, const sigset_t*)>(plain, fd, events,
                                                                                                               most, limit, mask);
        });
}
#pragma GCC visibility pop
}
