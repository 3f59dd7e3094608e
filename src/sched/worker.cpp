#include "sched/worker.hpp"

#include "sched/idle.hpp"
#include "sched/scheduler.hpp"
#include "sched/worker_inline.hpp"

namespace weft::detail {
namespace {

constexpr std::uint32_t poll_every_most = 256;  // chosen: a look costs about 200 ns, under 1 ns per dispatch
constexpr auto poll_aim = std::chrono::microseconds(100);  // required: timers and I/O of a busy worker are looked at so often

}  // namespace

worker::worker(scheduler& owner, unsigned index)
    : owner_(owner),
      index_(index),
      alone_(owner.options().workers == 1),
      poll_at_(poll_every_most),
      poll_every_(poll_every_most),
      last_poll_(clock::now()),
      seen_(owner.options().workers),
      stacks_(owner.stacks()),
      blocks_(owner.blocks()) {}

worker::~worker() = default;

void worker::run(carrier& on) noexcept {
    fiber_queue::owner(queue_).enter();
    switch_context(on.own, fresh_loop(nullptr));
    commit();  // the stack of the last loop
    fiber_queue::owner(queue_).leave();
}

// ---- the loop

// Inside a visit.
[[gnu::always_inline]] inline control_block* worker::pick_inside() noexcept {
    if (ticks_.load(relaxed) >= poll_at_) [[unlikely]] poll();
    if (timer_is_news_) [[unlikely]] {
        timer_is_news_ = false;  // this worker may stay away from its timers for long: somebody asleep must know of them
        if (owner_.leader_oversleeps(timers_.earliest())) owner_.io().wake();
    }
    return fiber_queue::owner(queue_).pop();
}

// A started fiber goes on. Whoever waits here has no fiber that others wait for (W6).
inline context& worker::resume(carrier& c, control_block& f) noexcept {
    f.word.await_left();
    dispatch(c, f);
    return f.ctx;
}

inline void worker::dispatch(carrier& c, control_block& f) noexcept {
    c.current = &f;
    f.phase.store(fiber_state::running, relaxed);     // a hint
    ticks_.store(ticks_.load(relaxed) + 1, relaxed);  // owner only; read by thieves as a hint
}

// \returns  whether the run's reference is still to be dropped, has been, or has been as the last.
[[gnu::always_inline]] inline worker::after_body worker::run_body(control_block& f) noexcept {
    if (f.owner->all_are_stopped()) scheduler::request_stop(f);
    f.body->run();
    const bool stop_siblings = f.body->failure() && body_failed(f);
    if (f.life.is_unjoinable()) {
        f.destroy_body();  // C2; user code, so here on the fiber
        if (f.parent) f.parent->child_ended(f, stop_siblings);
        return after_body::run_refers;
    }
    if (!f.parent && f.life.end_and_drop()) return after_body::gone;
    const auto found = f.life.end();
    if (!found.had_handle) f.destroy_body();  // C2
    if (found.was_awaited) wake_joiners(f);   // C4
    if (f.parent) f.parent->child_ended(f, stop_siblings);  // after the joiners: one in the scope's body gets the failure itself
    return f.life.drop() ? after_body::last : after_body::gone;
}

// Inside a visit.
[[gnu::always_inline]] inline void worker::finish(control_block& f, after_body how) noexcept {
    this_carrier()->current = nullptr;
    if (how == after_body::run_refers) {
        const bool alone = !owner_.is_observed() && f.life.free_after_run();  // F3
        if (alone || end_observed(f)) how = after_body::last;
    }
    if (how == after_body::last) recycle(f);
    ended_.store(ended_.load(relaxed) + 1, release);  // owner only; pairs with live(): the fiber is gone
    if (auto* const limit = owner_.limit()) [[unlikely]] limit->give();
}

bool worker::end_observed(control_block& f) noexcept {
    f.life.end();
    return f.life.drop();
}

inline void worker::recycle(control_block& f) noexcept {
    f.forget_stop_source();
    blocks_.give(f);
}

bool worker::free_after_handle(control_block& f) noexcept {
    const visit inside(*this);
    if (owner_.is_observed() || !f.life.free_after_handle()) return false;  // F3
    recycle(f);
    return true;
}

void worker::loop(void* stack_of_loop) noexcept {
    auto* const own = static_cast<stack*>(stack_of_loop);
    control_block* f = nullptr;
    {
        worker& w = *this_carrier()->lent_to;
        w.commit();
        f = std::exchange(w.picked_, nullptr);
    }
    for (;;) {
        carrier& c = *this_carrier();  // both may differ from those before the last body
        worker& w = *c.lent_to;
        c.current = nullptr;
        if (!f) f = w.pick_inside();
        if (!f) f = w.wait_for_work();
        if (!f) {  // the scheduler stops
            w.after_ = afterwards::free_stack;
            w.after_what_ = own;
            jump_context(c.own);
        }
        if (f->started() || (f->has_own_stack && w.give_own_stack(*f))) go_on(w, c, afterwards::free_stack, own, f);
        f->home = own;
        w.dispatch(c, *f);
        fiber_queue::owner(w.queue_).leave();
        const auto how = run_body(*f);
        worker& here = *this_carrier()->lent_to;
        fiber_queue::owner(here.queue_).enter();
        here.finish(*std::exchange(f, nullptr), how);
    }
}

control_block* worker::wait_for_work() noexcept {
    fiber_queue::owner(queue_).leave();
    auto* const f = idle_worker(*this).find_work();
    fiber_queue::owner(queue_).enter();
    return f;
}

void worker::loop_once(void* fiber_with_own_stack) noexcept {
    auto& f = *static_cast<control_block*>(fiber_with_own_stack);
    {
        worker& w = *this_carrier()->lent_to;
        w.commit();
        fiber_queue::owner(w.queue_).leave();
    }
    auto* const own = f.home;
    const auto how = run_body(f);
    carrier& c = *this_carrier();
    worker& w = *c.lent_to;
    fiber_queue::owner(w.queue_).enter();
    w.finish(f, how);
    c.current = nullptr;
    go_on(w, c, afterwards::free_own_stack, own, w.pick_inside());
}

// Leaves a stack that nobody needs any more, for a started fiber or for a loop that starts `next` or looks for work.
void worker::go_on(worker& w, carrier& c, afterwards how, stack* leaving, control_block* next) noexcept {
    context* to;
    if (next && (next->started() || (next->has_own_stack && w.give_own_stack(*next)))) {
        to = &w.resume(c, *next);
    } else {
        to = &w.fresh_loop(next);
    }
    w.after_ = how;  // by the code that runs next: this stack is still in use
    w.after_what_ = leaving;
    jump_context(*to);
}

bool worker::body_failed(control_block& f) noexcept {
    const bool stop_siblings = f.parent && f.parent->child_failed(f, f.body->failure());
    f.lock.lock();
    f.failed = true;
    const bool unheard = f.detached;  // if it is detached later, who does so reports
    f.lock.unlock();
    if (unheard) f.owner->report_unhandled(f, f.body->failure());
    return stop_siblings;
}

bool worker::join_in_place(control_block& self, control_block& child) noexcept {
    if (self.deadlines || self.shields || self.has_own_stack || child.has_own_stack || !exception_state_here()->empty()) return false;
    const auto* const here = static_cast<std::byte*>(__builtin_frame_address(0));
    const auto& span = self.home->span;
    if (here >= span.high || here - span.low < (span.high - span.low) / 2) return false;  // also inside a coroutine
    fiber_queue::owner queue(queue_);
    queue.enter();
    if (ticks_.load(relaxed) >= poll_at_) [[unlikely]] poll();
    if (!queue.take_back(child)) {
        queue.leave();
        return false;
    }
    child.home = self.home;
    self.phase.store(fiber_state::waiting, relaxed);  // a hint
    self.in_place.store(&child, relaxed);
    dispatch(*this_carrier(), child);
    queue.leave();
    light_fence();  // pairs with stop_in_place_child()
    if (self.stops.load(relaxed) != 0) [[unlikely]] scheduler::request_stop(child);
    run_body_in_place(child);
    this_carrier()->lent_to->end_in_place(self, child);  // perhaps another
    return true;
}

inline void worker::run_body_in_place(control_block& f) noexcept {
    if (f.owner->all_are_stopped()) scheduler::request_stop(f);
    f.body->run();
    const bool stop_siblings = f.body->failure() && body_failed(f);
    if (f.parent) f.parent->child_ended(f, stop_siblings);
}

// The handle is in use by the joiner, so it is there, and nobody else waits.
inline void worker::end_in_place(control_block& self, control_block& child) noexcept {
    const visit inside(*this);
    this_carrier()->current = &self;
    self.phase.store(fiber_state::running, relaxed);
    self.in_place.store(nullptr, relaxed);
    light_fence();  // as above
    if (self.stops.load(relaxed) != 0) [[unlikely]] {  // somebody may be about to stop the child: let it take its reference
        self.lock.lock();
        self.lock.unlock();
    }
    if (owner_.is_observed() || !child.life.end_beside_handle()) [[unlikely]] {  // F3
        child.life.end();
        static_cast<void>(child.life.drop());  // the handle has another reference
    }
    ended_.store(ended_.load(relaxed) + 1, release);  // as finish()
    if (auto* const limit = owner_.limit()) [[unlikely]] limit->give();
}

void worker::wake_joiners(control_block& f) noexcept {
    f.lock.lock();
    while (waiter* const joiner = f.joiners.claim_front()) {
        f.lock.unlock();
        joiner->unpark();
        f.lock.lock();
    }
    f.lock.unlock();
}

// ---- parking

// Switches to `next`, or to a loop if it is new or null. The visit begun here is ended by the code that goes on.
[[gnu::always_inline]] inline void worker::leave_for(control_block& self, control_block* next) noexcept {
    self.phase.store(fiber_state::runnable, relaxed);  // a hint
    if (next && (next->started() ? next->word.has_left() : next->has_own_stack && give_own_stack(*next))) [[likely]] {
        dispatch(*this_carrier(), *next);
        switch_context(self.ctx, next->ctx);
    } else {
        switch_context(self.ctx, fresh_loop(next));
    }
    worker& w = *this_carrier()->lent_to;  // may be another's by now
    if (w.after_ != afterwards::nothing) w.commit();
    fiber_queue::owner(w.queue_).leave();
}

void worker::park(control_block& self) noexcept {
    fiber_queue::owner(queue_).enter();
    parks_.store(parks_.load(relaxed) + 1, relaxed);  // owner only
    control_block* const next = pick_inside();
    if (next == &self) [[unlikely]] {  // woken already
        self.word.left();
        dispatch(*this_carrier(), self);
        return fiber_queue::owner(queue_).leave();
    }
    after_ = afterwards::commit_park;
    after_what_ = &self;
    leave_for(self, next);
}

void worker::yield(control_block& self) noexcept {
    fiber_queue::owner queue(queue_);
    queue.enter();
    if (ticks_.load(relaxed) >= poll_at_) [[unlikely]] poll();
    auto* next = queue.rotate(self);  // nobody else can run it before the visit ends
    if (!next && !owner_.injected().empty()) {
        poll();
        next = queue.rotate(self);
    }
    if (next) [[likely]] return leave_for(self, next);
    ticks_.store(ticks_.load(relaxed) + 1, relaxed);  // as if dispatched anew: alone it must poll, too
    queue.leave();
}

context& worker::fresh_loop(control_block* picked) noexcept {
    stack* const s = stacks_.take();
    if (!s) panic("no memory for another fiber's stack", "limit the number of fibers that wait at once");
    picked_ = picked;
    make_context(fresh_, s->span, s->span.high, &worker::loop, s);
    return fresh_;
}

// A fiber with a stack size of its own never begins on a loop's stack. True, for the conditions it is part of.
bool worker::give_own_stack(control_block& f) noexcept {
    f.home = owner_.stacks().take(f.stack_bytes);
    if (!f.home) panic("no memory for a fiber's stack", "its stack_bytes are too many");
    make_context(f.ctx, f.home->span, f.home->span.high, &worker::loop_once, &f);
    return true;
}

void worker::commit() noexcept {
    switch (std::exchange(after_, afterwards::nothing)) {
        case afterwards::nothing: break;
        case afterwards::commit_park: static_cast<control_block*>(after_what_)->word.left(); break;
        case afterwards::free_stack: stacks_.give(static_cast<stack*>(after_what_)); break;
        case afterwards::free_own_stack: owner_.stacks().give(static_cast<stack*>(after_what_)); break;
    }
}

// ---- the run queue

control_block* worker::pick() noexcept { return pick_inside(); }

// No memory for a longer queue.
void worker::overflow(control_block& f) noexcept { owner_.injected().push(f); }

// What a busy worker owes the rest: its timers, the injector, the driver. How often follows from how long bodies run.
void worker::poll() noexcept {
    const visit inside(*this);
    const auto now = clock::now();
    const auto elapsed = now - last_poll_;
    if (elapsed > 2 * poll_aim && poll_every_ > 1) poll_every_ /= 2;
    if (elapsed < poll_aim / 2 && poll_every_ < poll_every_most) poll_every_ *= 2;
    poll_at_ = ticks_.load(relaxed) + poll_every_;
    last_poll_ = now;
    cpu_.store(placement::here(), relaxed);  // a hint

    taking_in_ = true;
    timers_.expire(now);
    if (owner_.try_lead()) {
        owner_.io().poll(long_past);
        if (owner_.end_lead()) owner_.wake_sleeper();  // who now has the driver to itself
    }
    auto share = owner_.injected().size() / owner_.worker_count() + 1;
    for (constexpr std::size_t most = 32; share > most;) share = most;
    while (share-- > 0) {
        auto* const f = owner_.injected().pop();
        if (!f) break;
        enqueue(*f);
    }
    taking_in_ = false;
    if (owner_.has_surplus()) [[unlikely]] owner_.trim(now, 1);
    if (!queue_.empty()) notify();
    else fiber_queue::owner(queue_).trim();
}

void worker::arm(timer& t, time_point when) noexcept {
    if (timers_.arm(t, when) && !alone_) timer_is_news_ = true;
}

void worker::wake() noexcept { parker_.wake(owner_.io()); }

std::optional<unsigned> current_worker_index() noexcept {
    const auto* const c = this_carrier();
    return c && c->lent_to ? std::optional(c->lent_to->index()) : std::nullopt;
}

}  // namespace weft::detail
