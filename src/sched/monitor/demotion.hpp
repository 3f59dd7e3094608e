// demotion.hpp - the class of fibers that have lost a worker by computing.
//
// Demoted fibers run on carriers that have no worker, a few at a time. If a fiber that computes for
// 30 ms at a time went back among the others, it would take each worker for a slice whenever its
// turn comes, and all others would wait for that: with 16 of them 46 ms at the median, and 22
// us with this class (docs/measurements/preemption.md).
//
// A fiber is demoted by its own carrier, when it parks or yields without the worker it has lost. It
// becomes an ordinary one again after a number of short bursts in a row.
//
// Invariants
//   DEMOTION-1  `make_ready` of a fiber changes only while its owner is active, or while no other
//               thread can run the fiber. So a claimer of its wait finds it settled.
//
// At most `most` carriers run a demoted fiber at once (FEW_AT_ONCE-1), and no fiber waits
// while there is room (FEW_AT_ONCE-2). A carrier whose fiber overstays counts no longer.
#pragma once

#include <weft/detail/clock.hpp>

#include "fiber/control_block.hpp"
#include "sched/monitor/few_at_once.hpp"

namespace weft::detail {

/// A fiber that is taken may still be on its stack; the taker must wait until it has left
/// (WAIT_WORD-4).
class demotion : public few_at_once<control_block> {
public:
    /// `slice`: how much CPU time an ordinary fiber may use at once.
    demotion(unsigned most, duration slice) noexcept : few_at_once(most), short_burst_(slice / 4) {}

    /// Marks the fiber as demoted. Called by its owner while that is active, or by the thread that
    /// alone may run it (DEMOTION-1).
    static void demote(control_block& f, void (*ready)(wait_cell&) noexcept) noexcept {
        if (f.demoted) return;
        f.demoted = true;
        f.leave_trace();
        f.cold().short_bursts = 0;
        f.cold().make_ready.store(ready, relaxed);
    }

    /// Whether its last bursts were short often enough to make it ordinary again. Called by the
    /// thread that alone may run it.
    bool is_rehabilitated(const control_block& f) const noexcept { return f.cold().short_bursts >= bursts_to_prove_; }
    /// Counts a burst. Called before other threads may run the fiber.
    void burst_ends(control_block& f, duration cpu) const noexcept {
        if (cpu >= short_burst_)
            f.cold().short_bursts = 0;
        else if (f.cold().short_bursts < bursts_to_prove_)
            ++f.cold().short_bursts;
    }

private:
    static constexpr std::uint8_t bursts_to_prove_ = 8;  // chosen

    const duration short_burst_;
};

}  // namespace weft::detail
