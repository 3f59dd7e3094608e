// preempted.hpp - how often the kernel takes the CPU away from a carrier's thread, to run another one.
//
// Where other processes compute on all CPUs, a searcher that spins and naps uses up the thread's own
// share of a CPU, and the thread has to wait when there is work. Measured beside two compilers, two
// workers: docs/measurements/waking.md.
#pragma once

#include <sys/resource.h>

#include <chrono>

#include <weft/detail/clock.hpp>

namespace weft::detail {

/// Used by the carrier's own thread only.
class preempted {
public:
    // chosen: long enough for some turns of the kernel's scheduler
    static constexpr duration window = std::chrono::milliseconds(10);
    // chosen: beside compilers there are 4, and from the monitor's looks less than one
    static constexpr int often = 2;

    /// Whether that has happened often of late. Asks the kernel once in a window, which costs 0.3 us.
    bool is_often(time_point now) noexcept {
        if (now - asked_at_ < window) return is_often_;
        rusage used;
        if (::getrusage(RUSAGE_THREAD, &used) != 0) return false;
        is_often_ = (used.ru_nivcsw - seen_) * window >= often * (now - asked_at_);
        seen_ = used.ru_nivcsw;
        asked_at_ = now;
        return is_often_;
    }

private:
    time_point asked_at_{};
    long seen_ = 0;  // times the thread lost its CPU so far
    bool is_often_ = false;
};

}  // namespace weft::detail
