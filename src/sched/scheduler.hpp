// scheduler.hpp - the workers of one runtime, what they share, and the carriers that run them.
//
// What src/sched holds. A fiber runs on a carrier (an OS thread); a carrier runs fibers while it
// has a worker (run queues, timers, stacks; one per CPU).
//
//  scheduler   scheduler.cpp                  construction, ready fibers, births and ends, stop()
//              scheduler_stops.cpp            request_stop_of_all()
//              inspect/scheduler_living.cpp   takes references: living(), unstopped(), guard()
//              inspect/scheduler_seized.cpp     for_each_seized()
//              inspect/scheduler_trim.cpp     trim_waiting_stacks()
//              inspect/scheduler_at_rest.cpp  has_timers(), some_wait_for_another()
//  worker      worker.cpp                     polls, classes of fibers
//              worker_inline.hpp              pick(), and what makes fibers runnable
//              worker_state.hpp               what it is in the middle of, and pick() must look at
//  carrier     carrier.cpp                    the thread's life, also without a worker
//              carrier_loop.cpp               the loops, and every switch
//              carrier_now.cpp                a fiber that begins in the place of its spawner
//              carrier_inline.hpp             what both do with a body
//              carrier_in_place.cpp           a fiber that runs another inside itself
//              worker_inline.hpp              start(), ready(), recycle()
//  other       tenure.hpp (which thread may use a worker), lead.hpp (which worker polls
//              the driver), run_queue.hpp, injector.hpp, class_turns.hpp, timer_heap.hpp,
//              pinned.hpp, fiber_limit.hpp
//
//  wait/       One wait from its beginning to its end: how a fiber parks, how a stop reaches it.
//  idle/       What a worker does that has nothing to run: it searches, steals, naps and sleeps.
//  monitor/    The monitor preempts: it takes workers from carriers whose fiber computes or blocks.
//              The pool of carriers without a worker and the reports of such fibers are here, too.
//  inspect/    Looks at fibers from outside: references, stacks, park watchers, hints of deadlock.
//  simulate/   Draws the next fiber and keeps the time of a simulated runtime, from a seed.
#pragma once

#include <cfenv>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <weft/at_limit.hpp>
#include <weft/detail/annotated_locks.hpp>
#include <weft/detail/export.hpp>
#include <weft/migrate.hpp>
#include <weft/simulation.hpp>

#include "base/fork.hpp"
#include "base/futex_lock.hpp"
#include "fiber/block_pool.hpp"
#include "sched/carrier.hpp"
#include "sched/driver.hpp"
#include "sched/fiber_limit.hpp"
#include "sched/identity/identity_pool.hpp"
#include "sched/idle/idle_set.hpp"
#include "sched/injector.hpp"
#include "sched/inspect/stack_census.hpp"
#include "sched/lead.hpp"
#include "sched/monitor/carrier_pool.hpp"
#include "sched/monitor/preemption.hpp"
#include "sched/worker.hpp"
#include "stack/stack_pool.hpp"

namespace weft {
struct fiber_info;
}

namespace weft::detail {

struct hog_sighting;
class simulator;

/// Why a failure is reported. unjoined: the fiber is not joined. further: its scope has recorded
/// another failure already. handler: the handler of an event source failed, and is removed.
enum class unheard : std::uint8_t { unjoined, further, handler };
/// A hook that is called in place of runtime_options::on_unhandled.
using failure_hook = std::function<void(const fiber_info&, std::exception_ptr)>;

struct scheduler_options {
    unsigned workers = 1;
    std::size_t stack_bytes = std::size_t{256} * 1024;
    duration time_slice = std::chrono::milliseconds(5);  // zero: no fiber is preempted
    duration timer_slack = std::chrono::microseconds(100);  // idle_worker::not_too_soon()
    unsigned max_carriers = 512;
    unsigned keep_identities = 256;  // of those that no fiber has
    bool hooked = false;  // calls that block park in fibers that are threads (base/hook_table.hpp)
    bool torture_hand_offs = false;  // for tests: the monitor takes workers at random, all the time
    std::size_t max_fibers = 0;  // 0: no limit
    bool census = false;  // measure how much of its stack each fiber needs
    weft::at_limit when_full = at_limit::park;
    migration_policy migration = migration_policy::normal;
    std::optional<simulation> simulate = {};  // requires one worker and no time slice
    std::string name = "weft";
    /// Called with a failure that no join() or scope receives, on the failed fiber or on the thread
    /// that dropped its handle. Must not throw. The hook is null or empty where there is none.
    std::function<void(control_block*, const std::exception_ptr&, unheard, const failure_hook*)> unhandled = {};
    /// Reports a fiber that keeps its thread for long (hog_reporter.hpp). Called on the reporter's
    /// own thread. Must not throw. Empty: no reports.
    std::function<void(const hog_sighting&)> on_hog = {};
    /// Asked when fibers live but none has run for a second: whether to call on_all_asleep. Called
    /// on the monitor's thread, before the reporter's thread is started for it. Must not throw.
    std::function<bool()> may_be_stuck = {};
    /// Reports that no fiber has run for a while, if may_be_stuck() said so. Called on the thread
    /// of on_hog, less and less often as time goes by. Must not throw. Empty: no reports.
    std::function<void()> on_all_asleep = {};
    /// Keeps no more workers awake than there are CPUs the process may use; the number is looked up
    /// again while the runtime runs.
    bool follows_quota = false;
    /// Added to the usual nice value for a thread whose fiber has lost its worker by computing.
    int hog_nice = 0;
    /// The signal that makes a hog's thread record its stack; set up by the higher layer. 0: none.
    int hog_signal = 0;
    /// An object of the higher layer, which the scheduler only stores.
    void* context = nullptr;
};

class scheduler {
public:
    /// Starts the carriers. \throws std::system_error, std::bad_alloc
    scheduler(scheduler_options, driver&);
    ~scheduler();
    scheduler(const scheduler&) = delete;
    scheduler& operator=(const scheduler&) = delete;

