// inline_run.cpp - a new fiber that may not run beside its spawner (at_limit::run_inline) runs inside it.
#include "arch/exception_state.hpp"
#include "sched/scheduler.hpp"

namespace weft::detail {
namespace {

constexpr std::uint32_t turn_of_others = 64;  // chosen: a spawner in a loop lets those in the queue run after so many

// Nobody else has its handle, so nobody waits for it; the reference of its run stays with the caller.
void run_inlined_body(control_block& f) noexcept {
    if (f.owner->all_are_stopped()) scheduler::request_stop(f);
    f.body->run();
    const bool stop_siblings = f.body->failure() && worker::body_failed(f);
    if (!f.life.end().had_handle) f.destroy_body();  // C2; user code, so as the fiber it belongs to
    if (f.parent) f.parent->child_ended(f, stop_siblings);
}

}  // namespace

bool worker::can_run_inline(control_block& self) noexcept {
    const auto* const here = static_cast<std::byte*>(__builtin_frame_address(0));
    const auto& span = self.home->span;
    if (here < span.low || here >= span.high) return false;  // inside a coroutine
    if (static_cast<std::size_t>(here - span.low) < owner_.options().stack_bytes / 2) return false;
    if (++inlined_ % turn_of_others == 0) yield(self);
    return true;
}

// K5 holds as for a join in place, but for shields: under one the child is not stopped with its spawner.
void worker::run_inline(control_block& self, control_block& child) noexcept {
    const auto exceptions = std::exchange(*exception_state_here(), {});  // the spawner may be inside a handler
    const bool stops_with_spawner = self.shields == nullptr;
    {
        carrier& c = *this_carrier();
        worker& w = *c.lent_to;
        if (w.ticks_.load(relaxed) >= w.poll_at_) w.poll();
        w.ticks_.store(w.ticks_.load(relaxed) + 1, relaxed);  // as dispatch()
        w.born_.store(w.born_.load(relaxed) + 1, relaxed);    // owner only, as all counts here
        child.home = self.home;
        self.phase.store(fiber_state::waiting, relaxed);  // hints
        child.phase.store(fiber_state::running, relaxed);
        c.current = &child;
    }
    if (stops_with_spawner) {
        self.in_place.store(&child, relaxed);
        light_fence();  // pairs with stop_in_place_child()
        if (self.stops.load(relaxed) != 0) scheduler::request_stop(child);
    }
    run_inlined_body(child);
    carrier& c = *this_carrier();  // perhaps another
    c.current = &self;
    self.phase.store(fiber_state::running, relaxed);
    *exception_state_here() = exceptions;
    if (stops_with_spawner) {
        self.in_place.store(nullptr, relaxed);
        light_fence();  // as above
        if (self.stops.load(relaxed) != 0) {  // somebody may be about to stop the child: let it take its reference
            self.lock.lock();
            self.lock.unlock();
        }
    }
    scheduler::drop(child);
    c.lent_to->ended_.store(c.lent_to->ended_.load(relaxed) + 1, release);  // as finish()
}

}  // namespace weft::detail
