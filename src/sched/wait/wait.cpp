// wait.cpp - the cold half of a wait: its timer, and the wait of a plain thread.
#include "sched/wait/wait.hpp"

#include <time.h>

#include <algorithm>
#include <optional>

#include "base/fork.hpp"
#include "base/futex.hpp"
#include "sched/inspect/quiet_threads.hpp"
#include "sched/scheduler.hpp"

namespace weft::detail {
namespace {

// The cell of a plain thread. It is read through a function that is never inlined, since the caller
// may be a fiber's code, which runs on another OS thread the next time.
struct thread_cell {
    atomic<std::uint32_t> signal{0};
    wait_cell cell{signal};
};

[[gnu::noinline]] thread_cell& this_thread_cell() noexcept {
    static thread_local thread_cell mine;
    asm volatile("" ::: "memory");
    return mine;
}

coroutine_slot& slot_here() noexcept {
    auto* const f = this_fiber_block();
    return f ? f->cold().slot : this_thread_cell().cell.slot;
}

[[gnu::constructor(before_static_objects)]] void tell_coroutines() noexcept { set_coroutine_slot_finder(slot_here); }

// Ends one wait when the deadline of the operation or of a with_deadline() frame has passed, or
// when a shield's limit has passed and a stop is pending.
class wait_timer final : public timer {
public:
    wait_timer(wait_cell& cell, wait_ticket ticket, time_point operation, interruption interrupts, bool may_stop) noexcept
        : cell_(cell), ticket_(ticket), operation_(operation) {
        if (!may_stop) return;
        shield_ends_ = interrupts.from == time_point::min() ? never : interrupts.from;
        if (interrupts.from != never) deadline_ = std::max(interrupts.deadline, interrupts.from);
    }

    time_point when() const noexcept { return std::min({operation_, deadline_, shield_ends_}); }

    verdict fire(time_point now) noexcept override {
        if (now >= operation_) return end(outcome_timed_out);
        if (now >= deadline_) return end(outcome_stopped);
        if (now >= shield_ends_) {
            shield_ends_ = never;
            cell_.word.make_interruptible(ticket_);
            if (cell_.stops.load(relaxed) != 0) return end(outcome_stopped);  // WAIT_WORD-5
        }
        return {.again = when(), .claimed = nullptr};
    }

private:
    verdict end(wait_outcome outcome) noexcept {
        if (!cell_.word.claim(ticket_)) return {};
        cell_.outcome = outcome;
        return {.again = never, .claimed = &cell_};
    }

    wait_cell& cell_;
    const wait_ticket ticket_;
    const time_point operation_;
    time_point deadline_ = never, shield_ends_ = never;
};

// \returns when a sleeping plain thread must wake at the latest. TSan delays signal handlers until
// the thread's next call that it intercepts; it intercepts nanosleep but not the futex.
time_point look_up_at(time_point when) noexcept {
#if defined(WEFT_TSAN)
    constexpr timespec at_once{0, 0};
    ::nanosleep(&at_once, nullptr);
    return std::min(when, clock::now() + std::chrono::milliseconds(50));
#else
    return when;
#endif
}

}  // namespace

wait_cell& this_cell() noexcept {
    if (const auto* const c = this_carrier()) {
        require(c->current() != nullptr, "a worker's loop never waits");
        return c->current()->cold();
    }
    return this_thread_cell().cell;
}

bool wait::abandon() noexcept {
    if (!cell_.word.claim(ticket_)) return false;
    cell_.word.end_claimed();
    if (on_) on_->leave();
    over_ = true;
    return true;
}

void wait::park_with_timer() noexcept {
    wait_timer timer(cell_, ticket_, deadline_, interrupts_, may_stop_);
    const auto when = timer.when();
    if (when != never) on_->arm(timer, when);
    on_->park(control_block::of(cell_));
    if (when != never) timer_heap::cancel(timer);
}

void wait::park_thread() noexcept {
    auto& signal = *cell_.thread_signal;
    wait_timer timer(cell_, ticket_, deadline_, interrupts_, may_stop_);
    std::optional<quiet_thread> for_good;
    // The load of the kind reads its own store.
    if (timer.when() == never && cell_.waits_for().ends == ended_by::fibers) for_good.emplace();
    while (signal.load(acquire) == 0) {  // pairs with unpark()
        const auto when = look_up_at(timer.when());
        const auto ns = when.time_since_epoch().count();
        const auto result = futex_wait(signal, 0, when == never ? std::optional<monotonic_ns>{} : ns);
        if (result != futex_result::timed_out) continue;
        if (timer.fire(clock::now()).claimed) return cell_.word.end_claimed();
    }
}

}  // namespace weft::detail