    // Any thread:

    /// Makes a new fiber runnable.
    void start(control_block&) noexcept;
    /// Makes a fiber runnable again that was waiting.
    void ready(control_block&) noexcept;
    /// Drops one reference (CONTROL_BLOCK-2).
    static void drop(control_block&) noexcept;
    /// Drops the handle and its reference; destroys the body if the fiber has ended.
    static void drop_handle(control_block&) noexcept;
    /// Gives the block back to its pool. Called after the last reference has been dropped.
    static void give_back(control_block&) noexcept;
    /// Removes from a block what only few fibers leave behind, before the block is given back
    /// (CONTROL_BLOCK-6).
    [[gnu::cold]] static void tidy(control_block&) noexcept;
    /// Reports a failure that is not joined, of a fiber or (null) of a plain thread. `cancelled` is
    /// not a failure.
    void report_unhandled(control_block*, const std::exception_ptr&, unheard why = unheard::unjoined,
                          const failure_hook* instead = nullptr) noexcept;
    void report_unhandled(control_block& f, const std::exception_ptr& e) noexcept { report_unhandled(&f, e); }

    /// Whether the scheduler was made before a fork, so that its carriers exist only in the parent.
    bool is_inherited() const noexcept { return generation_ != fork_generation(); }

    /// Whether some wait has a deadline, or some fiber sleeps.
    bool has_timers() const noexcept;
    /// Whether some fiber waits for a lock, another fiber or a scope: a hint.
    bool some_wait_for_another() noexcept;
    /// \returns the number of fibers born and not yet ended. Exact while no fiber or thread spawns.
    std::uint64_t live() const noexcept;
    std::uint64_t born() const noexcept;
    /// Waits until no fiber is left, or until `until`. Only a plain thread may call it. \returns
    /// whether no fiber is left.
    bool drain(time_point until) noexcept;
    /// Asks every living fiber to stop; fibers born later are stopped when they start.
    void request_stop_of_all() noexcept;
    /// Ends the monitor and the carriers. No fiber may be left.
    void stop() noexcept;
    struct gives_back {
        void operator()(control_block* f) const noexcept { drop(*f); }
    };
    using fiber_guard = std::unique_ptr<control_block, gives_back>;
    /// \returns the living fibers, each with a reference, so that their blocks are not reused. A
    /// hint: the fibers go on meanwhile.
    std::vector<fiber_guard> living();
    /// Fills `into` with living fibers that have not been asked to stop, as many as there is room
    /// for. Allocates nothing. \returns how many.
    std::size_t unstopped(std::span<fiber_guard> into) noexcept;
    /// \returns the fiber that uses this block now, with a reference; null if it has ended.
    fiber_guard guard(control_block& f) noexcept;

    /// Calls f for each of these fibers that waits, and keeps its stack unused until f has returned
    /// (WAIT_WORD-7). A fiber that is woken meanwhile is delayed until then, and so are up
    /// to `at_once` - 1 others. Calls f for none where the machine lacks the fence this needs.
    void for_each_seized(std::span<control_block* const> of_these, std::size_t at_once,
                       const std::function<void(control_block&)>& f);

