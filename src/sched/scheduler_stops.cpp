// scheduler_stops.cpp - how a stop reaches a fiber.
//
// It goes to the fiber's stop token first, then to the wait the fiber is in, or to the child it
// runs in place.
#include <array>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <utility>

#include <weft/stop.hpp>

#include "sched/scheduler.hpp"

namespace weft::detail {

bool scheduler::request_stop(control_block& f) noexcept {
    const bool first = raise_stop(f);
    if (!first && f.stop.load(acquire) == stop_stage::delivered) return false;
    heavy_fence();
    deliver_stop(f);  // also if another thread made the first request and has not delivered it yet
    return first;
}

bool scheduler::raise_stop(control_block& f) noexcept {
    if (f.stop.load(acquire) != stop_stage::none) return false;
    f.leave_trace();
    // Before the token is notified: from then on park points throw.
    f.cold().stops.fetch_add(1, relaxed);
    auto none = stop_stage::none;
    if (f.stop.compare_exchange_strong(none, stop_stage::raised, acq_rel, acquire)) return true;
    f.cold().stops.fetch_sub(1, relaxed);  // one count per fiber
    return false;
}

// A fiber that joins a child in place waits for the child, which may itself join in place. Stops
// all of them, one after the other.
void scheduler::deliver_stop(control_block& first) noexcept {
    fiber_guard held;
    for (control_block* f = &first; f;) {
        auto raised = stop_stage::raised;
        if (!f->stop.compare_exchange_strong(raised, stop_stage::delivered, acq_rel, acquire)) return;
        tell_and_interrupt(*f);
        fiber_guard child = in_place_child_of(*f);
        if (child) {
            raise_stop(*child);
            heavy_fence();
        }
        held = std::move(child);
        f = held.get();
    }
}

void scheduler::tell_and_interrupt(control_block& f) noexcept {
    std::stop_source tell(std::nostopstate);
    {
        const std::lock_guard guard(f.lock);
        if (f.cold().stop_source) tell = *f.cold().stop_source;
    }
    // Outside the lock, since callbacks are user code; before interrupt(), so that a waiting fiber
    // cannot unwind them first.
    tell.request_stop();
    interrupt(f.cold());  // WAIT_WORD-5
}

// Called after a heavy fence, which pairs with the light ones of join_in_place() and run_inline():
// the fiber sees the stop, or this function sees the child.
scheduler::fiber_guard scheduler::in_place_child_of(control_block& f) noexcept {
    const std::lock_guard guard(f.lock);
    control_block* const child = f.cold().in_place.load(relaxed);
    if (child) child->life.refer();  // the joiner keeps its reference until it has passed the lock
    return fiber_guard(child);
}

void scheduler::stop_in_place_child(wait_cell& cell) noexcept {
    if (cell.thread_signal) return;  // a plain thread
    if (const auto child = in_place_child_of(control_block::of(cell))) request_stop(*child);
}

void scheduler::request_stop_of_all() noexcept {
    all_stopped_.store(true, relaxed);
    looks_at_starts_.store(true, relaxed);
    // A fiber that the walk below does not find has yet to start, and run_body() sees the flags.
    fence(seq_cst);
    try {
        auto all = living();
        stop_each(all);
    } catch (const std::bad_alloc&) {
        // Without memory for all, some at a time: unstopped() does not find stopped fibers again.
        std::array<fiber_guard, 32> some;
        while (const auto n = unstopped(some)) stop_each(std::span(some).first(n));
    }
}

void scheduler::stop_each(std::span<fiber_guard> fibers) noexcept {
    for (fiber_guard& f : fibers)
        if (!raise_stop(*f)) f.reset();
    heavy_fence();  // one fence for all of them
    for (fiber_guard& f : fibers) {
        if (f) deliver_stop(*f);
        f.reset();
    }
}

std::stop_token stop_token_of(control_block& f) {
    auto fresh = std::make_unique<std::stop_source>();
    std::stop_source source(std::nostopstate);
    {
        const std::lock_guard guard(f.lock);
        if (!f.cold().stop_source) f.cold().stop_source = std::move(fresh);
        f.mark.has_stop_source = true;
        f.leave_trace();
        source = *f.cold().stop_source;
    }
    // An earlier request to stop has not seen the source.
    if (f.stop.load(acquire) != stop_stage::none) source.request_stop();
    return source.get_token();
}

}  // namespace weft::detail
