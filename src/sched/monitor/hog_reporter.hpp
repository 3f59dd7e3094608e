// hog_reporter.hpp - reports fibers that keep their thread for long: which, since when, doing what.
//
// It calls on_hog and on_all_asleep on a thread of its own, so that neither a slow
// report nor what it asks of the kernel and of the hog delays the monitor. The thread starts when
// the first fiber loses its worker, and sleeps unless a fiber that has not been reported runs
// without a worker. The same thread looks for deadlocks when no fiber has run for a while.
//
// Invariants
//   HOG_REPORTER-1  What it reads of carriers are hints, and it reads nothing of a fiber without a
//                   reference. It reports a fiber only with a reference, taken by
//                   scheduler::guard(), and after it has seen once more that the same carrier runs
//                   the fiber in the same stretch.
//   HOG_REPORTER-2  A stretch begins when a carrier without a worker begins to run a fiber, or when
//                   a carrier loses its worker while it runs a fiber; alone_since() identifies it.
//   HOG_REPORTER-3  A thread that has begun a stretch calls wake() afterwards: the reporter looks
//                   at all carriers before it sleeps for good.
//   HOG_REPORTER-4  `swallows_` is filled by the fiber it names, if it was empty, and emptied by
//                   the reporter, or by stop() when no fiber is left.
//   HOG_REPORTER-5  `left_out_` counts the stretches left out since the last report of a stretch. A
//                   stretch is counted once. If it is reported after all, it is taken out of the
//                   count again, unless an earlier report has included it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

#include <weft/detail/clock.hpp>

#include "base/futex.hpp"
#include "sched/monitor/blocked_audit.hpp"
#include "sched/monitor/hog_sighting.hpp"
#include "sched/monitor/thread_probe.hpp"

namespace weft::detail {

class carrier;
class scheduler;
struct control_block;

/// Limits the rate of reports: some at once, then one per interval.
class report_allowance {
public:
    static constexpr unsigned at_once = 10;  // chosen: a screenful
    static constexpr duration one_in = std::chrono::seconds(1);  // chosen

    bool is_left(time_point now) noexcept {
        if (now < last_ + one_in) return left_ > 0;
        const auto more = (now - last_) / one_in;
        left_ = more >= at_once ? at_once : std::min(at_once, left_ + static_cast<unsigned>(more));
        last_ += more * one_in;
        return true;
    }
    /// Uses one report up. Called after is_left() has returned true.
    void take() noexcept { --left_; }

private:
    unsigned left_ = at_once;
    time_point last_ = clock::now();
};

class hog_reporter {
public:
    explicit hog_reporter(scheduler& owner) : owner_(owner), audit_(owner) {}
    hog_reporter(const hog_reporter&) = delete;
    hog_reporter& operator=(const hog_reporter&) = delete;

    /// Called by the monitor when nothing is urgent: starts the thread if there is none.
    void start() noexcept;
    void stop() noexcept;
    /// Any thread: tells the reporter that a fiber runs without a worker now (HOG_REPORTER-3).
    void wake() noexcept;
    /// Called by the monitor after start(), when no fiber has run for a while.
    void all_sleep() noexcept;
    /// Called by a fiber that swallows `cancelled` (swallowed.cpp), to have itself reported. False:
    /// another one is being reported; ask again later.
    bool ask_for(control_block&) noexcept;
    /// Whether a fiber has asked; then the monitor must start the thread and wake it.
    bool is_asked() const noexcept { return swallows_.load(relaxed) != nullptr; }
    blocked_audit& audit() noexcept { return audit_; }

private:
    enum class look_again : bool { no, yes };

    // What was last seen of a carrier's fiber.
    struct stretch {
        control_block* fiber = nullptr;
        std::int64_t key = 0;  // HOG_REPORTER-2
        time_point since{};
        duration cpu_then{};
        bool is_reported = false, is_left_out = false;
        std::uint64_t left_out_after = 0;  // if is_left_out: the number of reports made before
    };

    void run() noexcept;
    look_again look_at_all() noexcept;
    look_again look_at(carrier& c, stretch& seen, time_point now) noexcept;
    std::int64_t key_of(carrier& c) const noexcept;
    look_again report(carrier& c, stretch& seen, const hog_sighting& what) noexcept;
    void tell(hog_sighting what) noexcept;
    void tell_of_swallower() noexcept;

    scheduler& owner_;
    blocked_audit audit_;
    std::thread thread_;
    bool was_refused_ = false;
    futex_word ending_{0};
    futex_word woken_{0};
    atomic<bool> all_asleep_{false};
    atomic<control_block*> swallows_{nullptr};  // with a reference
    std::vector<stretch> seen_;  // one per carrier
    report_allowance allowance_;
    std::uint64_t left_out_ = 0;  // HOG_REPORTER-5
    std::uint64_t told_ = 0;  // how many stretches were reported
};

}  // namespace weft::detail
