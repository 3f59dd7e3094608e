// monitor.hpp - preempts: takes the worker of a carrier whose fiber computes or blocks for long.
//
// The worker goes to a spare carrier; the preempted fiber keeps its thread and runs on without a
// worker. The monitor is one thread, which sleeps while no fiber runs. judge.hpp decides what it
// concludes from what it sees, tenure.hpp how a worker changes hands; docs/design/handoff.md
// describes the whole.
//
// Other folders reach it by preemption.hpp, which also stands for its absence.
//
// class monitor is in monitor.cpp (the rounds) and monitor_sleep.cpp (sleeping and waking). It has
// its spare carriers from carrier_pool.hpp.
//
// Invariants
//   MONITOR-1  Only the monitor takes and gives workers.
//   MONITOR-2  A worker is demanded only when a carrier is at hand that can have it.
#pragma once

#include <sys/types.h>

#include <thread>
#include <vector>

#include "base/atomic.hpp"
#include "base/cpus.hpp"
#include "sched/monitor/alarm.hpp"
#include "sched/monitor/hog_reporter.hpp"
#include "sched/monitor/judge.hpp"
#include "sched/monitor/put_off.hpp"
#include "sched/monitor/quiescence.hpp"
#include "sched/tenure.hpp"

namespace weft::detail {

class carrier;
class scheduler;
class worker;

class monitor {
public:
    /// Reads the owner's options.
    explicit monitor(scheduler& owner);
    monitor(const monitor&) = delete;
    monitor& operator=(const monitor&) = delete;

    /// Starts the monitor, unless the time slice is zero. \throws std::system_error, std::bad_alloc
    void start();
    /// \returns the id of the monitor's thread; 0 if there is none or it has not begun.
    pid_t monitor_id() const noexcept { return monitor_id_.load(relaxed); }
    void stop() noexcept;

    // Called by carriers:

    /// Makes the monitor look at once.
    void hurry() noexcept;
    /// Called when a worker has found a fiber to run.
    void somebody_runs() noexcept {
        light_fence();  // pairs with sleep_until()
        if (rests_.load(relaxed)) [[unlikely]]
            look_soon();
    }

    /// Called when a worker has polled or found work: it is about to dispatch.
    void somebody_dispatches(time_point now) noexcept {
        if (look_.is_due(now)) [[unlikely]]
            put_look_off(now);
    }

    /// Called when a worker is about to sleep, and has announced it. It last polled at `now`, and
    /// foresees to sleep for so long.
    void somebody_sleeps(time_point now, duration foreseen) noexcept {
        if (look_.is_due(now + foreseen)) let_sleep(now, foreseen);
    }

    /// Called when a fiber has begun to run on a carrier without a worker (HOG_REPORTER-3).
    void somebody_runs_alone() noexcept {
        ran_alone_.store(true, relaxed);  // a hint: the next look is not put off
        hogs_.wake();
    }
    /// Called by a fiber that swallows `cancelled`, to be reported. False: ask again later.
    bool ask_for_report(control_block& self) noexcept;
    /// Whether a fiber keeps its worker because no carrier is left that could have it. A hint.
    bool lacks_carriers() const noexcept { return lacks_carriers_.load(relaxed); }

    /// \returns how many carriers compute without a worker. A hint.
    unsigned computing_without_worker() const noexcept { return computing_without_worker_.load(relaxed); }
    unsigned cpus() const noexcept { return cpus_.load(relaxed); }  // a hint

    /// Called when a demoted fiber waits for a place, after a fence.
    void somebody_waits() noexcept {
        if (rests_.load(relaxed)) hurry();  // pairs with sleep_until()
    }

    struct counts {
        std::uint64_t taken = 0;  // workers taken, for whatever cause
        std::uint64_t blocked = 0;  // how many of these because the fiber blocked
    };
    counts statistics() const noexcept { return {taken_.load(relaxed), blocked_.load(relaxed)}; }

private:
    // What the monitor knows of one worker.
    struct watched {
        watch eye;
        carrier* demanded_from = nullptr;  // null: no demand stands
        carrier* heir = nullptr;           // the carrier that gets it (MONITOR-2)
        cause_of_loss why = cause_of_loss::computing;
        std::uint64_t dispatches = 0;
    };

    void run() noexcept;
    time_point round() noexcept;
    bool is_calm(suspicion suspect) const noexcept;
    void count_those_who_run() noexcept;
    void help_long_bursts(time_point now) noexcept;
    bool some_timer_is_overslept() const noexcept;
    bool somebody_keeps_work() const noexcept;
    void relieve_the_late(time_point now, bool is_crowded) noexcept;
    void follow_quota(time_point now, unsigned stuck) noexcept;
    waiting what_waits(time_point now) const noexcept;
    bool is_first_seen_late(const worker& w, const sighting& s, const watched& seen) const noexcept;
    suspicion look_at(worker& w, watched& seen, time_point now, bool profit) noexcept;
    carrier* take_spare() noexcept;
    void demand(worker& w, watched& seen, carrier& holder, cause_of_loss why) noexcept;
    void settle(worker& w, watched& seen, tenure<worker>::taker::outcome how) noexcept;
    void look_again(worker& w, watched& seen) noexcept;
    unsigned number_of(const watched& seen) const noexcept { return static_cast<unsigned>(&seen - seen_.data()); }
    void withdraw_all() noexcept;
    void serve_the_demoted(time_point now) noexcept;
    void sleep_until_quiet() noexcept;
    void sleep_until(time_point next, time_point nothing_runs = never) noexcept;
    bool all_sleep() const noexcept;
    bool may_rest() const noexcept;
    void rest(time_point until) noexcept;
    [[gnu::cold]] void let_sleep(time_point now, duration foreseen) noexcept;
    [[gnu::cold]] void look_soon() noexcept;
    [[gnu::cold]] void put_look_off(time_point now) noexcept;

    scheduler& owner_;
    const judge judge_;
    hog_reporter hogs_;
    std::thread thread_;
    atomic<pid_t> monitor_id_{0};
    atomic<bool> ending_{false};
    atomic<bool> rests_{false};
    alarm alarm_;
    put_off look_;
    atomic<bool> calm_{false};  // the last round has found nothing that needs looks at a set pace
    atomic<bool> ran_alone_{false};  // since the last round began, a carrier without a worker ran a fiber
    atomic<bool> was_put_off_{false};  // since the last round began, the look was
    atomic<std::int64_t> round_at_{0};  // when the last round began; a hint
    bool comes_late_ = false;  // in this round: the look was put off
    quiescence quiet_;
    // When to wake beside hogs although all workers sleep: the wake makes the kernel choose anew
    // which thread runs (docs/design/handoff.md).
    time_point after_timer_ = never;
    std::vector<watched> seen_;  // one per worker
    bool says_no_more_ = false;  // it has already printed that no carrier is left
    bool lacked_ = false;  // in this round no carrier was left for some worker
    bool woken_waits_ = false;  // in this round: waiting::woken
    unsigned crowd_ = 1;  // in this round: how many running fibers share a CPU
    atomic<unsigned> computing_without_worker_{0};
    atomic<unsigned> cpus_{usable_cpus()};  // written by the monitor only
    time_point look_at_quota_;
    unsigned stuck_ = 0;  // in this round: workers whose fiber is stuck but cannot lose them
    unsigned lent_ = 0;  // how many workers may be awake beyond the quota in their place
    atomic<bool> lacks_carriers_{false};
    bool has_news_ = false;  // there is something to report
    atomic<std::uint64_t> taken_{0}, blocked_{0};
};

}  // namespace weft::detail
