#include "sched/wait/fiber_stop.hpp"

#include <memory>
#include <utility>

#include <weft/detail/annotated_locks.hpp>
#include <weft/stop.hpp>

#include "sched/scheduler.hpp"

namespace weft::detail {
namespace {

void tell_and_interrupt(control_block& f) noexcept {
    std::stop_source tell(std::nostopstate);
    {
        const lock_guard guard(f.lock);
        if (const auto& source = f.stop_source()) tell = *source;
    }
    // Outside the lock, since callbacks are user code; before interrupt(), so that a waiting fiber
    // cannot unwind them first.
    tell.request_stop();
    interrupt(f.cold());  // WAIT_WORD-5
}

// Called after a heavy fence, which pairs with the light ones of join_in_place() and run_inline():
// the fiber sees the stop, or this function sees the child.
scheduler::fiber_guard in_place_child_of(control_block& f) noexcept {
    const lock_guard guard(f.lock);
    control_block* const child = f.cold().in_place.load(relaxed);
    if (child) child->life.refer();  // the joiner keeps its reference until it has passed the lock
    return scheduler::fiber_guard(child);
}

}  // namespace

bool request_stop(control_block& f) noexcept {
    const bool first = raise_stop(f);
    // pairs with deliver_stop()
    if (!first && f.stop.load(acquire) == stop_stage::delivered) return false;
    heavy_fence();
    deliver_stop(f);  // also if another thread made the first request and has not delivered it yet
    return first;
}

bool raise_stop(control_block& f) noexcept {
    // pairs with the exchange below, in another thread
    if (f.stop.load(acquire) != stop_stage::none) return false;
    f.leave_trace();
    // Before the token is notified: from then on park points throw.
    f.cold().stops.fetch_add(1, relaxed);
    auto none = stop_stage::none;
    // pairs with itself, with deliver_stop() and with stop_token_of()
    if (f.stop.compare_exchange_strong(none, stop_stage::raised, acq_rel, acquire)) return true;
    f.cold().stops.fetch_sub(1, relaxed);  // one count per fiber
    return false;
}

// A fiber that joins a child in place waits for the child, which may itself join in place. Stops
// all of them, one after the other.
void deliver_stop(control_block& first) noexcept {
    scheduler::fiber_guard held;
    for (control_block* f = &first; f;) {
        auto raised = stop_stage::raised;
        // pairs with raise_stop() and request_stop()
        if (!f->stop.compare_exchange_strong(raised, stop_stage::delivered, acq_rel, acquire)) return;
        tell_and_interrupt(*f);
        scheduler::fiber_guard child = in_place_child_of(*f);
        if (child) {
            raise_stop(*child);
            heavy_fence();
        }
        held = std::move(child);
        f = held.get();
    }
}

void stop_in_place_child(wait_cell& cell) noexcept {
    if (cell.thread_signal) return;  // a plain thread
    if (const auto child = in_place_child_of(control_block::of(cell))) request_stop(*child);
}

std::stop_token stop_token_of(control_block& f) {
    auto fresh = std::make_unique<std::stop_source>();
    std::stop_source source(std::nostopstate);
    {
        const lock_guard guard(f.lock);
        if (!f.stop_source()) f.stop_source() = std::move(fresh);
        f.mark.has_stop_source = true;
        f.leave_trace();
        source = *f.stop_source();
    }
    // Pairs with raise_stop(). An earlier request to stop has not seen the source.
    if (f.stop.load(acquire) != stop_stage::none) source.request_stop();
    return source.get_token();
}

}  // namespace weft::detail
