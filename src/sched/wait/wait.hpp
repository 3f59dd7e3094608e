// wait.hpp - one wait of the calling fiber or thread, from its beginning to the reason it ended.
//
// See fiber/waiter.hpp for the pattern. A waiter may be linked only after its `wait` exists. The
// lock of the object is held from the decision to wait until the waiters are linked, and released
// before park(). From the constructor to park() or abandon() a fiber stays on its carrier, in one
// visit (HANDOFF-10), so only short runtime code may run there. How a fiber leaves its stack is in
// carrier_loop.cpp (carrier::park); wait.cpp has timers and plain threads.
#pragma once

#include "fiber/interrupts.hpp"
#include "fiber/waiter.hpp"
#include "sched/inspect/park_watch.hpp"
#include "sched/wait/wait_end.hpp"
#include "sched/worker_inline.hpp"

namespace weft::detail {

struct wait_options {
    const wait_kind& kind;
    const void* object = nullptr;
    time_point deadline = never;  // of this operation; with_deadline() frames apply in addition
    interruptible may_stop = interruptible::yes;  // shields and unwinding apply in addition
};

/// Called inside a visit for the first wait since the block's memory was zero (CONTROL_BLOCK-5),
/// and for each wait of a fiber that a park watcher sees.
[[gnu::cold]] inline void begin_first_wait(control_block& self) noexcept {
    self.waited = is_watched() ? waits::watched : waits::before;
    if (self.waited == waits::watched) tell_watcher(self, self.cold().waits_for());
    auto& ready = self.cold().make_ready;
    // It is set already if the fiber was demoted or pinned before, or has another class.
    if (!ready.load(relaxed)) ready.store(&ready_fiber, relaxed);
}

/// As this_cell(), but faster where the caller is a fiber, as it most likely is.
inline wait_cell& caller_cell() noexcept {
    auto* const f = this_fiber_block();
    return f ? f->cold() : this_cell();
}

class wait {
public:
    explicit wait(const wait_options& options) noexcept : wait(caller_cell(), options) {}
    /// For an operation that has already called caller_cell().
    wait(wait_cell& of_caller, const wait_options&) noexcept;
    wait(const wait&) = delete;
    wait& operator=(const wait&) = delete;
    ~wait() { require(over_, "a wait ends by park() or abandon()"); }

    wait_cell& cell() noexcept { return cell_; }
    wait_ticket ticket() const noexcept { return ticket_; }

    /// Parks until a waiter of this wait was unparked, the deadline has passed, or a stop came.
    /// Call it exactly once, unless abandon() returned true, and never with a lock held.
    ///
    /// \parks    always. May return on another carrier.
    /// \returns  `notified`: index() names the waiter, which is unlinked. Otherwise the caller
    ///           unlinks its waiters.
    wait_end park() noexcept;

    /// \returns the index of the waiter that was notified.
    wait_outcome index() const noexcept { return cell_.outcome; }

    /// Ends the wait without park() if no claimer has claimed it. False: it has been claimed, so
    /// park() must follow and will be short.
    bool abandon() noexcept;

private:
    void park_with_timer() noexcept;
    void park_thread() noexcept;

    wait_cell& cell_;
    carrier* const on_;  // null: a plain thread
    const time_point deadline_;
    interruption interrupts_{.from = time_point::min(), .deadline = never};
    const bool may_stop_;
    bool has_limit_;  // it has a deadline or a shield, so it may need a timer
    bool over_ = false;
    wait_ticket ticket_;
};

[[gnu::always_inline]] inline wait::wait(wait_cell& of_caller, const wait_options& options) noexcept
    : cell_(of_caller),
      on_(of_caller.thread_signal ? nullptr : this_carrier()),
      deadline_(options.deadline),
      may_stop_(options.may_stop == interruptible::yes),
      has_limit_(options.deadline != never) {
    if (!may_stop_) {
        interrupts_.from = never;
    } else if (!is_freely_interruptible(cell_)) [[unlikely]] {
        interrupts_ = interruption_of(cell_);
        has_limit_ = true;
    }
    cell_.kind.store(&options.kind, relaxed);  // hints for dumps
    cell_.object.store(options.object, relaxed);
    if (on_) [[likely]] {
        auto& self = control_block::of(cell_);
        on_->enter_wait(self);
        if (self.waited != waits::before) [[unlikely]]
            begin_first_wait(self);
    } else {
        cell_.thread_signal->store(0, relaxed);  // before begin(), so that no thread can claim yet
    }
    const bool now = interrupts_.from == time_point::min();
    ticket_ = cell_.word.begin(now ? interruptible::yes : interruptible::no);
    if (now && cell_.stops.load(relaxed) != 0) [[unlikely]]
        interrupt(cell_);  // WAIT_WORD-5: a stop that came before the wait
}

inline wait_end wait::park() noexcept {
    over_ = true;
    if (!on_) [[unlikely]]
        park_thread();
    else if (has_limit_) [[unlikely]]
        park_with_timer();
    else
        on_->park(control_block::of(cell_));
    if (cell_.outcome < outcome_timed_out) [[likely]]
        return wait_end::notified;
    return cell_.outcome == outcome_stopped ? wait_end::stopped : wait_end::timed_out;
}

/// As unpark(cell) (fiber/waiter.hpp), with the case of an ordinary fiber inlined.
inline void unpark_inline(wait_cell& cell) noexcept {
    if (cell.make_ready.load(relaxed) != &ready_fiber) [[unlikely]]
        return unpark(cell);  // the load above is ordered by the claim
    cell.word.unpark();
    auto& f = control_block::of(cell);
    if (auto* const c = this_carrier_of(f.owner)) [[likely]]
        c->ready(f);
    else
        f.owner->ready(f);
}

}  // namespace weft::detail
