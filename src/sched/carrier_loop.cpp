// carrier_loop.cpp - how a carrier gets from one fiber to the next: its loops, and every switch.
#include "sched/carrier_inline.hpp"
#include "sched/identity/outside.hpp"
#include "sched/idle/idle.hpp"
#include "sched/inspect/park_watch.hpp"
#include "sched/pinned.hpp"
#include "sched/scheduler.hpp"
#include "sched/worker_inline.hpp"

namespace weft::detail {

constexpr wait_kind yield_wait{.name = "yield"};

// ---- the loop

// Prepares the switch to a started fiber. A carrier that waits here for the fiber's stack has
// already left its own fiber's stack, so no other carrier waits for it (WAIT_WORD-6).
[[gnu::always_inline]] inline context& carrier::resume(worker& w, control_block& f) noexcept {
    f.cold().word.await_left();
    dispatch(w, f);
    return f.ctx;
}

bool carrier::end_observed(control_block& f) noexcept {
    f.life.end();
    return f.life.drop();
}

bool carrier::free_after_handle(control_block& f) noexcept {
    const visit here(*this, on_demand::concede);
    // LIFE_WORD-3
    if (!here.has_worker() || owner_.is_observed() || !f.life.free_after_handle()) return false;
    recycle(f);
    return true;
}

void carrier::loop(void* stack_of_loop) noexcept {
    auto* const own = static_cast<stack*>(stack_of_loop);
    control_block* f = nullptr;
    {
        carrier& c = *this_carrier();
        c.commit();
        f = std::exchange(c.picked_, nullptr);
    }
    for (;;) {
        // The carrier and its worker may differ from those before the last body.
        carrier& c = *this_carrier();
        worker& w = c.its_worker();
        c.current_.store(nullptr, relaxed);
        if (!f) f = w.pick();
        if (!f) f = c.wait_for_work(w);
        if (!f) c.go_home(afterwards::free_stack, own);  // the scheduler stops
        if (f->started() || (f->has_own_stack() && c.give_own_stack(*f))) c.go_on(w, afterwards::free_stack, own, f);
        f->home = own;
        c.dispatch(w, *f);
        c.leave();
        run_body(*f);
        const auto how = body_ended(*f);
        carrier& here = *this_carrier();
        const bool has_worker = here.enter(on_demand::refuse);
        here.finish(*std::exchange(f, nullptr), how, has_worker);
        if (!has_worker) [[unlikely]]
            here.go_home(afterwards::free_stack, own);
    }
}

control_block* carrier::wait_for_work(worker& w) noexcept {
    leave();
    auto* const f = idle_worker(w).find_work();
    enter(on_demand::refuse);
    return f;
}

void carrier::loop_once(void* fiber_with_own_stack) noexcept {
    auto& f = *static_cast<control_block*>(fiber_with_own_stack);
    arrive();
    auto* const own = f.home;
    if (f.is_any(rare_identity)) begin_identity(f);
    run_body(f);
    // After its captures were destroyed, before its end is visible. A forked child ends in body_ended().
    if (f.is_any(rare_identity) && !f.owner->is_inherited()) leave_identity(f);
    if (auto* const census = f.owner->census()) [[unlikely]]
        census->end(f);
    if (f.is_pinned()) let_go(f);  // after its captures were destroyed, before its end is visible
    const auto how = body_ended(f);
    carrier& c = *this_carrier();
    const bool has_worker = c.enter(on_demand::refuse);
    c.finish(f, how, has_worker);
    if (!has_worker) [[unlikely]]
        c.go_home(afterwards::free_own_stack, own);
    worker& w = c.its_worker();
    c.go_on(w, afterwards::free_own_stack, own, w.pick());
}

bool carrier::body_failed(control_block& f) noexcept {
    const bool stop_siblings = f.parent && f.parent->child_failed(f, f.body->failure());
    f.lock.lock();
    f.mark.failed = true;
    f.leave_trace();
    // If it is detached later, the thread that does so reports.
    const bool unheard = f.mark.detached;
    f.lock.unlock();
    if (unheard) f.owner->report_unhandled(f, f.body->failure());
    return stop_siblings;
}

void carrier::wake_joiners(control_block& f) noexcept {
    f.lock.lock();
    while (waiter* const joiner = f.joiners().claim_front()) {
        f.lock.unlock();
        joiner->unpark();
        f.lock.lock();
    }
    f.lock.unlock();
}

// ---- switching

// Leaves a stack that is not needed any more. Goes to `next` if it has been started; else to a
// loop, which starts `next` or looks for work.
void carrier::go_on(worker& w, afterwards how, stack* leaving, control_block* next) noexcept {
    context* to;
    if (next && (next->started() || (next->has_own_stack() && give_own_stack(*next)))) {
        to = &resume(w, *next);
    } else {
        to = &fresh_loop(w, next);
    }
    after_ = how;  // left to the code that runs next, since this stack is still in use
    after_what_ = leaving;
    jump_context(*to);
}

void carrier::go_home(afterwards how, stack* leaving) noexcept {
    after_ = how;
    after_what_ = leaving;
    jump_context(own_);
}

// Switches to `next`, or to a loop if `next` is new or null. The code that goes on after the switch
// ends this visit. Every rare case is a call at the very end, so that the common path keeps nothing
// in registers that would have to be saved.
[[gnu::always_inline]] inline void carrier::leave_for(worker& w, control_block& self, control_block* next) noexcept {
    if (!next || !next->started() || !next->cold().word.has_left() || !exception_state_is_clear()) [[unlikely]]
        return leave_for_loop(w, self, next);
    self.phase.store(fiber_state::runnable, relaxed);  // a hint: it runs no more; the wait word says whether it waits
    dispatch(w, *next);
    switch_clear_context(self.ctx, next->ctx);
    arrive();
}

// Goes to `next`, or to a loop if `next` is new or null.
[[gnu::always_inline]] inline void carrier::leave_stack(worker& w, control_block& self, control_block* next,
                                                        exception_state& exceptions) noexcept {
    self.phase.store(fiber_state::runnable, relaxed);  // a hint: it runs no more; the wait word says whether it waits
    if (next && (next->started() ? next->cold().word.has_left() : next->has_own_stack() && give_own_stack(*next))) {
        dispatch(w, *next);
        switch_context(self.ctx, next->ctx, nullptr, exceptions);
    } else {
        switch_context(self.ctx, fresh_loop(w, next), nullptr, exceptions);
    }
}

// A fiber that has an identity comes here, too, since its exception state is not clear.
[[gnu::noinline]] void carrier::leave_for_loop(worker& w, control_block& self, control_block* next) noexcept {
    exception_state* const exceptions = known_exception_state();
    if (!exceptions) [[unlikely]]
        return leave_outside_identity(w, self, next);
    leave_stack(w, self, next, *exceptions);
    arrive();
}

[[gnu::cold]] void carrier::leave_outside_identity(worker& w, control_block& self, control_block* next) noexcept {
    const outside_identity from_here(self);
    leave_stack(w, self, next, *exception_state_here());
    arrive();
}

// Called without a worker.
void carrier::leave_for_home(control_block& self, afterwards how) noexcept {
    const outside_identity from_here(self);
    self.phase.store(fiber_state::runnable, relaxed);  // a hint: it runs no more; the wait word says whether it waits
    after_ = how;
    after_what_ = &self;
    current_.store(nullptr, relaxed);
    switch_context(self.ctx, own_);
    arrive();
}

[[gnu::noinline]] void carrier::arrive_and_commit() noexcept {
    commit();
    leave();
}

void carrier::park(control_block& self) noexcept {
    parks_.store(parks_.load(relaxed) + 1, relaxed);  // own thread only
    if (!has_worker()) [[unlikely]]
        return park_at_home(self);
    worker& w = its_worker();
    control_block* const next = w.pick();
    // A hint for dumps; after pick(), which may have read the clock.
    self.cold().since.store(w.coarse_now(), relaxed);
    if (next == &self) [[unlikely]] {  // woken already
        self.cold().word.left();
        dispatch(w, self);
        return leave();
    }
    after_ = afterwards::commit_park;
    after_what_ = &self;
    leave_for(w, self, next);
}

[[gnu::noinline]] void carrier::park_at_home(control_block& self) noexcept {
    self.cold().since.store(coarse(clock::now()), relaxed);  // a hint for dumps
    leave_for_home(self, afterwards::commit_park);
}

void carrier::yield(control_block& self) noexcept {
    carrier& c = *this_carrier();
    if (!c.holder().try_enter()) [[unlikely]]
        return c.yield_otherwise(self);
    worker& w = c.its_worker();
    if (self.is_apart || w.poll_is_due()) [[unlikely]]
        return c.yield_otherwise(self);
    // No thief can take `self` before the visit ends.
    control_block* const next = w.queue().rotate_started(self);
    if (!next) [[unlikely]]
        return c.yield_otherwise(self);
    c.leave_for(w, self, next);
}

// The rare half of yield(). Called inside, perhaps without a worker.
void carrier::yield_otherwise(control_block& self) noexcept {
    if (!enter_attentively(on_demand::refuse)) return leave_for_home(self, afterwards::requeue);
    worker& w = its_worker();
    if (self.is_apart || w.poll_if_due()) return yield_anyhow(w, self);
    auto* next = w.queue().rotate(self);
    if (!next && !owner_.injected().empty()) {
        w.poll();
        next = w.queue().rotate(self);
    }
    if (next) {
        // The queue may have seemed empty for a moment; a worker that fell asleep in it is woken.
        w.notify();
        return leave_for(w, self, next);
    }
    w.tick();  // counts as a dispatch, so that a fiber that is alone polls, too
    leave();
}

// Yields through pick(), which knows which class has the turn, and through requeue(), which knows
// where `self` belongs.
void carrier::yield_anyhow(worker& w, control_block& self) noexcept {
    if (is_watched()) tell_watcher(self, yield_wait);
    // No other carrier can run `self` before the visit ends.
    if (!self.is_pinned() && !w.drains() && w.put_back(self)) {
        control_block* const next = w.pick();
        if (next != &self) return leave_for(w, self, next);
        w.tick();
        return leave();
    }
    auto* next = w.pick();
    if (!next) {
        w.poll();
        next = w.pick();
    }
    after_ = afterwards::requeue;
    after_what_ = &self;
    leave_for(w, self, next);
}

context& carrier::fresh_loop(worker& w, control_block* picked, context_entry bottom) noexcept {
    stack* const s = w.stacks().take();
    if (!s) panic("no memory for another fiber's stack", "limit the number of fibers that wait at once");
    picked_ = picked;
    make_context(fresh_, s->span, s->span.high, bottom, s);
    return fresh_;
}

// Gives a fiber its own stack before it starts, since one with rare attributes never begins on a
// loop's stack. \returns true always, so that it can stand in a condition.
bool carrier::give_own_stack(control_block& f) noexcept {
    f.home = owner_.stacks().take(f.cold().stack_bytes);
    if (!f.home)
        panic("no memory for a fiber's stack",
              "memory or address space is missing; ask for fewer stack_bytes, or limit the number of fibers");
    if (owner_.census()) [[unlikely]]
        stack_census::begin(*f.home);
    if (f.is_any(rare_identity)) f.home->identity = f.identity_at_start;
    make_context(f.ctx, f.home->span, f.home->span.high, &carrier::loop_once, &f);
    if (f.cold().pins != 0 && !f.is_pinned()) pin_to(f, *this);  // migrate::before_start
    return true;
}

void carrier::commit() noexcept {
    void* const what = after_what_;
    switch (std::exchange(after_, afterwards::nothing)) {
        case afterwards::nothing: break;
        case afterwards::commit_park: static_cast<control_block*>(what)->cold().word.left(); break;
        case afterwards::requeue: requeue(*static_cast<control_block*>(what)); break;
        case afterwards::free_own_stack: owner_.stacks().give(static_cast<stack*>(what)); break;
        case afterwards::free_stack:
            if (has_worker())
                its_worker().stacks().give(static_cast<stack*>(what));
            else
                owner_.stacks().give(static_cast<stack*>(what));
    }
}

}  // namespace weft::detail
