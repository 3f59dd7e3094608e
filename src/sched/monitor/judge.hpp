// judge.hpp - whether a worker is to be taken from its carrier: by clocks and by what the kernel says, or, for tests, at random.
#pragma once

#include "sched/monitor/thread_probe.hpp"
#include "sched/monitor/watch.hpp"

namespace weft::detail {

/// `suspect`: nothing yet, but it should be looked at soon.
enum class verdict : std::uint8_t { leave, suspect, computes, blocks };

class judge {
public:
    enum class by : bool { evidence, chance };

    /// `slice`: how much a fiber may compute while others wait.
    judge(duration slice, by what) noexcept : slice_(slice), at_random_(what == by::chance) {}

    bool would_profit(const waiting& w, time_point now) const noexcept {
        return at_random_ || detail::would_profit(w, now, slice_);
    }
    /// `profit`: whether anybody would be helped; else the look is remembered, and that is all. `probe`: of the carrier.
    verdict look(watch& eye, const sighting& s, const thread_probe& probe, bool profit) const noexcept;
    time_point next_look(time_point now, bool anybody_runs, bool profit, suspicion s) const noexcept;

private:
    bool blocks(const watch& eye, const thread_probe& probe, time_point now) const noexcept;

    const duration slice_;
    const bool at_random_;
};

}  // namespace weft::detail
