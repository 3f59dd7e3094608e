#include "io/epoll/epoll_engine.hpp"

#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "arch/valgrind.hpp"
#include "base/direct.hpp"
#include "base/panic.hpp"
#include "base/system_call.hpp"
#include "io/hooked/descriptor.hpp"
#include "io/source.hpp"
#include "io/system.hpp"

namespace weft::detail {
namespace {

using std::chrono::nanoseconds;

constexpr std::uint64_t hooked = 1;  // EPOLL_ENGINE-3

/// The time left until `until`; negative: forever.
nanoseconds time_left(time_point until) noexcept {
    if (until == never) return nanoseconds(-1);
    // The clock need not be read, and the difference would overflow.
    if (until == time_point::min()) return nanoseconds(0);
    return std::max(nanoseconds(0), nanoseconds(until - clock::now()));
}

long wait_pwait2(int epoll_fd, epoll_event* events, std::size_t n, nanoseconds left) noexcept {
    constexpr auto second = nanoseconds(std::chrono::seconds(1)).count();
    const timespec limit{static_cast<time_t>(left.count() / second), static_cast<long>(left.count() % second)};
    const timespec* const until = left.count() < 0 ? nullptr : &limit;
#if WEFT_CALLS_DIRECTLY
    return system_call(SYS_epoll_pwait2, epoll_fd, system_argument(events), static_cast<long>(n), system_argument(until), 0, 0);
#else
    return system_result([&] { return ::epoll_pwait2(epoll_fd, events, static_cast<int>(n), until, nullptr); });
#endif
}

/// For kernels before 5.11: whole milliseconds, rounded up so that it does not spin shortly before
/// the time.
long wait_milliseconds(int epoll_fd, epoll_event* events, std::size_t n, nanoseconds left) noexcept {
    constexpr auto longest = std::numeric_limits<int>::max();
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    const int limit = left.count() < 0 ? -1 : static_cast<int>(std::min<long long>(ms, longest));
#if WEFT_CALLS_DIRECTLY
    return system_call(SYS_epoll_pwait, epoll_fd, system_argument(events), static_cast<long>(n), limit, 0, 0);
#else
    return system_result([&] { return ::epoll_wait(epoll_fd, events, static_cast<int>(n), limit); });
#endif
}

io_event decode(std::uint32_t bits) noexcept {
    const bool failed = bits & (EPOLLERR | EPOLLHUP);
    return {.readable = failed || (bits & (EPOLLIN | EPOLLRDHUP)) != 0,
            .writable = failed || (bits & EPOLLOUT) != 0,
            .hangup = failed || (bits & EPOLLRDHUP) != 0};
}

// There is no other call to fall back on: without this one, fibers neither get I/O events nor
// sleep.
[[noreturn]] void panic_of_refusal(long error) {
    panic("the system refuses epoll_wait: ", std::strerror(static_cast<int>(error)));
}

int checked(long result, const char* what) {
    if (result < 0) throw std::system_error(failure(result), what);
    return static_cast<int>(result);
}

}  // namespace

epoll_engine::epoll_engine()
    : epoll_fd_(checked(system_result([] { return ::epoll_create1(EPOLL_CLOEXEC); }), "weft: epoll_create1")),
      wake_fd_(checked(system_result([] { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }), "weft: eventfd")) {
    epoll_event wanted{.events = EPOLLIN | EPOLLET, .data = {.ptr = nullptr}};
    checked(system_result([&] { return ::epoll_ctl(epoll_fd_.get(), EPOLL_CTL_ADD, wake_fd_.get(), &wanted); }),
            "weft: epoll_ctl");
    // Some versions do not know the call and print a message each time.
    if (running_on_valgrind()) has_pwait2_ = false;
}

epoll_engine::~epoll_engine() { leave_all_sources(); }

unsigned epoll_engine::poll(time_point until) noexcept {
    const long n = wait_for_events(until);
    wake_pending_.exchange(false, acq_rel);  // EPOLL_ENGINE-2; pairs with wake()
    unsigned woken = 0;
    for (long i = 0; i < n; ++i) woken += report(ready_[static_cast<std::size_t>(i)]);
    return woken;
}

unsigned epoll_engine::report(const epoll_event& e) noexcept {
    if (e.data.u64 & hooked) [[unlikely]]  // EPOLL_ENGINE-3
        return hooked_descriptor::on_event(static_cast<int>(e.data.u64 >> 1), static_cast<short>(e.events), *this);
    auto* const source = static_cast<io_source*>(e.data.ptr);
    return source ? source->on_event(decode(e.events)) : 0;
}

long epoll_engine::wait_for_events(time_point until) noexcept {
    if (has_pwait2_) {
        const long n = wait_pwait2(epoll_fd_.get(), ready_.data(), batch, time_left(until));
        if (n >= 0 || n == -EINTR) return n;
        // The kernel is older than 5.11, or a filter does not know the call; any error code means
        // this.
        has_pwait2_ = false;
    }
    const long n = wait_milliseconds(epoll_fd_.get(), ready_.data(), batch, time_left(until));
    if (n < 0 && n != -EINTR) panic_of_refusal(-n);
    return n;
}

void epoll_engine::wake() noexcept {
    if (wake_pending_.exchange(true, acq_rel)) return;  // EPOLL_ENGINE-2; pairs with poll()
    constexpr std::uint64_t one = 1;
    // The write fails only after 2^64 - 1 wakes.
    [[maybe_unused]] const long n = direct::write(wake_fd_.get(), &one, sizeof one);
}

long epoll_engine::control(int what, int fd, const epoll_event& wanted) noexcept {
    return direct::epoll_ctl(epoll_fd_.get(), what, fd, &wanted);
}

long epoll_engine::add(int fd, io_source& source) noexcept {
    const epoll_event wanted{.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data = {.ptr = &source}};
    auto* calls = hooked_descriptor::existing(fd);
    if (!calls) [[likely]] {
        const long r = control(EPOLL_CTL_ADD, fd, wanted);
        calls = hooked_descriptor::existing(fd);
        if (r != -EEXIST || !calls) return r;  // else it was waited for meanwhile, by a number that was not in use
    }
    return calls->adopted_by(*this, [&](bool taken_over) {  // HOOKED_DESCRIPTOR-4
        const long r = control(EPOLL_CTL_ADD, fd, wanted);
        return r == -EEXIST && taken_over ? control(EPOLL_CTL_MOD, fd, wanted) : r;
    });
}

void epoll_engine::remove(int fd) noexcept {
    // It may fail harmlessly if `fd` was removed already.
    [[maybe_unused]] const long r = control(EPOLL_CTL_DEL, fd, {});
}

long epoll_engine::report_once(int fd, short events, once how) noexcept {
    const epoll_event wanted{.events = static_cast<std::uint32_t>(static_cast<unsigned short>(events)) | EPOLLONESHOT,
                             .data = {.u64 = static_cast<std::uint64_t>(fd) << 1 | hooked}};
    return control(how == once::added ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, wanted);
}

}  // namespace weft::detail
