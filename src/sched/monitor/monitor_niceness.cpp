// monitor_niceness.cpp - which threads weigh less than others (N1, N2 of monitor.hpp).
#include "sched/monitor/niceness.hpp"

#include <mutex>

#include "sched/monitor/monitor.hpp"
#include "sched/scheduler.hpp"

namespace weft::detail {

void monitor::thread_begins(carrier& c) noexcept {
    if (!c.is_nice() || !set_nice_of(0, usual_nice_)) return;
    const std::lock_guard guard(lock_);
    c.note_nice(false);
}

// N1
bool monitor::cannot_be_as_others(carrier& c) noexcept {
    if (hog_nice_ == 0) return false;
    {
        const std::lock_guard guard(lock_);
        if (!c.is_nice()) return false;
    }
    const bool stays_nice =
        !set_nice_of(0, usual_nice_);  // not under lock_, which others want; nobody does it again: nothing runs (N2)
    const std::lock_guard guard(lock_);
    c.note_nice(stays_nice);
    if (!stays_nice || is_over_ || c.is_reserved() || c.is_bound_to()) return false;
    give_up(c);
    return true;
}

// N2. T5 forbids to touch what is the carrier's; this is its thread, which is there.
void monitor::make_nice(carrier& c) noexcept {
    if (hog_nice_ == 0) return;
    const std::lock_guard guard(lock_);
    if (!c.current() || c.is_nice() || c.is_reserved() || c.is_bound_to()) return;
    c.note_nice(set_nice_of(c.probe().id(), usual_nice_ + hog_nice_));
}

}  // namespace weft::detail
