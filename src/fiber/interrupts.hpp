// interrupts.hpp - when the caller may be interrupted: stops, deadlines, shields, unwinding.
#pragma once

#include <optional>
#include <system_error>

#include <weft/detail/export.hpp>
#include <weft/stop.hpp>

#include "arch/exception_state.hpp"
#include "fiber/waiter.hpp"

namespace weft::detail {

/// The cell of the calling fiber, or of the calling plain thread.
WEFT_EXPORT wait_cell& this_cell() noexcept;

struct interruption {
    // no interruption before this time: the latest end of all shields, or never while an exception
    // unwinds
    time_point from;
    time_point deadline;  // the earliest with_deadline() frame
};

/// Called only by the owner of `cell`.
interruption interruption_of(const wait_cell& cell) noexcept;

/// Whether interruption_of() would give the common answer: at any time, and without a deadline.
inline bool is_freely_interruptible(const wait_cell& cell) noexcept {
    return !cell.slot.shields && !cell.slot.deadlines && exception_state_here()->uncaught == 0;
}

/// Why the caller should stop now, if it may be interrupted here: operation_canceled (a stop) or
/// timed_out (a with_deadline() frame). Under simulation the fiber may switch here
/// (switch_point.hpp).
WEFT_EXPORT std::optional<std::errc> pending_interrupt(const wait_cell& of_caller) noexcept;
inline std::optional<std::errc> pending_interrupt() noexcept { return pending_interrupt(this_cell()); }
/// As pending_interrupt(), but for callers that hold a lock and must not switch.
std::optional<std::errc> pending_interrupt_in_lock(const wait_cell& of_caller) noexcept;
inline std::optional<std::errc> pending_interrupt_in_lock() noexcept { return pending_interrupt_in_lock(this_cell()); }

/// Throws `cancelled` and counts it, so that a fiber that swallows it is found
/// (sched/monitor/swallowed.cpp).
WEFT_EXPORT [[noreturn, gnu::cold]] void throw_cancelled();

/// Whether pending_interrupt() must be asked.
inline bool may_be_interrupted(const wait_cell& caller) noexcept {
    // relaxed: level-triggered, so it is seen now or next time
    return caller.stops.load(relaxed) != 0 || caller.slot.deadlines;
}

/// The first statement of every park point: throws `cancelled` if pending_interrupt() gives a
/// reason.
inline void check_interrupt(const wait_cell& of_caller) {
    if (!may_be_interrupted(of_caller)) [[likely]]
        return;
    if (pending_interrupt(of_caller)) throw_cancelled();
}
inline void check_interrupt() { check_interrupt(this_cell()); }

/// Why a wait ended with wait_end::stopped, for functions that report an error_code:
/// operation_canceled or timed_out.
std::errc interrupt_reason() noexcept;

}  // namespace weft::detail
