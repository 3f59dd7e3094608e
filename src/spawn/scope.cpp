// scope.cpp - the core of weft::scope: its children, their failures and stops, and its end.
#include <weft/detail/scope_core.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include <weft/detail/annotated_locks.hpp>
#include <weft/scope.hpp>

#include "sched/scheduler.hpp"
#include "sched/wait/fiber_stop.hpp"
#include "sched/wait/wait_on.hpp"
#include "spawn/admission.hpp"

namespace weft::detail {

namespace {

constexpr wait_kind scope_limit_wait{.name = "limit of its scope"};

bool limits_children(const scope_options& o) noexcept { return o.limit != 0 && o.limit != no_limit; }

void note_told(control_block& f) noexcept {
    f.told = true;
    f.leave_trace();
}

}  // namespace

// Invariants
//   SCOPE-1  A child is in `running` or `told` from before it starts until child_ended(), guarded
//            by `lock`. So a thread that holds the lock and finds a child there may take a
//            reference to it.
//   SCOPE-2  `stopped` is set once. Under the same lock the owner's `stops` is raised by one;
//            close() takes that back.
//   SCOPE-3  close() returns only after the last child has left child_ended(). After that no child
//            touches the scope.
//   SCOPE-4  `failed` holds a reference, so that its block is not used for another fiber while the
//            failure may still be taken.
//   SCOPE-5  A child of a scope with a limit holds a place from before it is made until its body
//            has ended and, if it failed, its siblings are stopped. So a fiber that waits for the
//            place of a child that failed is stopped before it gets the place.
struct scope_core::state final : end_observer {
    state(scheduler& s, const scope_options& o)
        : where(s),
          owner(this_cell()),
          options(o),
          report_failures(o.on_failure == on_failure::report),
          limit(limits_children(o) ? std::make_unique<fiber_limit>(static_cast<std::int64_t>(std::min(o.limit, most_places)))
                                   : nullptr) {}

    static constexpr std::size_t most_places = std::numeric_limits<std::int64_t>::max();

    bool child_failed(control_block& f, const std::exception_ptr& failure) noexcept override;
    void child_ended(control_block& f, bool stop_siblings) noexcept override;
    bool is_stopped() const noexcept override;
    static std::size_t list_children(const void* of_state, std::span<const wait_cell*> into) noexcept;
    static constexpr wait_kind end_wait{.name = "end of scope", .holders = list_children};
    bool keep_failure(control_block* from, const std::exception_ptr& failure) noexcept;
    bool failure_is_open() const noexcept WEFT_REQUIRES(lock);
    // chosen: one heavy fence serves so many children
    using children = std::array<control_block*, 64>;
    void request_stop() noexcept;
    std::size_t take_untold(children& out) noexcept;
    static void raise_stops(children& of, std::size_t n) noexcept;
    bool wait_for_children() noexcept;
    void leave() noexcept;

    scheduler& where;
    wait_cell& owner;
    const scope_options& options;  // of with_scope(), which waits and so keeps them alive
    const bool report_failures;
    const std::unique_ptr<fiber_limit> limit;  // null: no limit

    bool body_was_cancelled = false;  // used by the owner only

