// carrier_now.cpp - a fiber that begins at once, in the place of its spawner (attributes::run_now).
#include "sched/carrier_inline.hpp"
#include "sched/identity/outside.hpp"
#include "sched/inspect/park_watch.hpp"
#include "sched/scheduler.hpp"
#include "sched/worker_inline.hpp"

namespace weft::detail {

constexpr wait_kind run_now_wait{.name = "run_now"};

// Called outside. Whether the calling fiber can give way to `f`.
bool carrier::can_start_now(const control_block& f) noexcept {
    return current() && !holder().is_inside() && (!f.is_pinned() || f.cold().pinned_to == this);
}

// Queues the calling fiber, which is about to leave its stack; no thief can take it before the
// visit ends. A pinned fiber is queued behind the switch, as when it yields.
void carrier::give_way(worker& w, control_block& self) noexcept {
    self.has_given_way = true;
    self.phase.store(fiber_state::runnable, relaxed);  // a hint
    if (self.is_pinned()) {
        after_ = afterwards::requeue;
        after_what_ = &self;
    } else if (self.is_classed()) {
        w.ready_in_class(self);
    } else {
        w.ready(self);
    }
}

// A loop that ends with its first fiber: if the spawner is queued last, it goes on; if not, another
// loop looks for work, on another stack.
void carrier::loop_now(void* stack_of_loop) noexcept {
    auto* const own = static_cast<stack*>(stack_of_loop);
    carrier& before = *this_carrier();
    before.commit();
    control_block& spawner = *std::exchange(before.gave_way_, nullptr);  // its block may soon be another fiber's
    control_block& f = *std::exchange(before.picked_, nullptr);
    f.home = own;
    before.dispatch(before.its_worker(), f);
    before.leave();
    run_body(f);
    const auto how = body_ended(f);
    carrier& c = *this_carrier();  // perhaps another
    const bool has_worker = c.enter(on_demand::refuse);
    c.finish(f, how, has_worker);
    if (!has_worker) c.go_home(afterwards::free_stack, own);
    worker& w = c.its_worker();
    c.go_on(w, afterwards::free_stack, own, w.pick_after(spawner));
}

void carrier::start_now(control_block& f) noexcept {
    if (!can_start_now(f)) return start(f);
    control_block& self = *current();
    if (is_watched()) tell_watcher(self, run_now_wait);
    if (!enter(on_demand::refuse)) {
        leave();
        return start(f);
    }
    born_.store(born_.load(relaxed) + 1, relaxed);  // own thread only
    worker& w = its_worker();
    static_cast<void>(w.poll_if_due());  // `f` goes first, even in the turn of another class
    give_way(w, self);
    const outside_identity from_here(self);
    if (f.has_own_stack()) {
        give_own_stack(f);
        dispatch(w, f);
        switch_context(self.ctx, f.ctx);
    } else {
        gave_way_ = &self;
        switch_context(self.ctx, fresh_loop(w, &f, &carrier::loop_now));
    }
    self.has_given_way = false;
    arrive();
}

}  // namespace weft::detail
