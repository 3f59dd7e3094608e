// lead.hpp - the lead: the right to poll the driver, which one worker of a runtime has at a time.
//
//  state   meaning                                  leaves by
//  free    no worker leads                          try_take(), take_or_want() -> taken
//  taken   one leads                                take_or_want() -> wanted | give_back() -> free
//  wanted  one leads, and take_or_want() has        give_back() -> free
//          refused another one
//
// A busy worker leads for the moment of a poll. An idle one leads while it sleeps in the driver,
// and minds the timers of the busy workers as well as its own:
//
//      a leader that goes to sleep                  a worker that arms a timer and goes on working
//   1  begin_sleep(the earliest timer it sees)   1  store the timer's time in its heap
//   2  look at the heaps again                   2  oversleeps(that time)? then wake the driver
//   3  sleep until the earlier of the two
//
// A worker that goes to sleep beside the leader also looks whether the leader would oversleep its
// earliest timer. If so, the worker wakes for its timers itself, and says so (worker::unminded()).
// Otherwise it relies on the leader, so that one thread wakes for a burst of timers, and not two.
// A busy worker that polls with the lead fires the due timers of sleepers too. If none polls, or
// the leader is late, the monitor wakes the sleeper.
//
// Invariants
//   LEAD-1  One worker leads at a time: from a try_take() or take_or_want() that returned true to
//           its give_back(). What it did before that is visible to the next leader.
//   LEAD-2  If take_or_want() has refused a worker, the leader's give_back() returns true, and what
//           that worker did before is visible then. The leader then wakes a sleeper if it is
//           busy. A leader that slept in the driver and has found work wakes one whatever
//           give_back() returned, unless it foresees a short burst (BURST-1). So the driver is not
//           left alone for long while workers sleep.
//   LEAD-3  Both columns of the table above first store, then look, all by seq_cst (Dekker). So
//           the leader sees the timer in its step 2, or the other worker sees in its step 2 that
//           the leader would oversleep. The leader ignores the heap of a worker that wakes for it
//           by itself. When that worker wakes up, its step 1 is to store that it no longer does so.
//           A worker that foresees a short burst leaves step 2 out: it takes that step when it goes
//           to sleep, or BURST-1 holds.
//   LEAD-4  Only the leader writes until_. It is the least time there is unless a leader sleeps or
//           is about to: a leader that is awake looks at the heaps anyway.
//
// Model test: tests/model/lead_model.cpp.
#pragma once

#include <cstdint>

#include <weft/detail/clock.hpp>

#include "base/atomic.hpp"

namespace weft::detail {

class lead {
public:
    lead() = default;
    lead(const lead&) = delete;
    lead& operator=(const lead&) = delete;

    // Any worker:

    /// Takes the lead if it is free.
    [[nodiscard]] bool try_take() noexcept {
        auto expected = state::free;
        return word_.load(relaxed) == state::free &&
               // LEAD-1; pairs with give_back()
               word_.compare_exchange_strong(expected, state::taken, acquire, relaxed);
    }
    /// As try_take(), for a worker that is about to sleep; if it is refused, LEAD-2 holds.
    [[nodiscard]] bool take_or_want() noexcept {
        auto now = word_.load(relaxed);
        for (;;) {
            const auto next = now == state::free ? state::taken : state::wanted;
            // LEAD-1, LEAD-2; pairs with give_back()
            if (word_.compare_exchange_weak(now, next, acq_rel, relaxed)) return next == state::taken;
        }
    }
    bool is_free() const noexcept { return word_.load(relaxed) == state::free; }  // a hint
    /// Whether a leader sleeps for longer than until `t`. Called after a timer for `t` was armed.
    // LEAD-3; pairs with begin_sleep()
    bool oversleeps(time_point t) const noexcept { return until_.load(seq_cst) > t.time_since_epoch().count(); }

    // The leader:

    /// Says until when it sleeps, before it looks at the heaps again.
    // LEAD-3; pairs with oversleeps()
    void begin_sleep(time_point until) noexcept { until_.store(until.time_since_epoch().count(), seq_cst); }
    void end_sleep() noexcept { begin_sleep(time_point::min()); }  // LEAD-4
    /// Gives the lead back. \returns whether a worker was refused meanwhile (LEAD-2).
    // LEAD-1, LEAD-2; pairs with try_take() and take_or_want()
    bool give_back() noexcept { return word_.exchange(state::free, acq_rel) == state::wanted; }

private:
    enum class state : std::uint32_t { free, taken, wanted };

    atomic<state> word_{state::free};
    atomic<std::int64_t> until_{time_point::min().time_since_epoch().count()};
};

}  // namespace weft::detail
