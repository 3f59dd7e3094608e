// kernel_slice.cpp - sets a thread's slice by sched_setattr, which glibc may not declare yet.
#include "sched/monitor/kernel_slice.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "base/atomic.hpp"

namespace weft::detail {
namespace {

// The kernel's struct sched_attr; glibc declares it from 2.41 on.
struct scheduling {
    std::uint32_t size;
    std::uint32_t policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime;  // for an ordinary thread its slice, in ns
    std::uint64_t deadline;
    std::uint64_t period;
};

constexpr std::uint64_t reset_on_fork = 1;  // SCHED_FLAG_RESET_ON_FORK

void say_refused() noexcept {
    static constinit atomic<bool> said{false};
    if (!said.exchange(true, relaxed))
        std::fprintf(stderr, "weft: the kernel refuses short slices (sched_setattr: %s): beside hogs others wait for its own\n",
                     std::strerror(errno));
}

}  // namespace

void set_slice_of(pid_t thread, duration slice) noexcept {
    scheduling now{};
    if (::syscall(SYS_sched_getattr, thread, &now, sizeof now, 0) != 0) return say_refused();
    if (now.policy != SCHED_OTHER && now.policy != SCHED_BATCH) return;
    now.size = sizeof now;
    // With the flag, threads and processes it starts would also lose a negative nice value.
    now.flags = now.nice < 0 ? 0 : reset_on_fork;
    now.runtime = static_cast<std::uint64_t>(slice.count());
    if (::syscall(SYS_sched_setattr, thread, &now, 0) != 0) say_refused();
}

void set_usual_slice() noexcept {
    scheduling now{};
    if (::syscall(SYS_sched_getattr, 0, &now, sizeof now, 0) != 0) return;
    if ((now.policy != SCHED_OTHER && now.policy != SCHED_BATCH) || now.nice >= 0) return;
    now.size = sizeof now;
    now.runtime = 0;
    ::syscall(SYS_sched_setattr, 0, &now, 0);
}

}  // namespace weft::detail
