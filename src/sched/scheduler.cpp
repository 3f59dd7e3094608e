// scheduler.cpp - builds and ends a scheduler, makes fibers ready, and disposes of ended ones.
#include "sched/scheduler.hpp"

#include "sched/forked.hpp"
#include "sched/simulate/simulator.hpp"
#include "sched/wait/fiber_stop.hpp"
#include "sched/worker_inline.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <thread>
#include <typeinfo>

#include <weft/stop.hpp>

#include "base/direct.hpp"
#include "base/in_quotes.hpp"
#include "sched/inspect/park_watch.hpp"
#include "sched/pinned.hpp"
#include "stack/overflow.hpp"

namespace weft::detail {
namespace {

std::string_view current_name() noexcept {
    const auto* const f = this_fiber_block();
    if (!f) return this_carrier() ? "a worker's loop" : "a plain thread";
    return f->name().empty() ? "an unnamed fiber" : f->name();
}

/// Called in a signal handler, on the thread whose stack is full.
overflown current_overflow() noexcept {
    overflown who{.name = current_name()};
    const auto* const f = this_fiber_block();
    if (!f) return who;
    who.id = id_of(*f);
    if (f->site.line() != 0) {
        who.file = f->site.file_name();
        who.line = f->site.line();
    } else if (f->body) {
        who.body = typeid(*f->body).name();
    }
    return who;
}

/// The text includes the fiber's number, which dumps show as well.
runner current_runner() noexcept {
    runner who{};
    const auto* const f = this_fiber_block();
    const printable_text shown(current_name());
    const auto name = shown.view();
    const auto length = static_cast<int>(name.size());
    if (f && f->owner->simulated())
        std::snprintf(who.text, sizeof who.text, "%.*s, fiber %llu, seed %llu", length, name.data(),
                      static_cast<unsigned long long>(id_of(*f)),
                      static_cast<unsigned long long>(f->owner->simulated()->options().seed));
    else if (f)
        std::snprintf(who.text, sizeof who.text, "%.*s, fiber %llu", length, name.data(),
                      static_cast<unsigned long long>(id_of(*f)));
    else
        std::snprintf(who.text, sizeof who.text, "%.*s", length, name.data());
    return who;
}

}  // namespace

void ready_fiber(wait_cell& cell) noexcept {
    auto& f = control_block::of(cell);
    f.owner->ready(f);
}

void ready_pinned_fiber(wait_cell& cell) noexcept {
    auto& f = control_block::of(cell);
    f.owner->ready_pinned(f);
}

void ready_class_fiber(wait_cell& cell) noexcept {
    auto& f = control_block::of(cell);
    if (auto* const c = this_carrier_of(f.owner)) return c->ready_in_class(f);
    f.owner->inject(f);
}

way_to_ready way_to_ready_of(const control_block& f) noexcept {
    if (f.is_pinned()) return ready_pinned_fiber;
    if (f.demoted) return ready_demoted_fiber;
    return f.is_classed() ? ready_class_fiber : ready_fiber;
}

void ready_demoted_fiber(wait_cell& cell) noexcept {
    auto& f = control_block::of(cell);
    f.owner->queue_demoted(f);
}

bool is_cancellation(const std::exception_ptr& e) noexcept {
    try {
        std::rethrow_exception(e);
    } catch (const cancelled&) {
        return true;
    } catch (...) {
        return false;
    }
}

scheduler::scheduler(scheduler_options options, driver& io)
    : options_(std::move(options)),
      driver_(io),
      // Its workers trim it, so a burst of any size finds the stacks of the one before.
      stacks_({.default_bytes = options_.stack_bytes, .warm_bytes = std::numeric_limits<std::size_t>::max()}),
      identities_(stacks_, options_.keep_identities),
      blocks_(*this),
      idle_(options_.workers),
      demoted_(options_.workers, options_.time_slice),
      spares_(*this, std::max(options_.max_carriers, options_.workers), options_.hog_nice),
      monitor_(*this),
      limit_(options_.max_fibers ? std::make_unique<fiber_limit>(static_cast<std::int64_t>(options_.max_fibers)) : nullptr),
      census_(options_.census ? std::make_unique<stack_census>() : nullptr),
      simulator_(options_.simulate ? std::make_unique<simulator>(*this, *options_.simulate) : nullptr),
      looks_at_spawns_(limit_ || census_ || simulator_ || tortures()),
      looks_at_starts_(simulator_ != nullptr) {
    std::fegetenv(&floating_point_);
    prepare_heavy_fence();
    make_children_plain();
    find_park_watcher();
    set_panic_namer(current_runner);
    set_overflow_namer(current_overflow);
    carriers_.resize(std::max(options_.max_carriers, options_.workers));
    workers_.reserve(options_.workers);
    for (unsigned i = 0; i < options_.workers; ++i) {
        workers_.push_back(std::make_unique<worker>(*this, i));
        new_carrier(workers_.back().get());
    }
    try {
        monitor_.start();  // before the carriers: placement.hpp
        for (unsigned i = 0; i < options_.workers; ++i) carriers_[i]->start_thread();
    } catch (...) {
        stop();
        throw;
    }
}

scheduler::~scheduler() {
    stop();
    while (visitors_.load(acquire) != 0) thread_yield();  // pairs with inject()
}

void scheduler::ready_pinned(control_block& f) noexcept {
    visitors_.fetch_add(1, relaxed);  // see inject()
    if (moves_on(f)) pin_elsewhere(f, *this);
    carrier& c = *f.cold().pinned_to;
    c.pinned().push(f);
    // PINNED-3 pairs with the fences of idle_set and nap(), PINNED-7 with that of send_on_from()
    fence(seq_cst);
    if (this_carrier() != &c) wake(c);
    if (tortures() && !has_worker(c)) send_on_from(c);
    visitors_.fetch_sub(1, release);  // pairs with ~scheduler()
}

bool scheduler::has_worker(const carrier& c) const noexcept {
    return std::any_of(workers_.begin(), workers_.end(), [&](const auto& w) { return w->held_by() == &c; });
}

bool scheduler::somebody_may_be_sent_on() const noexcept {
    bool any = false;
    if (tortures()) for_each_carrier([&](const carrier& c) { any = any || c.has_pinned(); });
    return any;
}

void scheduler::send_on_from(carrier& c) noexcept {
    fence(seq_cst);  // PINNED-7; pairs with the fence in ready_pinned()
    for (auto n = c.pinned().size(); n > 0; --n) {
        control_block* const f = c.pinned().pop();
        if (!f) return;
        if (moves_on(*f)) {
            ready_pinned(*f);
            continue;
        }
        c.pinned().push(*f);
        wake(c);
    }
}

void scheduler::wake(carrier& c) noexcept {
    for (auto& w : workers_)
        if (w->held_by() == &c) w->wake();
    spares_.summon(c);  // in any case, since it may have lost that worker a moment ago
}

carrier& scheduler::new_carrier(worker* first) {
    const auto n = carrier_count_.load(relaxed);
    carriers_[n] = std::make_unique<carrier>(*this, first, n);
    carrier_count_.store(n + 1, release);  // pairs with for_each_carrier()
    return *carriers_[n];
}

void scheduler::start(control_block& f) noexcept {
    if (auto* const c = this_carrier_of(this)) return c->start(f);
    // Before the fiber can end: live() never falls below the truth. Pairs with born().
    born_outside_.fetch_add(1, release);
    if (f.is_pinned()) return ready_pinned(f);
    inject(f);
}

void scheduler::ready(control_block& f) noexcept {
    if (auto* const c = this_carrier_of(this)) return c->ready(f);
    inject(f);
}

// Once it is pushed the fiber may run, be the last to end, and let the runtime end. So ~scheduler()
// waits for the threads that are in here (visitors_).
void scheduler::inject(control_block& f) noexcept {
    visitors_.fetch_add(1, relaxed);  // ordered by the push before whatever the fiber does
    injected_.push(f);
    if (simulator_) [[unlikely]]
        simulator_->note_outsider();
    wake_searcher();
    visitors_.fetch_sub(1, release);  // pairs with ~scheduler()
}

void scheduler::queue_demoted(control_block& f) noexcept {
    visitors_.fetch_add(1, relaxed);  // see inject()
    if (demoted_.push(f))
        monitor_.hurry();
    else
        monitor_.somebody_waits();
    visitors_.fetch_sub(1, release);  // pairs with ~scheduler()
}

void scheduler::promote_one() noexcept {
    auto* const f = demoted_.take();
    if (!f) return;
    f->cold().word.await_left();
    promote(*f);
}

void scheduler::promote(control_block& taken) noexcept {
    taken.demoted = false;
    taken.cold().make_ready.store(way_to_ready_of(taken), relaxed);  // DEMOTION-1
    demoted_.give_back_place();
    inject(taken);
}

void scheduler::drop(control_block& f) noexcept {
    if (f.life.drop()) give_back(f);
}

void scheduler::drop_handle(control_block& f) noexcept {
    if (f.life.drop_handle_early()) return;
    if (f.life.is_only_handle()) [[likely]] {
        f.destroy_body();
        if (auto* const c = this_carrier_of(f.owner); c && c->free_after_handle(f)) return;
    } else if (f.life.drop_handle()) {
        f.destroy_body();
    }
    drop(f);
}

void scheduler::give_back(control_block& f) noexcept {
    if (!f.is_tidy()) tidy(f);
    auto& owner = *f.owner;
    if (auto* const c = this_carrier_of(&owner)) return c->blocks().give(f);
    owner.blocks_.give_one(f);
}

void scheduler::tidy(control_block& f) noexcept {
    if (f.cold().slot.shields) panic("a fiber ends within a shield of its own", printable_text(f.name()).view());
    if (f.is_any(rare_identity)) panic("a fiber ends within a call of this_fiber::as_thread", printable_text(f.name()).view());
    if (f.mark.has_stop_source) f.cold().stop_source.reset();
    if (f.stop.load(relaxed) != stop_stage::none) {
        f.cold().stops.store(0, relaxed);
        f.cold().cancels.store(0, relaxed);
        f.cold().cancelled_since.store(0, relaxed);
        f.cold().cancel_reports = 0;
    }
    if (f.demoted || f.is_classed()) f.cold().make_ready.store(ready_fiber, relaxed);
    f.mark = {};
    f.stop.store(stop_stage::none, relaxed);
    f.told = f.demoted = f.is_apart = false;
    f.failure_taken.store(false, relaxed);
    if (f.owner->simulated()) f.cold().slot.deadlines = nullptr;
    f.keeps_worker.store(false, relaxed);
    f.rare.store(0, relaxed);
}

void scheduler::look_at_start(control_block& f) noexcept {
    if (simulator_) simulator_->begin(f);
    if (all_stopped_.load(relaxed)) request_stop(f);
}

void scheduler::report_unhandled(control_block* f, const std::exception_ptr& failure, unheard why,
                                 const failure_hook* instead) noexcept {
    if (failure && options_.unhandled && !is_cancellation(failure)) options_.unhandled(f, failure, why, instead);
}

// Reads the ends before the births. A fiber counted as ended was counted as born earlier, and a
// fiber that still lives was born by one that is counted as born and not as ended. So equality
// means that no fiber lived in between.
std::uint64_t scheduler::live() const noexcept {
    std::uint64_t ended = 0;
    for_each_carrier([&](const carrier& c) { ended += c.ended(); });
    return born() - ended;
}

std::uint64_t scheduler::born() const noexcept {
    auto born = born_outside_.load(acquire);  // pairs with start()
    for_each_carrier([&](const carrier& c) { born += c.born(); });
    return born;
}

bool scheduler::drain(time_point until) noexcept {
    auto nap = std::chrono::microseconds(50);  // chosen: a cold path, at shutdown only
    while (live() != 0) {
        if (clock::now() >= until || (simulator_ && simulator_->has_given_up())) return false;
        direct::sleep_for(nap);
        if (nap < std::chrono::milliseconds(10)) nap *= 2;
    }
    return true;
}

void scheduler::stop() noexcept {
    monitor_.stop();                 // no worker changes hands from here on
    spares_.dismiss_all();           // CARRIER_POOL-2
    stopping_.store(true, release);  // pairs with stopping()
    // A worker that is about to sleep sees stopping_, or finds the token that wake() leaves.
    // Pairs with the fence of announce_sleep().
    fence(seq_cst);
    for (auto& w : workers_) w->wake();
    for_each_carrier([](carrier& c) { c.join_thread(); });
}

bool scheduler::work_is_queued() const noexcept {
    if (!injected_.empty()) return true;
    for (const auto& w : workers_)
        if (w->has_work()) return true;
    return false;
}

bool scheduler::work_needs_help() const noexcept {
    if (!injected_.empty()) return true;
    for (const auto& w : workers_)
        if (w->needs_help()) return true;
    return false;
}

void scheduler::wake_claimed() noexcept {
    if (const auto sleeper = idle_.claim_sleeper()) workers_[*sleeper]->wake();
}

void scheduler::wake_another_than(const worker& w) noexcept {
    if (const auto sleeper = idle_.claim_sleeper_but(w.index())) workers_[*sleeper]->wake();
}

void scheduler::wake_searcher() noexcept {
    // Pairs with the fences of announce_sleep() and nap(): the caller need not be a worker.
    fence(seq_cst);
    wake_sleeper();
    if (auto* const napper = napper_.load(relaxed)) napper->wake();
}

std::uint64_t id_of(const control_block& f) noexcept { return (std::uint64_t{f.generation.load(relaxed)} << 32) | (f.index + 1); }

scheduler* current_scheduler() noexcept {
    const auto* const c = this_carrier();
    return c ? &c->owner() : nullptr;
}

}  // namespace weft::detail
