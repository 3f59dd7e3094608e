// in_place.cpp - a fiber that runs another inside itself: by joining an unstarted child, or because there is no room for a new one
// beside it (at_limit::run_inline). K5 of carrier.hpp.
#include "arch/exception_state.hpp"
#include "sched/scheduler.hpp"
#include "sched/worker_inline.hpp"

namespace weft::detail {
namespace {

constexpr std::uint32_t turn_of_others = 64;  // chosen: a spawner in a loop lets those in the queue run after so many

}  // namespace

// Inside.
[[gnu::always_inline]] inline void carrier::begin_in_place(control_block& self, control_block& child) noexcept {
    child.home = self.home;
    self.phase.store(fiber_state::waiting, relaxed);  // hints
    child.phase.store(fiber_state::running, relaxed);
    current_.store(&child, release);  // pairs with seen_current()
}

// Inside.
[[gnu::always_inline]] inline void carrier::end_in_place(control_block& self) noexcept {
    current_.store(&self, release);  // as above
    self.phase.store(fiber_state::running, relaxed);
}

namespace {

[[gnu::always_inline]] inline void share_stops(control_block& self, control_block& child) noexcept {
    self.rest().in_place.store(&child, relaxed);
    light_fence();  // pairs with stop_in_place_child()
    if (self.rest().stops.load(relaxed) != 0) [[unlikely]]
        scheduler::request_stop(child);
}

[[gnu::always_inline]] inline void share_no_stops(control_block& self) noexcept {
    self.rest().in_place.store(nullptr, relaxed);
    light_fence();  // as above
    if (self.rest().stops.load(relaxed) != 0) [[unlikely]] {  // somebody may be about to stop the child: let it take its reference
        self.lock.lock();
        self.lock.unlock();
    }
}

// Of two that are not both common.
[[gnu::cold]] bool may_share_stack(const control_block& self, const control_block& child) noexcept {
    return self.rare == child.rare && !self.has_own_stack();
}

}  // namespace

// ---- joining

// A visit: takes the child out of the queue, and it is the one that runs.
[[gnu::always_inline]] inline bool carrier::take_back(control_block& self, control_block& child) noexcept {
    bool taken = false;
    if (enter(on_demand::refuse)) [[likely]] {
        worker& w = its_worker();
        taken = !w.poll_if_due() &&
                (w.queue().take_back(child) || w.take_back_of_class(child));  // else others have their turn: it waits
        if (taken) {
            begin_in_place(self, child);
            w.tick();
        }
    }
    leave();
    return taken;
}

bool carrier::join_in_place(control_block& self, control_block& child) noexcept {
    if (self.rest().bound_to || self.rest().deadlines || self.rest().shields || !exception_state_here()->empty()) return false;
    if ((self.rare | child.rare) != 0 && !may_share_stack(self, child)) [[unlikely]]
        return false;
    const auto* const here = static_cast<std::byte*>(__builtin_frame_address(0));
    const auto& span = self.home->span;
    if (here >= span.high || here - span.low < (span.high - span.low) / 2) return false;  // also inside a coroutine
    if (!this_carrier()->take_back(self, child)) return false;
    share_stops(self, child);
    run_body_in_place(child);
    carrier& c = *this_carrier();  // perhaps another
    const bool has_worker = c.enter(on_demand::refuse);
    c.end_in_place(self);
    share_no_stops(self);
    // The handle is in use by the joiner, so it is there, and nobody else waits.
    if (!has_worker || c.owner_.is_observed() || !child.life.end_beside_handle()) [[unlikely]] {  // F3
        child.life.end();
        static_cast<void>(child.life.drop());  // the handle has another reference
    }
    c.count_end();
    c.give_back_room();
    c.leave();
    return true;
}

inline void carrier::run_body_in_place(control_block& f) noexcept {
    if (f.owner->all_are_stopped()) scheduler::request_stop(f);
    f.body->run();
    const bool stop_siblings = f.body->failure() && body_failed(f);
    if (f.parent) f.parent->child_ended(f, stop_siblings);
}

// ---- running a new one

bool carrier::can_run_inline(control_block& self) noexcept {
    const auto* const here = static_cast<std::byte*>(__builtin_frame_address(0));
    const auto& span = self.home->span;
    if (here < span.low || here >= span.high) return false;  // inside a coroutine
    if (self.is_bound()) return false;  // the other might go on elsewhere, and self with it
    carrier& c = *this_carrier();
    if (static_cast<std::size_t>(here - span.low) < c.owner_.options().stack_bytes / 2) return false;
    if (++c.inlined_ % turn_of_others == 0) yield(self);
    return true;
}

// K5 holds as for a join in place, but for shields: under one the child is not stopped with its spawner.
void carrier::run_inline(control_block& self, control_block& child) noexcept {
    const auto exceptions = std::exchange(*exception_state_here(), {});  // the spawner may be inside a handler
    const bool stops_with_spawner = self.rest().shields == nullptr;
    {
        carrier& c = *this_carrier();
        const visit inside(c);
        if (inside.has_worker()) {
            inside.its_worker().poll_if_due();
            inside.its_worker().tick();
        }
        c.born_.store(c.born_.load(relaxed) + 1, relaxed);  // own thread only
        c.begin_in_place(self, child);
    }
    if (stops_with_spawner) share_stops(self, child);
    run_inlined_body(child);
    carrier& c = *this_carrier();  // perhaps another
    const visit inside(c);
    c.end_in_place(self);
    *exception_state_here() = exceptions;
    if (stops_with_spawner) share_no_stops(self);
    scheduler::drop(child);
    c.count_end();
}

// Nobody else has its handle, so nobody waits for it; the reference of its run stays with the caller.
void carrier::run_inlined_body(control_block& f) noexcept {
    if (f.owner->all_are_stopped()) scheduler::request_stop(f);
    f.body->run();
    const bool stop_siblings = f.body->failure() && body_failed(f);
    if (!f.life.end().had_handle) f.destroy_body();  // C2; user code, so as the fiber it belongs to
    if (f.parent) f.parent->child_ended(f, stop_siblings);
}

}  // namespace weft::detail
