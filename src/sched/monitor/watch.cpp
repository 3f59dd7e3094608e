// watch.cpp - the thresholds by which a fiber counts as a hog, and how often the monitor looks.
#include "sched/monitor/watch.hpp"

#include <algorithm>
#include <chrono>

namespace weft::detail {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// chosen: with less CPU time a fiber stands still; a hog uses that at once
constexpr duration stir = microseconds(20);
// required: with `soon`, a blocked carrier is taken within 1 ms
constexpr duration still_for = microseconds(300);
constexpr duration soon = microseconds(300);        // required: see still_for
// required: a blocked carrier is taken within 1 ms of the last look at which all was well
constexpr duration usual = microseconds(600);
// chosen: no fiber waits; one that begins to wait is seen at the next look
constexpr duration idle_pace = milliseconds(10);
// chosen: a spawn without a worker costs 200 ns instead of 25 to 60, so that a batch of 500,000
// takes three times as long when its spawner loses the worker (docs/measurements/run-order.md)
constexpr int spawners_slices = 20;
// chosen: eight hogs that begin on one worker delay a woken fiber by ten milliseconds then
constexpr int part_for_woken = 5;
// chosen: a fiber that computes for less is not worth a hand-off
constexpr duration least_for_woken = milliseconds(1);
// chosen: a spawner spawns more often than once in this time
constexpr auto spawns_much = microseconds(10);

}  // namespace

void watch::start_afresh(const sighting& s) noexcept {
    carrier_ = s.carrier;
    dispatches_ = s.dispatches;
    since_ = still_since_ = s.when;
    cpu_then_ = cpu_last_ = s.cpu;
    spawned_then_ = s.spawned;
    has_used_up_ = false;
}

conclusion watch::look(const sighting& s, duration slice) noexcept {
    if (!s.runs_fiber || s.carrier != carrier_ || s.dispatches != dispatches_) {
        start_afresh(s);
        return conclusion::leave;
    }
    if (s.cpu - cpu_last_ >= stir) {
        still_since_ = s.when;
        cpu_last_ = s.cpu;
    }
    const bool stands_still = s.when - still_since_ >= still_for;
    has_used_up_ = slice != duration::zero() && uses_up(s, slice);
    if (stands_still) return conclusion::stands_still;
    return has_used_up_ ? conclusion::computes : conclusion::leave;
}

// Whether the fiber has used up its slice: since it was first seen a slice has passed (twenty for a
// spawner), and its thread has had 0.7 of that as CPU time, divided by `crowd`, the number of
// running fibers for each CPU. Undivided, the last of k hogs would use its slice up only after
// k/CPUs slices. A fiber that has slept or waited for I/O has not computed for long, so others that
// do give way to it sooner, spawners excepted.
bool watch::uses_up(const sighting& s, duration slice) const noexcept {
    const bool spawner = static_cast<std::int64_t>(s.spawned - spawned_then_) > (s.when - since_) / spawns_much;
    duration allowed = slice;
    if (spawner)
        allowed = spawners_slices * slice;
    else if (s.delays_woken)
        allowed = std::min(slice, std::max<duration>(slice / part_for_woken, least_for_woken));
    // 0.7 allows for the grain of the clocks
    return s.when - since_ >= allowed && 10 * s.crowd * (s.cpu - cpu_then_) >= 7 * allowed;
}

// A timer counts before it is due, since a hog would be in its way.
bool would_profit(const waiting& w, time_point now, duration slice) noexcept {
    return w.queued || w.io || (w.next_timer != never && w.next_timer <= now + 2 * slice);
}

time_point next_look(time_point now, bool anybody_runs, bool profit, suspicion s) noexcept {
    if (!anybody_runs) return never;
    if (!profit) return now + idle_pace;
    return now + (s == suspicion::yes ? soon : usual);
}

}  // namespace weft::detail
