// swallowed.cpp - finds fibers that were asked to stop and do not.
//
// A `catch (...)` swallows `cancelled` each time it is thrown. The fiber counts the throws itself,
// only on the path of the exception, and asks for a report after many of them over some time. The
// exception of a deadline is not counted: a loop of attempts under with_timeout() is not a mistake.
// A fiber that leaves a scope that was stopped has obeyed (scope.cpp), so the stops of many scopes
// do not add up.
#include "sched/monitor/swallowed.hpp"

#include "fiber/interrupts.hpp"
#include "sched/scheduler.hpp"

namespace weft::detail {
namespace {

// chosen: a cleanup that waits for each of its parts is no loop
constexpr std::uint32_t least_throws = 100;
constexpr int unit_shift = 30;  // chosen: a unit of 1.07 s, since the time has 16 bits
constexpr int first_report = 2;  // in units; at least one whole unit has passed then
constexpr int next_after = 10;  // chosen: it is reported after 2 s, 20 s and 200 s

std::uint16_t units_of(time_point t) noexcept {
    return static_cast<std::uint16_t>(static_cast<std::uint64_t>(t.time_since_epoch().count()) >> unit_shift);
}

std::uint16_t units_since(const fiber_cold& cold, time_point now) noexcept {
    // Exact for the calling fiber; for another one a hint.
    return static_cast<std::uint16_t>(units_of(now) - cold.cancelled_since.load(relaxed));
}

bool is_due(const fiber_cold& cold, time_point now) noexcept {
    int after = first_report;
    for (int i = 0; i < cold.cancel_reports; ++i) after *= next_after;
    return units_since(cold, now) >= after;
}

void count_throw(control_block& f) noexcept {
    // The next one would be due later than 16 bits can say.
    constexpr std::uint8_t most_reports = 4;
    auto& cold = f.cold();
    const auto n = cold.cancels.load(relaxed);  // own fiber only
    if (n != UINT32_MAX) cold.cancels.store(n + 1, relaxed);
    if (n == 0) {
        f.leave_trace();
        cold.cancelled_since.store(units_of(clock::now()), relaxed);
        cold.cancel_reports = 0;
    }
    if (n < least_throws || cold.cancel_reports > most_reports || !is_due(cold, clock::now())) return;
    if (f.owner->the_monitor().ask_for_report(f)) ++cold.cancel_reports;
}

}  // namespace

duration swallows_since(const control_block& f, time_point now) noexcept {
    return duration(std::int64_t{units_since(f.cold(), now)} << unit_shift);
}

void throw_cancelled() {
    if (auto* const self = this_fiber_block(); self && stop_is_pending()) count_throw(*self);
    throw cancelled();
}

}  // namespace weft::detail
