// carrier_pool_niceness.cpp - makes threads of hogs nicer, and normal again (CARRIER_POOL-4,
// CARRIER_POOL-5).
#include "sched/monitor/niceness.hpp"

#include <weft/detail/annotated_locks.hpp>

#include "sched/monitor/carrier_pool.hpp"
#include "sched/scheduler.hpp"

namespace weft::detail {

void carrier_pool::thread_begins(carrier& c) noexcept {
    if (!c.is_nice() || !set_nice_of(0, usual_nice_)) return;
    const lock_guard guard(lock_);
    c.note_nice(false);
}

// CARRIER_POOL-4
bool carrier_pool::cannot_be_as_others(carrier& c) noexcept {
    if (hog_nice_ == 0) return false;
    {
        const lock_guard guard(lock_);
        if (!c.is_nice()) return false;
    }
    // Not under lock_, which other threads want. The monitor does not make the thread nice again
    // meanwhile, since its carrier runs no fiber (CARRIER_POOL-5).
    const bool stays_nice = !set_nice_of(0, usual_nice_);
    const lock_guard guard(lock_);
    c.note_nice(stays_nice);
    if (!stays_nice || is_over_ || c.is_reserved() || c.has_pinned_fibers()) return false;
    give_up(c);
    return true;
}

// CARRIER_POOL-5. TENURE-5 forbids to touch the tenure of the carrier; this touches only its
// thread, which lives.
void carrier_pool::make_nice(carrier& c) noexcept {
    if (hog_nice_ == 0) return;
    const lock_guard guard(lock_);
    if (!c.current() || c.is_nice() || c.is_reserved() || c.has_pinned_fibers()) return;
    c.note_nice(set_nice_of(c.probe().id(), usual_nice_ + hog_nice_));
}

}  // namespace weft::detail