    /// \returns the limit on the number of fibers; null if there is none.
    fiber_limit* limit() const noexcept { return limit_.get(); }
    /// \returns null unless options().census was set; with it, every fiber has a stack of its own.
    stack_census* census() const noexcept { return census_.get(); }
    /// Whether a spawn must look at more than its attributes: at the limit, the spawner's class,
    /// the census, the simulation or tortures().
    bool looks_at_spawns() const noexcept { return looks_at_spawns_.load(relaxed); }
    /// Whether request_stop_of_all() was called. Relaxed, since a fiber that misses it is asked
    /// again: the runtime repeats the stop until drain() succeeds.
    bool all_are_stopped() const noexcept { return all_stopped_.load(relaxed); }
    /// Whether a fiber that begins must be stopped at once, or is simulated. Relaxed for the reason
    /// that all_are_stopped() gives.
    bool looks_at_starts() const noexcept { return looks_at_starts_.load(relaxed); }
    [[gnu::cold]] void look_at_start(control_block&) noexcept;
    /// \returns the simulator; null unless the runtime is simulated.
    simulator* simulated() const noexcept { return simulator_.get(); }
    /// Counts a spawn that throws instead of making a fiber. Relaxed, here and in refused(): the
    /// number is only shown.
    void note_refused() noexcept { refused_.fetch_add(1, relaxed); }
    std::uint64_t refused() const noexcept { return refused_.load(relaxed); }
    /// Called before the first fiber of another class starts; the start orders the store.
    void begin_classes() noexcept { looks_at_spawns_.store(true, relaxed); }
    const scheduler_options& options() const noexcept { return options_; }
    /// The floating-point environment (rounding mode and the like) of the thread that made the
    /// scheduler. Every carrier begins with it, and a fiber that changes it must restore it.
    const std::fenv_t& floating_point() const noexcept { return floating_point_; }
    unsigned worker_count() const noexcept { return static_cast<unsigned>(workers_.size()); }
    worker& worker_at(unsigned i) noexcept { return *workers_[i]; }
    stack_pool& stacks() noexcept { return stacks_; }
    identity_pool& identities() noexcept { return identities_; }
    block_pool& blocks() noexcept { return blocks_; }
    driver& io() noexcept { return driver_; }
    lead& the_lead() noexcept { return lead_; }

    // Carriers and workers:

    /// Queues a fiber for a caller that has no worker: inject() for any worker, queue_demoted()
    /// among the demoted fibers, as which demotion::demote() has marked it.
    void inject(control_block&) noexcept;
    void queue_demoted(control_block&) noexcept;
    /// Whether a worker names the carrier as its holder. It may lose the worker at any moment.
    bool has_worker(const carrier&) const noexcept;
    /// Makes a pinned fiber runnable, one that is new or was waiting (pinned.hpp).
    void ready_pinned(control_block&) noexcept;
    /// Whether calls that block park in its fibers that are threads (base/hook_table.hpp).
    bool is_hooked() const noexcept { return options_.hooked; }
    /// For tests: whether fibers move to another carrier after each park (PINNED-7).
    bool tortures() const noexcept { return options_.migration == migration_policy::torture; }
    /// Moves fibers that moves_on() allows away from a carrier that has lost its worker (PINNED-7).
    [[gnu::cold]] void send_on_from(carrier&) noexcept;
    /// Whether a fiber that send_on_from() would move may wait behind another fiber: a hint.
    bool somebody_may_be_sent_on() const noexcept;
    /// Makes one of the waiting demoted fibers, if there is any, an ordinary fiber again.
    void promote_one() noexcept;
    /// Makes a fiber ordinary again that the caller has taken from the demoted ones and that has
    /// left its stack; gives back its place.
    void promote(control_block& taken) noexcept;
    demotion& demoted() noexcept { return demoted_; }
    carrier_pool& spares() noexcept { return spares_; }
    monitor& the_monitor() noexcept { return monitor_; }
    /// Calls f(carrier&) for each carrier made so far.
    template <class F>
    void for_each_carrier(F&& f) const {
        const auto n = carrier_count_.load(acquire);  // pairs with new_carrier()
        for (unsigned i = 0; i < n; ++i) f(*carriers_[i]);
    }
    unsigned carrier_count() const noexcept { return carrier_count_.load(relaxed); }
    /// Makes a carrier; the caller starts its thread. One caller at a time. \throws std::bad_alloc
    carrier& new_carrier(worker* first);
    /// Whether an observer may be taking references of fibers it has none of (LIFE_WORD-3).
    /// Called inside a visit. Pairs with the end of living().
    bool is_observed() const noexcept { return observers_.load(acquire) != 0; }
    idle_set& idle() noexcept { return idle_; }
    injector<control_block>& injected() noexcept { return injected_; }
    bool stopping() const noexcept { return stopping_.load(acquire); }  // pairs with stop()
    bool work_is_queued() const noexcept;
    /// Whether some of it is worth waking a worker for.
    bool work_needs_help() const noexcept;
    /// Whether a monitor looks, so that workers may foresee how long they will be busy (BURST-1),
    /// and may miss work (IDLE_SET-8). Beside hogs its looks may come late.
    bool is_watched() const noexcept {
        return monitor_.monitor_id() != 0 && monitor_.computing_without_worker() == 0;
    }
    /// A hint: whether it is time to move fibers again, after thefts that were not worth it.
    bool thefts_pay(time_point now) const noexcept { return now.time_since_epoch().count() >= thefts_pay_at_.load(relaxed); }
    void put_thefts_off(time_point until) noexcept { thefts_pay_at_.store(until.time_since_epoch().count(), relaxed); }
    /// Whether the pools hold memory that a burst may have left: a hint.
    bool has_surplus() const noexcept { return blocks_.has_surplus() || stacks_.has_surplus(); }
    /// Gives back the unused pages of waiting fibers' stacks. \returns bytes.
    /// \throws std::bad_alloc
    std::size_t trim_waiting_stacks();
    /// Gives back some of the pools' surplus memory. \returns when to go on; never: none is left.
    time_point trim(time_point now, std::size_t parts) noexcept {
        return std::min(blocks_.trim(now, parts), stacks_.trim(now, parts));
    }
    [[gnu::cold]] void wake_claimed() noexcept;
    void wake_sleeper() noexcept {  // called after work was published (idle_set.hpp)
        if (idle_.lacks_searcher()) [[unlikely]]
            wake_claimed();
    }
    /// Wakes the worker that has slept longest, but not this one.
    void wake_another_than(const worker&) noexcept;
    /// Wakes a sleeper, or ends the nap of the worker that searches, for work that should not wait
    /// for the end of a nap. The caller need not be a worker.
    void wake_searcher() noexcept;

