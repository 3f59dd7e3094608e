// monitor.hpp - preempts: takes the worker of a carrier whose fiber computes or blocks for long, and gives it to a spare carrier.
//
// One thread, which sleeps while nothing runs. What it concludes from what it sees is the judge's, how a worker changes hands is
// tenure.hpp's; docs/design/handoff.md has the whole.
//
// Invariants
//   O1  Workers are taken and given by the monitor alone; carriers are made under making_, by it and by who wants one for a fiber
//       alone. A carrier is in spares_ from when it has registered until it is taken out to be granted, summoned or dismissed (T5),
//       or put back if that was not needed, or takes itself out (O4). Others than the monitor may summon (lock_).
//   O2  A worker is demanded only when a carrier is at hand that can have it.
//   O3  After stop() has begun no carrier registers, and none is waiting when it has ended.
//   O4  A carrier that nobody has wanted for long takes itself out of spares_, under lock_, and goes to without_thread_; it touches
//       nothing but its thread's own after that. The monitor joins that thread before it starts the next one for it, which finds
//       the carrier as a new one: without a worker, inside, running nothing (T5, T7).
//   N1  A worker is granted to no carrier whose thread is nicer than the others. Who cannot be made as they are ends its thread when it has
//       nothing to run, demoted fibers included, unless it is reserved or bound to; its carrier gets a new one when one is wanted, as in O4.
//   N2  The monitor makes a thread nice under lock_, while its carrier runs something: before it ends it comes by lock_. One that is
//       reserved or bound to at that time is left alone.
#pragma once

#include <mutex>
#include <thread>
#include <vector>

#include "base/atomic.hpp"
#include "base/cpus.hpp"
#include "sched/monitor/alarm.hpp"
#include "sched/monitor/hog_reporter.hpp"
#include "sched/monitor/judge.hpp"
#include "sched/monitor/niceness.hpp"
#include "sched/monitor/quiescence.hpp"
#include "sched/tenure.hpp"

namespace weft::detail {

class carrier;
class scheduler;
class worker;

class monitor {
public:
    monitor(scheduler& owner, const judge& how, int hog_nice) : owner_(owner), judge_(how), hog_nice_(hog_nice), hogs_(owner) {}
    monitor(const monitor&) = delete;
    monitor& operator=(const monitor&) = delete;

    /// Starts the monitor, unless the time slice is zero. \throws std::system_error, std::bad_alloc
    void start();
    /// The monitor's thread; 0 if there is none, or it has not begun.
    pid_t monitor_id() const noexcept { return monitor_id_.load(relaxed); }
    void stop() noexcept;

    /// A carrier that will have no worker before it is no longer reserved. \throws std::system_error
    carrier& reserve_carrier();
    /// Any thread: lets the carrier look for what it has to run, if it waits here.
    void summon(carrier& c) noexcept;

    // Carriers:

    /// Whether a thread that the caller starts is nicer than the others: it inherits from one that is.
    bool starts_nice() const noexcept { return hog_nice_ > 0 && nice_here() > usual_nice_; }
    /// Its thread has begun.
    void thread_begins(carrier& c) noexcept;
    /// At home, without a worker: waits for one, or for demoted fibers to run. False: its thread is to end.
    bool await_worker(carrier& c) noexcept;
    /// The monitor should look round now.
    void hurry() noexcept;
    /// A worker has found something to run.
    void somebody_runs() noexcept {
        light_fence();  // pairs with sleep_until()
        if (rests_.load(relaxed)) [[unlikely]]
            look_soon();
    }

    hog_reporter& reporter() noexcept { return hogs_; }
    /// By a fiber, of itself, which swallows `cancelled`. False: later again.
    bool ask_for_report(control_block& self) noexcept;
    /// Whether a fiber keeps its worker because there is no carrier that could have it: a hint.
    bool lacks_carriers() const noexcept { return lacks_carriers_.load(relaxed); }

    /// How many carriers compute that have no worker: a hint.
    unsigned computing_apart() const noexcept { return computing_apart_.load(relaxed); }
    unsigned cpus() const noexcept { return cpus_.load(relaxed); }  // a hint

