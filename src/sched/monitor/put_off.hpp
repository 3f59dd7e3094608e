// put_off.hpp - when the monitor looks next, and how workers put that off while they poll.
//
// A look wakes the monitor's thread and costs 30 us of a CPU and more. Beside a busy server nearly all
// looks find that each worker has polled since the last one, and a worker that polls knows that by
// itself. So such a worker sets the monitor's alarm to a later time, by one system call. A worker does
// so, too, before a sleep during which the look would come; if that sleep is long and nothing runs, it
// lets the monitor rest.
//
// Invariants
//   PUT_OFF-1  The look is put off to `pace` after the oldest last poll of the workers that are awake,
//              as far as the one that puts it off sees them. So a worker that stays away from its
//              loop is looked at within `pace` of its last poll, whatever the others do.
//   PUT_OFF-2  Workers let the monitor rest until `longest` after its last round at most, and put a
//              look off until `longest` after it was set, since the monitor has more to do than to
//              look at fibers.
//   PUT_OFF-3  A worker sets the alarm to `pace` after its last poll, or to less, or to what PUT_OFF-2
//              allows if it lets the monitor rest. If it comes late with that and overwrites a time of
//              the monitor's, then the monitor wakes in vain, or late by `pace`. It wakes late by up to
//              `longest` if a worker loses its CPU between the first two steps of PUT_OFF-4.
//   PUT_OFF-4  While all workers sleep, no look is needed. The worker that falls asleep last lets the
//              monitor rest by the steps of monitor::sleep_until(): it sets the alarm, then rests_,
//              passes a heavy fence, and looks whether all sleep and the monitor is still calm. A
//              worker that wakes and finds something to run is awake, passes a light fence, and looks
//              at rests_. So one of the two sees the other, and sets the alarm for a look soon. A time
//              that the monitor has set for another reason, and that the first step has overwritten,
//              was set when it was no longer calm, which the last step sees.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include <weft/detail/clock.hpp>

#include "base/atomic.hpp"

namespace weft::detail {

/// The time of one look. All values are hints (PUT_OFF-3).
class put_off {
public:
    // required: with `soon` of watch.cpp, a blocked carrier is taken within 1 ms of its last poll,
    // and the time that the monitor's thread takes to wake up twice
    static constexpr duration pace = std::chrono::microseconds(600);
    // chosen: 50 looks a second take 0.2 % of a CPU
    static constexpr duration longest = std::chrono::milliseconds(20);
    // chosen: a busy worker polls within that time, most of them in half of it
    static constexpr duration before = std::chrono::microseconds(200);
    // chosen: a gain that is worth the system call
    static constexpr duration least = std::chrono::microseconds(100);

    /// The look is at `look`, and can be put off up to `longest` after `now`.
    void allow(time_point look, time_point now) noexcept {
        limit_.store(ns(now + longest), relaxed);
        look_.store(ns(look), relaxed);
        ask_at_.store(ns(look - before), relaxed);
    }
    /// The look cannot be put off.
    void forbid() noexcept {
        look_.store(none, relaxed);
        ask_at_.store(none, relaxed);
    }

    /// Whether a worker that has polled should ask move().
    bool is_due(time_point now) const noexcept { return ns(now) >= ask_at_.load(relaxed); }
    /// `oldest`: the oldest last poll of a worker that is awake. \returns the time to set the alarm
    /// to, to one of the callers; nothing if the look stays where it is.
    std::optional<time_point> move(time_point now, time_point oldest) noexcept {
        auto look = look_.load(relaxed);
        const auto next = std::min(ns(oldest + pace), limit_.load(relaxed));
        const bool pays = look != none && next - look >= least.count();
        const bool moves = pays && look_.compare_exchange_strong(look, next, relaxed, relaxed);
        if (moves)
            ask_at_.store(next - before.count(), relaxed);
        else if (!pays)
            ask_at_.store(look == none ? none : ns(now + least), relaxed);
        return moves ? std::optional(time_point(duration(next))) : std::nullopt;
    }

private:
    static constexpr std::int64_t ns(time_point t) noexcept { return t.time_since_epoch().count(); }
    static constexpr std::int64_t none = never.time_since_epoch().count();

    atomic<std::int64_t> ask_at_{none};
    atomic<std::int64_t> look_{none};
    atomic<std::int64_t> limit_{0};
};

}  // namespace weft::detail
