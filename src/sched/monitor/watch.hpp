// watch.hpp - what the monitor concludes from what it sees: which worker's fiber is a hog or blocked, whether anybody would
// profit if it lost its worker, and when to look again. Decisions only: seeing and taking is the monitor's.
//
// What counts is the CPU time of the carrier and not the time that has passed, or a carrier that
// waits for its CPU would lose its worker to another thread that waits for the same CPU. (In a
// prototype, with 4 hogs in 1.5 s: 182 hand-offs by wall time, 4 by CPU time;
// docs/measurements/preemption.md.)
#pragma once

#include <cstdint>

#include <weft/detail/clock.hpp>

namespace weft::detail {

/// One look at one worker.
struct sighting {
    time_point when;
    const void* carrier = nullptr;   // which thread has the worker
    std::uint64_t dispatches = 0;    // changes whenever another fiber runs
    duration cpu{};                  // of that thread
    std::uint64_t spawned = 0;       // fibers born on that thread
    unsigned crowd = 1;              // how many fibers that run share a CPU
    bool runs_fiber = false;         // and is not in the idle loop
};

/// `stands_still`: blocked if the kernel says that it sleeps, else it waits for a CPU and is left alone.
enum class conclusion : std::uint8_t { leave, computes, stands_still };

/// What the monitor remembers of one worker from look to look.
class watch {
public:
    /// `slice`: how much a fiber may compute while others wait; zero: for ever.
    conclusion look(const sighting& s, duration slice) noexcept;
    /// Whether at the last look it had computed for longer than its slice, though it may stand still now.
    bool has_used_up() const noexcept { return has_used_up_; }
    /// When the fiber of the last look was seen first.
    time_point since() const noexcept { return since_; }
    /// Since when it has had next to no CPU time.
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

/// What waits in the whole runtime: a hog alone on its worker is in the way of the others' too.
struct waiting {
    bool queued = false;          // a fiber is in some run queue or in the injector
    bool io = false;              // a fiber waits for I/O, which somebody must poll for
    time_point next_timer = never;
};

/// Whether anybody would be helped by a worker that is free.
bool would_profit(const waiting& w, time_point now, duration slice) noexcept;

enum class suspicion : bool { no, yes };

/// When to look again. `never`: nobody runs; the first to wake wakes the monitor.
time_point next_look(time_point now, bool anybody_runs, bool profit, suspicion s) noexcept;

}  // namespace weft::detail
