// hog_reporter.hpp - tells the runtime's owner of fibers that keep their thread for long: which, since when, and what they do.
//
// A thread of its own, so that neither a slow report nor what it asks of the kernel and of the hog holds the monitor up. It starts
// with the first fiber that loses its worker, and sleeps unless a fiber runs without one that has not been reported. The same thread
// looks for deadlocks when nothing has run for a while.
//
// Invariants
//   G1  What it reads of carriers are hints, and of a fiber without a reference it reads nothing. It reports a fiber only with
//       a reference, taken by scheduler::hold(), and after it has seen once more that the same carrier runs it in the same stretch.
//   G2  A stretch begins when a carrier without a worker begins to run a fiber, or loses the worker under it; alone_since() names it.
//   G3  Who has begun a stretch calls wake() afterwards: the reporter looks at all carriers before it sleeps for good.
//   G4  `swallows_` is filled by the fiber it names, if it was empty, and emptied by the reporter, or by stop() when no fiber is left.
//   G5  `left_out_` counts the stretches that were left out since the last report of one. A stretch is counted once: if it is reported after
//       all, it is taken back out of the count, unless an earlier report has told of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include <weft/detail/clock.hpp>

#include "base/futex.hpp"
#include "sched/monitor/thread_probe.hpp"

namespace weft::detail {

class carrier;
class scheduler;
struct control_block;

/// One report, valid while it is made.
struct hog {
    control_block& fiber;  // with a reference
    pid_t thread;
    bool blocks;  // its thread sleeps in the kernel; else it computes
    duration held;  // since it was seen there first
    duration computed;  // CPU time of that
    std::string_view blocked_in;  // if it blocks: what the kernel says, or nothing
    std::span<void* const> stack;  // if it computes, and there is a signal for that: innermost first
    std::uint64_t left_out;  // not reported since the last report
    std::uint32_t cancelled = 0;  // how often `cancelled` was thrown in it, if it is reported for that
};

/// How many reports may be made: some at once, then one in a while.
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
    /// After is_left().
    void take() noexcept { --left_; }

private:
    unsigned left_ = at_once;
    time_point last_ = clock::now();
};

class hog_reporter {
public:
    explicit hog_reporter(scheduler& owner) : owner_(owner) {}
    hog_reporter(const hog_reporter&) = delete;
    hog_reporter& operator=(const hog_reporter&) = delete;

    /// The monitor, when it has nothing urgent to do: starts the thread if there is none.
    void start() noexcept;
    void stop() noexcept;
    /// Any thread: a fiber runs without a worker now (G3).
    void wake() noexcept;
    /// The monitor, after start(): nothing has run for a while.
    void all_sleep() noexcept;
    /// A fiber, of itself: it swallows `cancelled` (swallowed.cpp). False: another is being told of, so ask again.
    bool ask_for(control_block&) noexcept;
    /// Whether one has asked: the monitor is to start the thread, and to wake it.
    bool is_asked() const noexcept { return swallows_.load(relaxed) != nullptr; }

private:
    enum class look_again : bool { no, yes };

    // A carrier's fiber, as it was seen.
    struct stretch {
        control_block* fiber = nullptr;
        std::int64_t key = 0;  // G2
        time_point since{};
        duration cpu_then{};
        bool is_reported = false, is_left_out = false;
        std::uint64_t left_out_after = 0;  // if so: after how many reports
    };

    void run() noexcept;
    look_again look_at_all() noexcept;
    look_again look_at(carrier& c, stretch& seen, time_point now) noexcept;
    std::int64_t key_of(carrier& c) const noexcept;
    look_again report(carrier& c, stretch& seen, const hog& what) noexcept;
    void tell(hog what) noexcept;
    void tell_of_swallower() noexcept;

    scheduler& owner_;
    std::thread thread_;
    bool was_refused_ = false;
    futex_word ending_{0};
    futex_word woken_{0};
    atomic<bool> all_asleep_{false};
    atomic<control_block*> swallows_{nullptr};  // with a reference
    std::vector<stretch> seen_;  // of each carrier
    report_allowance allowance_;
    std::uint64_t left_out_ = 0;  // G5
    std::uint64_t told_ = 0;  // reports of stretches
};

}  // namespace weft::detail
