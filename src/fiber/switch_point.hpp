// switch_point.hpp - where a simulated runtime may let another fiber run, although the caller need not wait.
//
// Every public operation has one: those that may wait come to it by pending_interrupt(), since each simulated fiber is under a
// deadline that is never over (sched/simulate/simulator.hpp); those that are never interrupted call it first thing, with no lock held.
#pragma once

#include "base/atomic.hpp"

namespace weft::detail {

extern constinit atomic<bool> simulates;  // some runtime has, ever: of this process, for good

/// The caller may be no fiber, of no simulated runtime, or inside the runtime: then nothing happens.
/// Not inlined, so that weft-lint knows it by its name.
[[gnu::cold, gnu::noinline]] void switch_now() noexcept;

inline void switch_point() noexcept {
    if (simulates.load(relaxed)) [[unlikely]]  // set before the simulated runtime, and so its fibers, began
        switch_now();
}

}  // namespace weft::detail
