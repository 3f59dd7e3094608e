// watch.hpp - what the monitor concludes from its looks at one worker, and when it looks again.
//
// It concludes which worker's fiber is a hog or blocked, and whether any fiber would profit if that
// one were preempted. These are decisions only: the monitor itself looks, and takes the worker.
//
// What counts is the CPU time of the carrier and not the time that has passed; otherwise a carrier
// that waits for its CPU would lose its worker to another thread that waits for the same CPU.
// (In a prototype, with 4 hogs in 1.5 s: 182 hand-offs by wall time, 4 by CPU time;
// docs/measurements/preemption.md.)
#pragma once

#include <cstdint>

#include <weft/detail/clock.hpp>

namespace weft::detail {

/// One look at one worker.
struct sighting {
    time_point when;
    const void* carrier = nullptr;   // the carrier that has the worker
    std::uint64_t dispatches = 0;    // changes whenever another fiber runs
    duration cpu{};                  // CPU time of its thread
    std::uint64_t spawned = 0;       // fibers born on its thread
    unsigned crowd = 1;              // how many running fibers share a CPU
    bool delays_woken = false;       // a fiber that a timer or I/O has woken waits for a worker
    bool runs_fiber = false;         // false: it is in the idle loop
};

/// leave: nothing speaks against the fiber. computes: it has used its slice up. stands_still: the
/// carrier gets no CPU time; judge::look() decides whether it is blocked, waits for a CPU, or has
/// used its slice up before.
enum class conclusion : std::uint8_t { leave, computes, stands_still };

/// What the monitor remembers of one worker from look to look.
class watch {
public:
    /// Adds one look. `slice`: how much CPU time a fiber may use while others wait; zero: no limit.
    conclusion look(const sighting& s, duration slice) noexcept;
    /// Whether at the last look the fiber had computed for longer than its slice, though it may
    /// stand still now.
    bool has_used_up() const noexcept { return has_used_up_; }
    /// When the fiber of the last look was first seen.
    time_point since() const noexcept { return since_; }
    /// Since when that fiber has had next to no CPU time.
    time_point still_since() const noexcept { return still_since_; }

private:
    bool uses_up(const sighting& s, duration slice) const noexcept;
    void start_afresh(const sighting& s) noexcept;

    const void* carrier_ = nullptr;
    std::uint64_t dispatches_ = 0;
    time_point since_{};        // first seen with this fiber
    duration cpu_then_{};
    time_point still_since_{};
    duration cpu_last_{};
    std::uint64_t spawned_then_ = 0;
    bool has_used_up_ = false;
};

/// What waits in the whole runtime. All of it counts, since a hog that is alone on its worker keeps
/// that worker from the others' work, too.
struct waiting {
    bool queued = false;          // a fiber is in some run queue or in the injector
    bool io = false;              // no worker polls the driver, so a fiber may wait for I/O
    bool woken = false;           // one of the queued was woken by a timer or by I/O, or will be
    time_point next_timer = never;
};

/// Whether any fiber would be helped if a worker became free.
bool would_profit(const waiting& w, time_point now, duration slice) noexcept;

enum class suspicion : bool { no, yes };

/// \returns when to look again. `never`: no worker runs; the first one that does sets the alarm.
time_point next_look(time_point now, bool anybody_runs, bool profit, suspicion s) noexcept;

}  // namespace weft::detail
