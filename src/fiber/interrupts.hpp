// interrupts.hpp - when the calling fiber or thread may be interrupted: stop, deadlines, shields and unwinding together.
#pragma once

#include <optional>
#include <system_error>

#include <weft/stop.hpp>

#include "arch/exception_state.hpp"
#include "fiber/waiter.hpp"

namespace weft::detail {

/// The cell of the calling fiber, or of the calling plain thread.
wait_cell& this_cell() noexcept;

struct interruption {
    time_point from;      // no interruption before: the end of the outermost shield; never while an exception unwinds
    time_point deadline;  // the earliest with_deadline() frame
};

/// The owner of `cell` only.
interruption interruption_of(const wait_cell& cell) noexcept;

/// Whether interruption_of() is the common one: at any time, and without a deadline.
inline bool is_freely_interruptible(const wait_cell& cell) noexcept {
    return !cell.slot.shields && !cell.slot.deadlines && exception_state_here()->uncaught == 0;
}

/// Why the caller should stop now: operation_canceled (stop) or timed_out (a with_deadline() frame), if it may be
/// interrupted here. A possible switch (switch_point.hpp).
std::optional<std::errc> pending_interrupt(const wait_cell& of_caller) noexcept;
inline std::optional<std::errc> pending_interrupt() noexcept { return pending_interrupt(this_cell()); }
/// The same where it may not switch, under a lock.
std::optional<std::errc> pending_interrupt_in_lock(const wait_cell& of_caller) noexcept;
inline std::optional<std::errc> pending_interrupt_in_lock() noexcept { return pending_interrupt_in_lock(this_cell()); }

/// Throws `cancelled` and counts it, so that a fiber that swallows it is found (sched/monitor/swallowed.cpp).
[[noreturn, gnu::cold]] void throw_cancelled();

/// Whether pending_interrupt() has to be asked.
inline bool may_be_interrupted(const wait_cell& caller) noexcept {
    return caller.stops.load(relaxed) != 0 || caller.slot.deadlines;  // level-triggered: seen now or next time
}

/// First statement of every park point: throws `cancelled` if pending_interrupt().
inline void check_interrupt(const wait_cell& of_caller) {
    if (!may_be_interrupted(of_caller)) [[likely]]
        return;
    if (pending_interrupt(of_caller)) throw_cancelled();
}
inline void check_interrupt() { check_interrupt(this_cell()); }

/// The reason behind wake::stopped, for error_code forms: operation_canceled or timed_out.
std::errc interrupt_reason() noexcept;

}  // namespace weft::detail
