// no_monitor.hpp - the interface of preemption.hpp in a build without the monitor: nothing happens.
//
// Included by preemption.hpp only. No worker changes hands, so no fiber is demoted, no carrier
// waits for a grant but those of migrate::own_carrier, and there is nothing to report.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include <weft/detail/clock.hpp>

#include "fiber/control_block.hpp"

namespace weft::detail {

class scheduler;

class monitor {
public:
    explicit monitor(scheduler&) noexcept {}
    monitor(const monitor&) = delete;
    monitor& operator=(const monitor&) = delete;

    void start() noexcept {}
    void stop() noexcept {}
    void hurry() noexcept {}
    void somebody_runs() noexcept {}
    void somebody_dispatches(time_point) noexcept {}
    void somebody_sleeps(time_point, duration) noexcept {}
    void somebody_runs_alone() noexcept {}
    void somebody_waits() noexcept {}
    bool ask_for_report(control_block&) noexcept { return true; }  // no reports are wanted
    pid_t monitor_id() const noexcept { return 0; }
    unsigned computing_without_worker() const noexcept { return 0; }
    unsigned cpus() const noexcept { return 0; }

    struct counts {
        std::uint64_t taken = 0, blocked = 0;
    };
    counts statistics() const noexcept { return {}; }
};

class demotion {
public:
    demotion(unsigned, duration) noexcept {}

    static void demote(control_block&, void (*)(wait_cell&) noexcept) noexcept {}
    bool push(control_block&) noexcept { return false; }
    control_block* take() noexcept { return nullptr; }
    void give_back_place() noexcept {}
    bool is_rehabilitated(const control_block&) const noexcept { return true; }
    void burst_ends(control_block&, duration) const noexcept {}
};

inline constexpr duration worker_slice{};
inline void set_slice_of(pid_t, duration) noexcept {}
inline void set_usual_slice() noexcept {}

}  // namespace weft::detail
