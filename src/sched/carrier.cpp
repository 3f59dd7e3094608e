// carrier.cpp - the life of a carrier's thread, and how it gives up and does without a worker.
#include "sched/carrier.hpp"

#include <pthread.h>

#include <cfenv>
#include <cstdio>

#include "sched/inspect/leaving.hpp"
#include "sched/monitor/preemption.hpp"
#include "sched/new_thread.hpp"
#include "sched/simulate/simulator.hpp"
#include "sched/worker_inline.hpp"
#include "stack/overflow.hpp"
#include "stack/running_stack.hpp"

WEFT_DEFINE_THREAD_WORD(weft_carrier_word);

namespace weft::detail {

void set_this_carrier(carrier* c) noexcept { weft_carrier_word = c; }

carrier::carrier(scheduler& owner, worker* first, unsigned number) noexcept
    : hold_(first), owner_(owner), blocks_(owner.blocks()), number_(number) {
    if (first) first->be_held_by(*this);
}

void carrier::start_thread() {
    join_thread();
    has_long_kernel_slice_.store(false, relaxed);
    is_nice_.store(owner_.spares().starts_nice(), relaxed);  // before it is a spare
    has_lived_.store(false, relaxed);
    own_ = context();
    thread_ = new_thread("weft: no thread for a carrier", [this] {
        char name[16];
        std::snprintf(name, sizeof name, "%.10s/%u", owner_.options().name.c_str(), number_);
        pthread_setname_np(pthread_self(), name);
        if (owner_.options().time_slice != duration::zero()) set_slice_of(0, worker_slice);
        owner_.spares().thread_begins(*this);
        if (const int number = owner_.options().hog_signal) unblock_stack_signal(number);
        const alternate_stack for_overflow;
        std::fesetenv(&owner_.floating_point());  // not that of the thread that started this one
        probe_.store(thread_probe::here(), relaxed);
        usual_signals_ = signals_blocked_here();
        set_this_carrier(this);
        if (auto* const s = owner_.simulated()) s->begin_thread();
        live();
        set_this_carrier(nullptr);
        has_lived_.store(true, relaxed);
    });
}

// ---- the thread's own stack: home

void carrier::live() noexcept {
    bool goes_on = has_worker() ? enter(on_demand::refuse) : holder().await_grant() != holding::awaited::dismissed;
    while (goes_on) {
        if (has_worker()) {
            be_a_worker();
            switch_context(own_, fresh_loop(its_worker(), nullptr));
            commit();
            if (has_worker()) break;  // the scheduler stops
        }
        if (auto* const stays = pinned_.pop())
            run_pinned(*stays);
        else if (auto* const f = is_reserved() ? nullptr : take_demoted())
            run_demoted(*f);
        else
            goes_on = owner_.spares().await_worker(*this);
    }
    if (has_worker()) leave();  // else the tenure stays as a new one without a worker is: inside
}

void carrier::be_a_worker() noexcept {
    if (has_long_kernel_slice_.exchange(false, relaxed)) set_slice_of(0, worker_slice);
}

// Takes a demoted fiber to run, or null. Fibers whose bursts have been short for long enough become
// ordinary again.
control_block* carrier::take_demoted() noexcept {
    auto& demoted = owner_.demoted();
    while (auto* const f = demoted.take()) {
        f->cold().word.await_left();
        if (!demoted.is_rehabilitated(*f)) return f;
        owner_.promote(*f);
    }
    return nullptr;
}

// Runs a pinned fiber without a worker, as run_demoted() does, but it needs no place.
void carrier::run_pinned(control_block& f) noexcept {
    f.cold().word.await_left();
    if (!f.started()) give_own_stack(f);
    if (!f.demoted) holder().forgive();
    f.phase.store(fiber_state::running, relaxed);  // a hint
    note_alone_since(clock::now());
    current_.store(&f, release);  // pairs with seen_current()
    owner_.the_monitor().somebody_runs_alone();
    switch_context(own_, f.ctx);
    commit();
}

// Runs a demoted fiber on this carrier, without a worker.
void carrier::run_demoted(control_block& f) noexcept {
    const auto from = thread_cpu_here();
    f.phase.store(fiber_state::running, relaxed);  // a hint
    note_alone_since(clock::now());
    has_place_.store(true, release);  // pairs with vacate_place_since()
    current_.store(&f, release);  // pairs with seen_current()
    owner_.the_monitor().somebody_runs_alone();
    switch_context(own_, f.ctx);
    if (after_ == afterwards::commit_park || after_ == afterwards::requeue)
        owner_.demoted().burst_ends(*static_cast<control_block*>(after_what_), thread_cpu_here() - from);
    commit();
    // pairs with vacate_place_since()
    if (has_place_.exchange(false, acq_rel)) owner_.demoted().give_back_place();
}

bool carrier::vacate_place_since(time_point t) noexcept {
    // pairs with run_demoted(): alone_since() is of the fiber that has the place
    if (!has_place_.load(acquire) || alone_since() > t) return false;
    // pairs with run_demoted()
    return has_place_.exchange(false, acq_rel);
}

// ---- entries that find a call or no worker

bool carrier::enter_attentively(on_demand what) noexcept {
    auto mine = holder();
    if (back_since_.load(relaxed) == 0) back_since_.store(clock::now().time_since_epoch().count(), relaxed);  // a hint
    const auto* const f = current();
    // Null: a loop runs, which cannot go on without a worker.
    if (!f || f->keeps_worker.load(relaxed)) what = on_demand::refuse;
    if (mine.attend(what)) return true;
    if (!mine.has_conceded()) return false;
    if (what == on_demand::refuse && mine.reclaim()) return true;
    owner_.the_monitor().hurry();
    return false;
}

void carrier::enter_wait_attentively(control_block& self) noexcept {
    // Before any claimer can claim the wait, since a claimer reads make_ready.
    if (!enter_attentively(on_demand::refuse) && holder().why() == cause_of_loss::computing && !self.is_pinned())
        demotion::demote(self, ready_demoted_fiber);
}

void carrier::start_inside(control_block& f) noexcept {
    if (has_worker())
        its_worker().enqueue(f);
    else
        owner_.inject(f);
}

// Called inside; enter_attentively() finds out whether the carrier has its worker.
void carrier::start_attentively(control_block& f) noexcept {
    if (!enter_attentively(on_demand::concede)) {
        leave();
        return owner_.inject(f);
    }
    worker& w = its_worker();
    w.push(f);
    leave();
    w.notify();  // outside the visit: what it reads never changes, or is a hint
}

void carrier::start_rare(control_block& f) noexcept {
    born_.store(born_.load(relaxed) + 1, relaxed);  // own thread only
    if (f.is_pinned()) return owner_.ready_pinned(f);
    const visit here(*this, on_demand::concede);
    start_inside(f);
}

// Queues a fiber that has yielded and has left its stack; most often its carrier has no worker.
void carrier::requeue(control_block& f) noexcept {
    if (f.is_pinned()) return owner_.ready_pinned(f);
    // With a worker: the worker drains (WORKER-4), or there was no memory for put_back().
    if (has_worker()) return its_worker().enqueue(f);
    if (holder().why() == cause_of_loss::computing) demotion::demote(f, ready_demoted_fiber);
    if (f.demoted)
        owner_.queue_demoted(f);
    else
        owner_.inject(f);
}

void carrier::arm(timer& t, time_point when) noexcept {
    if (has_worker()) [[likely]]
        its_worker().arm(t, when);
    else
        owner_.worker_at(0).arm_from_outside(t, when);
}

}  // namespace weft::detail
