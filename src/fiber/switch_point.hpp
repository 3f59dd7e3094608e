// switch_point.hpp - a place where a simulated runtime may let another fiber run.
//
// Every public operation begins with one, also if it need not wait. An operation that is never
// interrupted calls switch_point() itself, with no lock held. One that may be interrupted calls
// check_interrupt() (fiber/interrupts.hpp) and need not call it: each simulated fiber is under a
// deadline that never passes (sched/simulate/simulator.hpp), so check_interrupt() always asks
// pending_interrupt(), which calls switch_point().
#pragma once

#include "base/atomic.hpp"

namespace weft::detail {

// some runtime of this process simulates or has simulated; never becomes false again
extern constinit atomic<bool> simulates;

/// Does nothing if the caller is not a fiber of a simulated runtime, or is inside the runtime. Not
/// inlined, so that weft-lint knows it by its name.
[[gnu::cold, gnu::noinline]] void switch_now() noexcept;

inline void switch_point() noexcept {
    // set before the simulated runtime, and so its fibers, began
    if (simulates.load(relaxed)) [[unlikely]]
        switch_now();
}

}  // namespace weft::detail