    // pairs with the fence in wake_searcher()
    void set_napper(worker* w) noexcept { napper_.store(w, seq_cst); }

private:
    friend struct debug_layout;
    void wake(carrier&) noexcept;
    class observation;

    const scheduler_options options_;
    const unsigned generation_ = fork_generation();
    std::fenv_t floating_point_{};
    driver& driver_;
    stack_pool stacks_;
    identity_pool identities_;
    block_pool blocks_;
    idle_set idle_;
    injector<control_block> injected_;
    std::vector<std::unique_ptr<worker>> workers_;
    // Has room for all carriers from the start; entries below carrier_count_ never change.
    std::vector<std::unique_ptr<carrier>> carriers_;
    atomic<unsigned> carrier_count_{0};
    demotion demoted_;
    carrier_pool spares_;
    monitor monitor_;
    const std::unique_ptr<fiber_limit> limit_;  // kept beside data that every fiber reads anyway
    const std::unique_ptr<stack_census> census_;
    const std::unique_ptr<simulator> simulator_;  // made before the workers begin
    atomic<bool> looks_at_spawns_;
    atomic<bool> stopping_{false};
    atomic<bool> all_stopped_{false};
    atomic<bool> looks_at_starts_;
    atomic<std::uint32_t> observers_{0};  // read at each fiber's end, seldom written
    futex_lock holding_;  // one for_each_seized() at a time: WAIT_WORD-7
    alignas(64) lead lead_;
    atomic<worker*> napper_{nullptr};
    atomic<std::int64_t> thefts_pay_at_{0};  // seldom written
    alignas(64) atomic<std::uint64_t> born_outside_{0};
    // Threads that are not workers and are about to make a fiber runnable.
    atomic<std::uint32_t> visitors_{0};
    atomic<std::uint64_t> refused_{0};  // seldom written
};

/// The values of a control block's `make_ready`: for an ordinary fiber, one of another class, a
/// demoted one, and one that is pinned to a carrier.
void ready_fiber(wait_cell&) noexcept;
void ready_class_fiber(wait_cell&) noexcept;
void ready_demoted_fiber(wait_cell&) noexcept;
void ready_pinned_fiber(wait_cell&) noexcept;
using way_to_ready = void (*)(wait_cell&) noexcept;
/// \returns the one that fits the present attributes of `f`.
way_to_ready way_to_ready_of(const control_block& f) noexcept;

/// Whether this is `cancelled`, which is not a failure.
bool is_cancellation(const std::exception_ptr&) noexcept;

/// \returns the fiber's id, made of its block's index and generation. It is unique among all fibers
/// of the process, since a block whose generations are used up is not used again (BLOCK_POOL-7).
std::uint64_t id_of(const control_block&) noexcept;

/// \returns the scheduler of the calling carrier, or null.
WEFT_EXPORT scheduler* current_scheduler() noexcept;

}  // namespace weft::detail
