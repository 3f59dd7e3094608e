// perf_events.hpp - whether the kernel lets this process sample its own threads.
#pragma once

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft::test {

inline bool kernel_allows_perf_events() {
    perf_event_attr asked = {};
    asked.size = sizeof asked;
    asked.type = PERF_TYPE_SOFTWARE;
    asked.config = PERF_COUNT_SW_TASK_CLOCK;
    asked.sample_period = 100'000;
    asked.sample_type = PERF_SAMPLE_CALLCHAIN;
    asked.exclude_kernel = 1;
    asked.exclude_hv = 1;
    asked.exclude_callchain_kernel = 1;
    const auto fd = ::syscall(SYS_perf_event_open, &asked, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd >= 0) ::close(static_cast<int>(fd));
    return fd >= 0;
}

}  // namespace weft::test