    mutable spin_lock lock;
    intrusive_list<control_block> running WEFT_GUARDED_BY(lock);
    intrusive_list<control_block> told WEFT_GUARDED_BY(lock);
    std::size_t count WEFT_GUARDED_BY(lock) = 0;
    bool stopped WEFT_GUARDED_BY(lock) = false;
    std::exception_ptr first_failure WEFT_GUARDED_BY(lock);
    // the child whose failure it is; null: the body's own failure
    control_block* failed WEFT_GUARDED_BY(lock) = nullptr;
    wait_list last_child WEFT_GUARDED_BY(lock);  // the owner, while it is in close()
    mutable std::unique_ptr<std::stop_source> source WEFT_GUARDED_BY(lock);
};

scope_core::scope_core(scheduler& where, const scope_options& options)
    : state_(std::make_unique<state>(where, options)), is_limited_(limits_children(options)) {}

scope_core::~scope_core() {
    if (state_->failed) scheduler::drop(*state_->failed);  // SCOPE-4
}

scheduler& scope_core::where() const noexcept { return state_->where; }

void scope_place::take(scope_core& in) {
    auto& state = *in.state_;
    spawn_attempt attempt(state.where);
    if (!state.limit->take()) wait_for_place(*state.limit, scope_limit_wait);
    attempt.succeed();
    held_in_ = &state;
}

void scope_place::give_back() noexcept { held_in_->limit->give(); }

fiber_ref scope_core::start(new_fiber& made, task& body, scope_place& place) noexcept {
    auto& f = made.release(body);
    place.hand_over();
    f.parent = state_.get();
    bool stopped;
    {
        const lock_guard guard(state_->lock);
        stopped = state_->stopped;
        if (stopped) note_told(f);
        (stopped ? state_->told : state_->running).push_back(f);
        ++state_->count;
    }
    // the body runs in any case, and sees the stop at its first park point
    if (stopped) detail::request_stop(f);
    made.launch(f);
    return fiber_ref(f);
}

void scope_core::request_stop() noexcept { state_->request_stop(); }

std::size_t scope_core::size() const noexcept {
    const lock_guard guard(state_->lock);
    return state_->count;
}

std::stop_token scope_core::stop_token() const {
    auto fresh = std::make_unique<std::stop_source>();
    std::stop_source known(std::nostopstate);
    bool stopped;
    {
        const lock_guard guard(state_->lock);
        if (!state_->source) state_->source = std::move(fresh);
        known = *state_->source;
        stopped = state_->stopped;
    }
    if (stopped) known.request_stop();
    return known.get_token();
}

void scope_core::body_failed() noexcept {
    const auto failure = std::current_exception();
    if (is_cancellation(failure)) {
        state_->body_was_cancelled = true;
    } else if (!state_->keep_failure(nullptr, failure)) {
        state_->where.report_unhandled(this_fiber_block(), failure, unheard::further, &state_->options.on_further_failure);
    }
    state_->request_stop();
}

// Not analysed: after leave() no other thread uses the state, so it is read without the lock
// (SCOPE-3).
void scope_core::close(bool body_has_result) WEFT_NO_THREAD_SAFETY_ANALYSIS {
    const bool interrupted = state_->wait_for_children();
    state_->leave();
    if (state_->failure_is_open()) std::rethrow_exception(state_->first_failure);
    if (interrupted) throw_cancelled();
    if (!state_->body_was_cancelled) return;
    // This scope's own count is gone now. A stop that is still pending comes from outside.
    // Otherwise the stop was this scope's own and ends here.
    if (!body_has_result || pending_interrupt()) throw_cancelled();
}

// Whether there is a failure that no join has taken.
bool scope_core::state::failure_is_open() const noexcept {
    // relaxed: joined_fiber::note_taken() says what orders it
    return first_failure && !(failed && failed->failure_taken.load(relaxed));
}

// True if this is the first failure, apart from failures that were taken.
bool scope_core::state::keep_failure(control_block* from, const std::exception_ptr& failure) noexcept {
    if (from) from->life.refer();  // SCOPE-4; the run of `from` holds a reference
    auto what = failure;
    bool first;
    {
        const lock_guard guard(lock);
        first = !failure_is_open();
        if (first) {
            std::swap(failed, from);
            std::swap(first_failure, what);
        }
    }
    // not kept, or kept no longer; dropped outside the lock, since that may destroy a result
    if (from) scheduler::drop(*from);
    return first;
}

bool scope_core::state::child_failed(control_block& f, const std::exception_ptr& failure) noexcept {
    if (is_cancellation(failure)) return false;
    if (report_failures)
        where.report_unhandled(f, failure);
    else if (!keep_failure(&f, failure))
        where.report_unhandled(&f, failure, unheard::further, &options.on_further_failure);
    return !report_failures;
}

void scope_core::state::child_ended(control_block& f, bool stop_siblings) noexcept {
    if (stop_siblings) request_stop();
    if (limit) limit->give();  // SCOPE-5
    waiter* owner_waits = nullptr;
    {
        const lock_guard guard(lock);
        (f.told ? told : running).remove(f);
        if (--count == 0) owner_waits = last_child.claim_front();
    }
    if (owner_waits) owner_waits->unpark();  // the scope may be gone from here on (SCOPE-3)
}

void scope_core::state::request_stop() noexcept {
    std::stop_source tell(std::nostopstate);
    {
        const lock_guard guard(lock);
        if (stopped) return;
        stopped = true;
        if (source) tell = *source;
        owner.stops.fetch_add(1, relaxed);  // SCOPE-2; WAIT_WORD-5: heavy_fence() follows below
    }
    children batch;
    auto n = take_untold(batch);
    raise_stops(batch, n);
    heavy_fence();
    // The scope still exists: the caller is a child, is the owner, or has ensured it (SCOPE-3).
    interrupt(owner);
    stop_in_place_child(owner);
    for (;;) {
        for (std::size_t i = 0; i < n; ++i) {  // no lock is held: stop callbacks are user code
            if (!batch[i]) continue;
            deliver_stop(*batch[i]);
            scheduler::drop(*batch[i]);
        }
        n = take_untold(batch);
        if (n == 0) break;
        raise_stops(batch, n);
        heavy_fence();
    }
    tell.request_stop();
}

// Called by a child, so the scope, its owner and the scope that is the owner's parent all exist.
bool scope_core::state::is_stopped() const noexcept {
    {
        const lock_guard guard(lock);
        if (stopped) return true;
    }
    // relaxed: level-triggered, as at a park point
    if (owner.stops.load(relaxed) != 0) return true;
    if (owner.thread_signal) return false;
    const end_observer* const outer = control_block::of(owner).parent;
    return outer && outer->is_stopped();
}

std::size_t scope_core::state::list_children(const void* of_state, std::span<const wait_cell*> into) noexcept {
    auto& s = *static_cast<const state*>(of_state);
    const lock_guard guard(s.lock);
    std::size_t n = 0;
    for (const auto* list : {&s.running, &s.told})
        for (const control_block* f = list->front(); f && n < into.size(); f = list->next(*f)) into[n++] = &f->cold();
    return n;
}

// Takes children that have not been told of the stop, each with a reference.
std::size_t scope_core::state::take_untold(children& out) noexcept {
    const lock_guard guard(lock);
    std::size_t n = 0;
    while (n < out.size()) {
        control_block* const f = running.pop_front();
        if (!f) break;
        note_told(*f);
        told.push_back(*f);
        f->life.refer();  // SCOPE-1: its run holds one
        out[n++] = f;
    }
    return n;
}

// Sets children to null that were asked to stop already.
void scope_core::state::raise_stops(children& of, std::size_t n) noexcept {
    for (std::size_t i = 0; i < n; ++i)
        if (!raise_stop(*of[i])) scheduler::drop(*std::exchange(of[i], nullptr));
}

// Waits for all children. Passes a stop or a passed deadline of the owner on to them. True if one
// came.
bool scope_core::state::wait_for_children() noexcept {
    bool interrupted = false;
    for (;;) {
        lock.lock();
        // Asked under the lock because of SCOPE-2, so this scope's own count is not included.
        const bool from_outside = !stopped && pending_interrupt_in_lock();
        lock.unlock();
        if (from_outside) {
            interrupted = true;
            request_stop();
        }
        lock.lock();
        if (count == 0) {
            lock.unlock();
            return interrupted;
        }
        const auto may_stop = stopped ? interruptible::no : interruptible::yes;
        wait_on(lock, last_child, {.kind = end_wait, .object = this, .may_stop = may_stop});
    }
}

void scope_core::state::leave() noexcept {
    // also for SCOPE-3: waits until the last child_ended() has left its critical section
    const lock_guard guard(lock);
    if (!stopped) return;
    // SCOPE-2; the count that this scope added
    const bool was_only_one = owner.stops.fetch_sub(1, relaxed) == 1;
    // it has obeyed the stop
    if (was_only_one && !owner.thread_signal) control_block::of(owner).cold().cancels.store(0, relaxed);
}

}  // namespace weft::detail
