// interrupt.cpp - frames of deadlines and shields; whether the caller is to be interrupted now.
#include <weft/detail/interrupt.hpp>

#include <time.h>

#include <string_view>

#include "arch/exception_state.hpp"
#include "base/panic.hpp"
#include "base/virtual_clock.hpp"
#include "fiber/control_block.hpp"
#include "fiber/frames.hpp"
#include "fiber/interrupts.hpp"
#include "fiber/switch_point.hpp"

namespace weft::detail {

namespace {

constexpr std::string_view frames_end_in_turn =
    "shields and deadlines end in the fiber, thread or coroutine where they began, the innermost first";

/// Whether `t` is over. Every park point under a deadline asks this, mostly with a deadline that is
/// far off. The kernel's coarse clock can tell that for a quarter of the price or less
/// (docs/measurements/waking.md). It lags by one tick, seldom by more.
bool has_passed(time_point t) noexcept {
    if (time_is_asked_for()) [[unlikely]]
        return t <= clock::now();
    // chosen: 10 ticks of the slowest clock, 100 Hz
    constexpr auto well_behind = std::chrono::milliseconds(100);
    timespec coarse;
    // the coarse form of steady_clock, which is CLOCK_MONOTONIC
    ::clock_gettime(CLOCK_MONOTONIC_COARSE, &coarse);
    const time_point lately(std::chrono::seconds(coarse.tv_sec) + std::chrono::nanoseconds(coarse.tv_nsec));
    return t < lately + well_behind && t <= clock::now();
}

}  // namespace

deadline_frame::deadline_frame(time_point t) noexcept : own(t) {
    auto& slot = this_cell().slot;
    begin_frame(slot, slot.deadlines, *this);
}

void deadline_frame::end_out_of_turn() noexcept {
    panic(frames_end_in_turn, "with_deadline: this one is not the innermost here");
}

shield_frame::shield_frame(time_point until) noexcept : own(until) {
    auto& cell = this_cell();
    begin_frame(cell.slot, cell.slot.shields, *this);
    if (cell.thread_signal) return;
    // The trace makes the fiber's end check that this shield has ended.
    if (auto& f = control_block::of(cell); f.is_tidy()) f.leave_trace();
}

shield_frame::~shield_frame() {
    auto& slot = this_cell().slot;
    if (slot.shields != this) [[unlikely]]
        panic(frames_end_in_turn, "shield: this one is not the innermost here");
    slot.shields = outer;
}

// relaxed: level-triggered, so it is seen now or next time
bool stop_is_pending() noexcept { return this_cell().stops.load(relaxed) != 0; }

interruption interruption_of(const wait_cell& cell) noexcept {
    // the same test as std::uncaught_exceptions()
    if (exception_state_here()->uncaught > 0) return {.from = never, .deadline = never};
    const bool shielded = cell.slot.shields && cell.slot.shields->effective > clock::now();
    return {.from = shielded ? cell.slot.shields->effective : time_point::min(),
            .deadline = cell.slot.deadlines ? cell.slot.deadlines->effective : never};
}

std::optional<std::errc> pending_interrupt(const wait_cell& cell) noexcept {
    if (!may_be_interrupted(cell)) [[likely]]
        return std::nullopt;
    switch_point();
    return pending_interrupt_in_lock(cell);
}

std::optional<std::errc> pending_interrupt_in_lock(const wait_cell& cell) noexcept {
    if (!may_be_interrupted(cell)) return std::nullopt;
    const auto when = interruption_of(cell);
    if (when.from != time_point::min()) return std::nullopt;
    if (cell.stops.load(relaxed) != 0) return std::errc::operation_canceled;  // level-triggered
    if (has_passed(when.deadline)) return std::errc::timed_out;
    return std::nullopt;
}

std::errc interrupt_reason() noexcept { return stop_is_pending() ? std::errc::operation_canceled : std::errc::timed_out; }

}  // namespace weft::detail
