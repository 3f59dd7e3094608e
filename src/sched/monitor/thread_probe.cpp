#include "sched/monitor/thread_probe.hpp"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "base/atomic.hpp"
#include "sched/monitor/thread_file.hpp"

namespace weft::detail {
namespace {

bool is_scarcity(int error) noexcept { return error == EMFILE || error == ENFILE || error == ENOMEM || error == EINTR; }

// Whether /proc cannot be read at all; false if just the thread has ended.
bool is_refused(int error) noexcept { return error != ENOENT || ::access("/proc/self/stat", F_OK) != 0; }

void say_refused(int error) noexcept {
    static constinit atomic<bool> said{false};
    if (!said.exchange(true, relaxed))
        std::fprintf(
            stderr,
            "weft: /proc/self/task cannot be read (%s): a fiber that blocks its thread is known by the time it gets no CPU\n",
            std::strerror(error));
}

}  // namespace

thread_probe thread_probe::here() noexcept {
    thread_probe p;
    p.id_ = ::gettid();
    if (clockid_t of_thread; ::pthread_getcpuclockid(::pthread_self(), &of_thread) == 0) p.clock_ = of_thread;
    return p;
}

std::optional<duration> thread_probe::cpu() const noexcept {
    timespec t;
    if (clock_ == 0 || ::clock_gettime(clock_, &t) != 0) return std::nullopt;
    return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

duration thread_cpu_here() noexcept {
    timespec t{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

thread_activity thread_probe::activity() const noexcept {
    std::array<char, 128> room;  // enough for the id, the name (15 bytes at most) and the state
    const auto text = thread_file(id_, "stat", room);
    if (!text.empty()) return activity_in(text);
    const int error = errno;
    if (is_scarcity(error)) return thread_activity::not_asked;
    if (error != 0 && is_refused(error)) say_refused(error);
    return thread_activity::unknown;
}

thread_activity activity_in(std::string_view stat) noexcept {
    const auto name_ends = stat.rfind(')');
    if (name_ends == std::string_view::npos || name_ends + 2 >= stat.size()) return thread_activity::unknown;
    switch (stat[name_ends + 2]) {
        case 'R': return thread_activity::runs;
        case 'S':
        case 'D': return thread_activity::sleeps;
        default: return thread_activity::unknown;  // stopped by a debugger or a signal, or ended
    }
}

}  // namespace weft::detail
