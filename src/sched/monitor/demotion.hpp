// demotion.hpp - the class of fibers that have lost a worker by computing: they run on carriers that have none, a few at a time.
//
// Put back among the others a fiber that computes for 30 ms at a time would have each worker for a
// slice whenever its turn comes, and all who wait would wait for that: with 16 of them 46 ms at the
// median, and 22 us with this class (docs/measurements/preemption.md).
//
// A fiber is demoted by its own carrier, when it parks or yields without the worker it has lost. It becomes an ordinary one again
// after so many bursts in a row that were short.
//
// Invariants
//   D1  `make_ready` of a fiber changes only while its owner is active, or nobody but the caller can run it: whoever has claimed
//       its wait finds it settled.
//   D2, D3  At most `most` carriers run a demoted fiber at once, and none waits while there is room: few_at_once.hpp. A carrier
//       whose fiber overstays counts no longer.
#pragma once

#include <weft/detail/clock.hpp>

#include "fiber/control_block.hpp"
#include "sched/monitor/few_at_once.hpp"

namespace weft::detail {

/// What is taken may have to be waited for (W4).
class demotion : public few_at_once<control_block> {
public:
    /// `slice`: what an ordinary fiber may compute at once.
    demotion(unsigned most, duration slice) noexcept : few_at_once(most), short_burst_(slice / 4) {}

    /// Marks the fiber. The owner, while it is active, or who alone may run it (D1).
    static void demote(control_block& f, void (*ready)(wait_cell&) noexcept) noexcept {
        if (f.demoted) return;
        f.demoted = true;
        f.leave_trace();
        f.rest().short_bursts = 0;
        f.rest().make_ready.store(ready, relaxed);
    }

    /// Whether it has behaved for long enough. Who alone may run it.
    bool is_rehabilitated(const control_block& f) const noexcept { return f.rest().short_bursts >= bursts_to_prove_; }
    /// Before others may run it.
    void burst_ends(control_block& f, duration cpu) const noexcept {
        if (cpu >= short_burst_)
            f.rest().short_bursts = 0;
        else if (f.rest().short_bursts < bursts_to_prove_)
            ++f.rest().short_bursts;
    }

private:
    static constexpr std::uint8_t bursts_to_prove_ = 8;  // chosen

    const duration short_burst_;
};

}  // namespace weft::detail
