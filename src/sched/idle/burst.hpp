// burst.hpp - how long a worker will be busy: whether another worker is worth waking for its work.
//
// To wake a worker costs the waker 12 us, and 32 us pass until the other worker runs
// (docs/measurements/waking.md). If the first worker has ended its few fibers by then, the wake was
// for nothing: a server that answers one request at a time would wake a second worker for each, and
// so would a hundred timers that fire together. A burst is the time from when a worker finds work
// to when it has none.
//
//      the worker                               what a thread that publishes work there sees
//   finds work           begin()                alone_up_to(), as the last bursts suggest it
//   polls                poll()                 that number anew; 0 once the burst has lasted for
//                                               `worth_help`, fibers wait, and thefts pay
//   has none             end()                  -
//   wakes no other       somebody_runs()        - (the monitor looks soon)
//   is in a long body                           0 from the monitor's next look on, which wakes a
//                                               worker for what is queued
//
// Invariants
//   BURST-1  If alone_up_to() refuses to wake a worker for queued fibers or for the driver, and the
//            worker that has them is busy for longer than it thought, then its next poll or the
//            next look of the monitor wakes one. The number is 0 where there is no monitor, and
//            beside hogs, where the kernel may take the CPU away in the midst of a short body.
//   BURST-2  The number changes in begin(), before the worker ends its search, and in poll(),
//            before it notifies. The monitor, which lowers it, looks for sleepers afterwards as if
//            it had published the work (idle_set.hpp), with a heavy fence in between: a worker that
//            publishes sees the lower number then, or the monitor sees the work.
//   BURST-3  A worker that refuses to wake another tells the monitor afterwards, by
//            somebody_runs(), which has a light fence. A monitor that is about to rest for long
//            says so, passes a heavy fence, and looks whether some worker keeps work for itself. So
//            the monitor's next look is at most a millisecond away, or put off while the worker
//            polls, which serves as well (PUT_OFF-1, BURST-1).
//
// Model test: tests/model/idle_model.cpp.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include <weft/detail/clock.hpp>

#include "base/atomic.hpp"

namespace weft::detail {

class burst {
public:
    /// The shortest work that another worker is woken for.
    // chosen: as long as a wake takes, on both sides
    static constexpr duration worth_help = std::chrono::microseconds(50);
    /// A worker that has not polled for so long is in a long body.
    // chosen: a worker that dispatches polls every 100 us
    static constexpr duration too_long = std::chrono::microseconds(150);

    // The worker:

    /// `predicts`: whether a monitor looks, and nothing speaks against a prediction now (BURST-1).
    void begin(time_point now, std::uint64_t dispatches, bool predicts) noexcept {
        began_ = now;
        predicts_ = predicts;
        go_on(now, dispatches);
        set_alone(limit());
    }
    /// `help_pays`: whether fibers wait, and the last thefts were worth it.
    void poll(time_point now, std::uint64_t dispatches, bool predicts, bool help_pays) noexcept {
        learn(now, dispatches);
        predicts_ = predicts;
        go_on(now, dispatches);
        set_alone(help_pays && now - began_ >= worth_help ? 0 : limit());
    }
    void end(time_point now, std::uint64_t dispatches) noexcept {
        learn(now, dispatches);
        then_ = {};  // what passes until the next burst is no body
    }

    // Any thread:

    /// \returns how many fibers the worker runs in the time that another needs to wake up.
    // a hint: BURST-1
    std::uint32_t alone_up_to() const noexcept { return alone_up_to_.load(relaxed); }
    /// Called by the monitor: until the next poll or burst, each queued fiber is worth a wake.
    void foresee_nothing() noexcept { set_alone(0); }
    bool is_too_long(time_point now) const noexcept {
        return now.time_since_epoch().count() - seen_.load(relaxed) > too_long.count();  // a hint
    }

private:
    // chosen: so that a burst that is all spawns wakes another worker all the same
    static constexpr std::uint32_t most_alone = 1024;

    // The longest mean of late, which takes some five bursts to halve: long bodies are remembered.
    void learn(time_point now, std::uint64_t dispatches) noexcept {
        if (then_ == time_point{}) return;  // outside of a burst
        const auto n = static_cast<std::int64_t>(dispatches - dispatches_then_);
        const auto mean = (now - then_) / std::max<std::int64_t>(n, 1);
        body_ = std::max({mean, body_ - body_ / 8, duration(1)});
    }
    void go_on(time_point now, std::uint64_t dispatches) noexcept {
        then_ = now;
        dispatches_then_ = dispatches;
        seen_.store(now.time_since_epoch().count(), relaxed);  // a hint
    }
    std::uint32_t limit() const noexcept {
        if (!predicts_ || body_ == duration::zero()) return 0;
        return static_cast<std::uint32_t>(std::min<std::int64_t>(worth_help / body_, most_alone));
    }
    void set_alone(std::uint32_t n) noexcept {
        if (alone_up_to_.load(relaxed) != n) alone_up_to_.store(n, relaxed);  // BURST-2
    }

    bool predicts_ = false;
    time_point began_{};
    time_point then_{};  // the last begin() or poll()
    std::uint64_t dispatches_then_ = 0;
    duration body_{};  // how long a body takes; zero: not known yet
    atomic<std::int64_t> seen_{0};
    atomic<std::uint32_t> alone_up_to_{0};
};

}  // namespace weft::detail
