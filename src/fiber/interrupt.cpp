#include <weft/detail/interrupt.hpp>

#include <algorithm>

#include "arch/exception_state.hpp"
#include "fiber/interrupts.hpp"

namespace weft::detail {

deadline_frame::deadline_frame(time_point t) noexcept : own(t), effective(t), outer(this_cell().deadlines) {
    if (outer) effective = std::min(effective, outer->effective);
    this_cell().deadlines = this;
}

deadline_frame::~deadline_frame() { this_cell().deadlines = outer; }

shield_frame::shield_frame(time_point until) noexcept : effective(until), outer(this_cell().shields) {
    if (outer) effective = std::max(effective, outer->effective);
    this_cell().shields = this;
}

shield_frame::~shield_frame() { this_cell().shields = outer; }

bool stop_is_pending() noexcept { return this_cell().stops.load(relaxed) != 0; }  // level-triggered: seen now or next time

interruption interruption_of(const wait_cell& cell) noexcept {
    if (exception_state_here()->uncaught > 0) return {.from = never, .deadline = never};  // std::uncaught_exceptions()
    const bool shielded = cell.shields && cell.shields->effective > clock::now();
    return {.from = shielded ? cell.shields->effective : time_point::min(),
            .deadline = cell.deadlines ? cell.deadlines->effective : never};
}

std::optional<std::errc> pending_interrupt() noexcept {
    auto& cell = this_cell();
    const bool stopped = cell.stops.load(relaxed) != 0;  // level-triggered
    if (!stopped && !cell.deadlines) [[likely]]
        return std::nullopt;
    const auto when = interruption_of(cell);
    if (when.from != time_point::min()) return std::nullopt;
    if (stopped) return std::errc::operation_canceled;
    if (when.deadline <= clock::now()) return std::errc::timed_out;
    return std::nullopt;
}

void throw_cancelled() { throw cancelled(); }

std::errc interrupt_reason() noexcept {
    return stop_is_pending() ? std::errc::operation_canceled : std::errc::timed_out;
}

}  // namespace weft::detail
