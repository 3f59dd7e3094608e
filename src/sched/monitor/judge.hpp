// judge.hpp - whether the monitor preempts: whether it takes a worker from its carrier.
//
// The judge decides by clocks and by what the kernel says, or, for tests, at random.
#pragma once

#include "sched/monitor/thread_probe.hpp"
#include "sched/monitor/watch.hpp"

namespace weft::detail {

/// keeps_worker: the fiber does. suspect: there is not enough evidence yet, but look again soon.
/// computes, blocks: the fiber must lose the worker, for this reason.
enum class verdict : std::uint8_t { keeps_worker, suspect, computes, blocks };

class judge {
public:
    enum class by : bool { evidence, chance };

    /// `slice`: how much CPU time a fiber may use while others wait.
    judge(duration slice, by what) noexcept : slice_(slice), at_random_(what == by::chance) {}

    bool is_at_random() const noexcept { return at_random_; }
    bool would_profit(const waiting& w, time_point now) const noexcept {
        return at_random_ || detail::would_profit(w, now, slice_);
    }
    /// Judges one look at a worker. `profit`: whether any fiber would be helped; if not, the look
    /// is only remembered. `probe`: the probe of the worker's carrier.
    verdict look(watch& eye, const sighting& s, const thread_probe& probe, bool profit) const noexcept;
    time_point next_look(time_point now, bool anybody_runs, bool profit, suspicion s) const noexcept;

private:
    bool blocks(const watch& eye, const thread_probe& probe, time_point now) const noexcept;

    const duration slice_;
    const bool at_random_;
};

}  // namespace weft::detail
