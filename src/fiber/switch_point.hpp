// switch_point.hpp - a place where a simulated runtime may let another fiber run.
//
// The caller need not wait there. Every public operation has one. Operations that may wait reach it
// through pending_interrupt(), because each simulated fiber is under a deadline that never passes
// (sched/simulate/simulator.hpp). Operations that are never interrupted call it first, with no lock
// held.
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
