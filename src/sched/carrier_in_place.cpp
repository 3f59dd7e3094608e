// carrier_in_place.cpp - a fiber that runs another fiber inside itself (CARRIER-3).
//
// It does so to join an unstarted child, or because there is no room for a new fiber beside it
// (at_limit::run_inline).

#include <weft/detail/annotated_locks.hpp>

#include "arch/exception_state.hpp"
#include "sched/joiners.hpp"
#include "sched/pinned.hpp"
#include "sched/scheduler.hpp"
#include "sched/wait/fiber_stop.hpp"
#include "sched/worker_inline.hpp"

namespace weft::detail {
namespace {

// chosen: a fiber that spawns in a loop yields to the queued ones after so many
constexpr std::uint32_t turn_of_others = 64;

}  // namespace

// Called inside.
[[gnu::always_inline]] inline void carrier::begin_in_place(control_block& self, control_block& child) noexcept {
    child.home = self.home;
    self.phase.store(fiber_state::waiting, relaxed);  // hints
    child.phase.store(fiber_state::running, relaxed);
    current_.store(&child, release);  // pairs with seen_current()
}

// Called inside.
[[gnu::always_inline]] inline void carrier::end_in_place(control_block& self) noexcept {
    current_.store(&self, release);  // pairs with seen_current()
    self.phase.store(fiber_state::running, relaxed);
}

namespace {

[[gnu::always_inline]] inline void share_stops(control_block& self, control_block& child) noexcept {
    self.cold().in_place.store(&child, relaxed);
    light_fence();  // pairs with the heavy fence before in_place_child_of(): fiber_stop.cpp
    if (self.cold().stops.load(relaxed) != 0) [[unlikely]]
        request_stop(child);
}

// A thread may be about to stop the child: this lets it take its reference, under the lock.
[[gnu::cold]] void let_stopper_pass(control_block& self) noexcept {
    self.lock.lock();
    self.lock.unlock();
}

[[gnu::always_inline]] inline void share_no_stops(control_block& self) noexcept {
    self.cold().in_place.store(nullptr, relaxed);
    light_fence();  // pairs with the heavy fence before in_place_child_of()
    if (self.cold().stops.load(relaxed) != 0) [[unlikely]]
        let_stopper_pass(self);
}

// Ends a child that observers or other waiters may see. The joiner uses the handle, so that still
// has its reference. \returns whether others wait, or have waited.
[[gnu::cold]] bool end_beside_others(control_block& child) noexcept {
    const bool awaited = child.life.end().was_awaited;
    static_cast<void>(child.life.drop());  // the handle has another reference
    return awaited;
}

// Others may wait for the end of the child, but only one may join.
[[gnu::cold]] void require_sole_joiner(control_block& child) noexcept {
    const lock_guard guard(child.lock);
    require_no_join(child.joiners());
}

// Whether two fibers of which one has rare attributes are of the same class and may share a stack.
[[gnu::cold]] bool may_share_stack(const control_block& self, const control_block& child) noexcept {
    return ((self.rare.load(relaxed) ^ child.rare.load(relaxed)) & rare_place) == 0 && !self.has_own_stack();
}

// Whether nothing but a stop can interrupt `self` while it waits for `child`, and there is room on
// its stack. With a stop pending, `self` must wait in the ordinary way, which the stop ends.
[[gnu::always_inline]] inline bool may_join_in_place(const control_block& self, const control_block& child) noexcept {
    const fiber_cold& cold = self.cold();
    if (cold.stops.load(relaxed) != 0 || cold.slot.deadlines || cold.slot.shields || cold.pinned_to) return false;
    if (!exception_state_here()->empty()) return false;
    if ((self.rare.load(relaxed) | child.rare.load(relaxed)) & rare_place) [[unlikely]]
        if (!may_share_stack(self, child)) return false;
    const auto* const here = static_cast<std::byte*>(__builtin_frame_address(0));
    return here >= self.home->middle && here < self.home->span.high;  // not inside a coroutine
}

}  // namespace

// ---- joining

// Takes the child out of the queue and makes it the running fiber, in one visit.
[[gnu::always_inline]] inline bool carrier::take_back(control_block& self, control_block& child) noexcept {
    if (enter(on_demand::refuse)) [[likely]] {
        worker& w = its_worker();
        // If it is the turn of other fibers, the caller waits for the child in the ordinary way.
        if (!w.poll_if_due() && (w.queue().take_back(child) || w.take_back_of_class(child))) [[likely]] {
            begin_in_place(self, child);
            w.tick();
            leave();
            return true;
        }
    }
    leave();
    return false;
}

// \returns whether the child has failed, and its siblings are to be stopped.
[[gnu::always_inline]] inline bool carrier::run_body_in_place(control_block& f) noexcept {
    if (f.owner->looks_at_starts()) [[unlikely]]
        f.owner->look_at_start(f);
    task& body = *f.body;
    body.run();
    if (body.failure()) [[unlikely]]
        return body_failed(f);
    return false;
}

bool carrier::join_in_place(control_block& child) noexcept {
    carrier* const before = this_carrier();
    control_block* const self = before ? before->current() : nullptr;
    if (!self || !may_join_in_place(*self, child) || !before->take_back(*self, child)) [[unlikely]]
        return false;
    share_stops(*self, child);
    const bool stop_siblings = run_body_in_place(child);
    if (child.parent) child.parent->child_ended(child, stop_siblings);
    carrier& c = *this_carrier();  // perhaps another
    self->cold().in_place.store(nullptr, relaxed);
    // The light fence in enter() also pairs with the heavy fence before in_place_child_of().
    const bool has_worker = c.enter(on_demand::refuse);
    if (self->cold().stops.load(relaxed) != 0) [[unlikely]]
        let_stopper_pass(*self);
    c.end_in_place(*self);
    bool others = false;
    // LIFE_WORD-3
    if (!has_worker || c.owner_.is_observed() || !child.life.end_beside_handle()) [[unlikely]]
        others = end_beside_others(child);
    c.count_end();
    c.give_back_room();
    c.leave();
    if (others) [[unlikely]] {
        require_sole_joiner(child);
        wake_joiners(child);  // CONTROL_BLOCK-4
    }
    return true;
}

// The calling carrier belongs to the child's runtime, since the caller ran the child.
void carrier::free_joined(control_block& child) noexcept {
    child.destroy_body();
    child.life.free_joined();
    this_carrier()->recycle(child);
}

// ---- running a new one

bool carrier::can_run_inline(control_block& self) noexcept {
    const auto* const here = static_cast<std::byte*>(__builtin_frame_address(0));
    const auto& span = self.home->span;
    if (here < span.low || here >= span.high) return false;  // inside a coroutine
    // The child may move to another carrier when it parks, and `self` with it.
    if (self.is_pinned() && !moves_on(self)) return false;
    if (self.is_any(rare_identity)) return false;  // THREAD_IDENTITY-4
    carrier& c = *this_carrier();
    if (static_cast<std::size_t>(here - span.low) < c.owner_.options().stack_bytes / 2) return false;
    if (++c.inlined_ % turn_of_others == 0) yield(self);
    return true;
}

// CARRIER-3 holds as for a join in place, except that under a shield a stop is not passed to the
// child.
void carrier::run_inline(control_block& self, control_block& child) noexcept {
    // Puts the exception state aside, since the spawner may be inside a handler.
    const auto exceptions = std::exchange(*exception_state_here(), {});
    const bool stops_with_spawner = self.cold().slot.shields == nullptr;
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

// No other fiber has the handle yet, so none waits. The caller keeps the reference of the run.
void carrier::run_inlined_body(control_block& f) noexcept {
    if (f.owner->looks_at_starts()) f.owner->look_at_start(f);
    f.body->run();
    const bool stop_siblings = f.body->failure() && body_failed(f);
    // CONTROL_BLOCK-2; user code, so as the fiber it belongs to
    if (!f.life.end().had_handle) f.destroy_body();
    if (f.parent) f.parent->child_ended(f, stop_siblings);
}

}  // namespace weft::detail