    /// A demoted fiber waits for a place; the caller has passed a fence.
    void somebody_waits() noexcept {
        if (rests_.load(relaxed)) hurry();  // pairs with sleep_until()
    }

    struct counts {
        std::uint64_t taken = 0;  // workers, by cause
        std::uint64_t blocked = 0;  // of these
    };
    /// Carriers whose thread has ended: a hint.
    unsigned without_thread() const noexcept { return static_cast<unsigned>(without_thread_count_.load(relaxed)); }
    counts statistics() const noexcept { return {taken_.load(relaxed), blocked_.load(relaxed)}; }

private:
    // One worker.
    struct watched {
        watch eye;
        carrier* holder = nullptr;  // from which it is demanded; null: it is not
        carrier* next = nullptr;  // who gets it (O2)
        cause_of_loss why = cause_of_loss::computing;
        std::uint64_t dispatches = 0;
    };

    void run() noexcept;
    time_point round() noexcept;
    void count_those_who_run() noexcept;
    void follow_quota(time_point now, unsigned stuck) noexcept;
    waiting what_waits() const noexcept;
    suspicion look_at(worker& w, watched& seen, time_point now, bool profit) noexcept;
    void demand(worker& w, watched& seen, carrier& holder, cause_of_loss why) noexcept;
    void settle(worker& w, watched& seen, tenure<worker>::taker::outcome how) noexcept;
    void look_again(worker& w, watched& seen) noexcept;
    void withdraw_all() noexcept;
    void serve_the_demoted(time_point now) noexcept;
    void sleep_until_quiet() noexcept;
    void sleep_until(time_point next, time_point nothing_runs = never) noexcept;
    bool all_sleep() const noexcept;
    [[gnu::cold]] void look_soon() noexcept;

    bool is_given_up(carrier& c) noexcept;
    void give_up(carrier& c) noexcept;
    bool cannot_be_as_others(carrier& c) noexcept;
    void make_nice(carrier& c) noexcept;
    carrier* take_spare() noexcept;
    enum class fit : bool { for_workers, to_be_reserved };
    carrier* take_idle_spare(fit what) noexcept;
    carrier* find_unreserved(const char*& why_not) noexcept;
    carrier* take_without_thread();
    carrier* start_another() noexcept;
    carrier* make_carrier(const char*& why_not) noexcept;
    void put_back(carrier& spare) noexcept;

    scheduler& owner_;
    const judge judge_;
    const int hog_nice_;
    hog_reporter hogs_;
    std::thread thread_;
    atomic<pid_t> monitor_id_{0};
    const int usual_nice_ = nice_here();  // of the runtime's threads
    atomic<bool> ending_{false};
    atomic<bool> rests_{false};
    alarm alarm_;
    quiescence quiet_;
    time_point after_timer_ = never;  // beside hogs: to look then though all sleep, since that makes the kernel choose anew
    std::vector<watched> seen_;  // of each worker
    bool says_no_more_ = false;  // that it has no carrier left
    bool lacked_ = false;  // in this round
    unsigned crowd_ = 1;  // the same: how many fibers that run share a CPU
    atomic<unsigned> computing_apart_{0};
    atomic<unsigned> cpus_{usable_cpus()};  // the monitor's
    time_point look_at_quota_;
    unsigned stuck_ = 0;  // in this round: workers of fibers that cannot lose them
    unsigned lent_ = 0;  // awake beyond the quota for those
    atomic<bool> lacks_carriers_{false};
    bool has_news_ = false;  // for the reporter
    atomic<std::uint64_t> taken_{0}, blocked_{0};

    std::mutex making_;
    carrier* unstarted_ = nullptr;  // under making_: made, but its thread was refused

    std::mutex lock_;
    bool is_over_ = false;  // under lock_, as what follows
    std::vector<carrier*> spares_, without_thread_;  // with room for all
    atomic<std::size_t> without_thread_count_{0};
};

}  // namespace weft::detail
