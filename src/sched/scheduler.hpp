// scheduler.hpp - the workers of one runtime, what they share, and the carriers that run them.
#pragma once

#include <cfenv>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <weft/detail/at_limit.hpp>
#include <weft/detail/migrate.hpp>
#include <weft/simulation.hpp>

#include "base/fork.hpp"
#include "fiber/block_pool.hpp"
#include "sched/carrier.hpp"
#include "sched/driver.hpp"
#include "sched/fiber_limit.hpp"
#include "sched/idle/idle_set.hpp"
#include "sched/injector.hpp"
#include "sched/inspect/stack_census.hpp"
#include "sched/monitor/demotion.hpp"
#include "sched/monitor/monitor.hpp"
#include "sched/worker.hpp"
#include "stack/stack_pool.hpp"

namespace weft {
struct fiber_info;
}

namespace weft::detail {

struct hog;
class simulator;

/// Why a failure is reported: nobody joins the fiber; its scope has another failure already; a handler of an event source that is removed.
enum class unheard : std::uint8_t { unjoined, further, handler };
/// Who may be told instead of runtime_options::on_unhandled.
using failure_hook = std::function<void(const fiber_info&, std::exception_ptr)>;

struct scheduler_options {
    unsigned workers = 1;
    std::size_t stack_bytes = std::size_t{256} * 1024;
    duration time_slice = std::chrono::milliseconds(5);  // zero: nobody loses a worker
    unsigned max_carriers = 512;
    bool torture_hand_offs = false;  // for tests: workers are taken at random, all the time
    std::size_t max_fibers = 0;  // 0: no limit
    bool census = false;  // of what fibers need of their stacks
    weft::at_limit when_full = at_limit::park;
    migration_policy migration = migration_policy::normal;
    std::optional<simulation> simulate = {};  // with one worker and no time slice
    std::string name = "weft";
    /// A failure that nobody hears of. On the failed fiber, or on the thread that dropped its handle. Must not throw. The hook is null, or
    /// empty, where there is none.
    std::function<void(control_block*, const std::exception_ptr&, unheard, const failure_hook*)> unhandled = {};
    /// A fiber that keeps its thread for long (hog_reporter.hpp), on a thread of its own. Must not throw. Empty: no reports.
    std::function<void(const hog&)> on_hog = {};
    /// Fibers are there and none has run for a second: whether on_all_asleep is to be told. On the monitor's thread, before that of on_hog is
    /// started for it. Must not throw.
    std::function<bool()> may_be_stuck = {};
    /// The same, if so: on the thread of on_hog, more seldom as time goes by. Must not throw. Empty: nobody is told.
    std::function<void()> on_all_asleep = {};
    bool follows_quota = false;  // no more workers are to be awake than CPUs may be used, which is looked up again while it runs
    int hog_nice = 0;    // of a thread whose fiber has lost its worker by computing, added to that of the others
    int hog_signal = 0;  // by which a hog shows its stack; claimed by the higher layer. 0: none
    /// The higher layer's object; scheduler only keeps it.
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
    /// Makes a fiber runnable that was waiting.
    void ready(control_block&) noexcept;
    /// Gives one reference back (C2).
    static void drop(control_block&) noexcept;
    /// The handle and its reference; destroys the body if it has ended.
    static void drop_handle(control_block&) noexcept;
    /// After the last reference: the block goes back to its pool.
    static void give_back(control_block&) noexcept;
    /// Before: what few fibers have and all must be rid of (C6).
    [[gnu::cold]] static void tidy(control_block&) noexcept;
    /// Requests that a fiber stop; true if this is the first request.
    static bool request_stop(control_block&) noexcept;
    // Its parts, so that many may share one heavy fence: raise_stop(), heavy_fence(), deliver_stop(). Without any lock.
    /// Counts the stop; true if it is the first: then deliver_stop() must follow.
    static bool raise_stop(control_block&) noexcept;
    /// Tells the token, ends the wait, and hands the stop on.
    static void deliver_stop(control_block&) noexcept;
    /// A fiber that joins a child by running it cannot go on before the child has ended, so the child is stopped with it.
    static void stop_in_place_child(wait_cell&) noexcept;
    /// Reports a failure nobody joins, of a fiber or (null) of a plain thread; `cancelled` is none.
    void report_unhandled(control_block*, const std::exception_ptr&, unheard why = unheard::unjoined,
                          const failure_hook* instead = nullptr) noexcept;
    void report_unhandled(control_block& f, const std::exception_ptr& e) noexcept { report_unhandled(&f, e); }

    /// It was made before a fork: its carriers are in the parent.
    bool is_inherited() const noexcept { return generation_ != fork_generation(); }

    /// Whether some wait has a limit of time, or some fiber sleeps.
    bool has_timers() const noexcept;
    /// Whether some fiber waits for a lock, another fiber or a scope: a hint.
    bool some_wait_for_another() noexcept;
    /// Fibers born and not yet ended. Exact once no fiber and no thread spawns.
    std::uint64_t live() const noexcept;
    std::uint64_t born() const noexcept;
    /// Waits until no fiber is left or `until`. From a plain thread.
    bool drain(time_point until) noexcept;
    /// Stops every fiber that lives now; those born later start stopped.
    void request_stop_of_all() noexcept;
    /// Ends the carriers; no fiber may be left.
    void stop() noexcept;
    struct gives_back {
        void operator()(control_block* f) const noexcept { drop(*f); }
    };
    using held_fiber = std::unique_ptr<control_block, gives_back>;
    /// The fibers that live now, each with a reference, so that their blocks stay theirs. A hint: they go on meanwhile.
    std::vector<held_fiber> living();
    /// Of those some that have not been asked to stop, as many as there is room for. Needs no memory.
    std::size_t unstopped(std::span<held_fiber> into) noexcept;
    /// Requests that each stop, and gives the references back.
    static void stop_each(std::span<held_fiber>) noexcept;
    /// The fiber that has this block now, with a reference; null if it has ended.
    held_fiber hold(control_block& f) noexcept;

    /// Calls f for those of them that wait, each while it is held: nobody runs on its stack until f has returned (W7 of wait_word.hpp). Who
    /// is woken waits for that, and so do up to `at_once` - 1 others. Nobody at all where the machine lacks what it takes.
    void for_each_held(std::span<control_block* const> of_these, std::size_t at_once,
                       const std::function<void(control_block&)>& f);

    /// The places for fibers; null if there is no limit.
    fiber_limit* limit() const noexcept { return limit_.get(); }
    /// Null unless it was asked for: then every fiber has a stack of its own.
    stack_census* census() const noexcept { return census_.get(); }
    /// Whether a spawn has to look at more than its attributes: at a limit, at the spawner's class, for the census, or at tortures().
    bool looks_at_spawns() const noexcept { return looks_at_spawns_.load(relaxed); }
    bool all_are_stopped() const noexcept { return all_stopped_.load(relaxed); }  // missed only by who is asked again: drain()
    /// Whether a fiber that begins is to be stopped at once, or is simulated.
    bool looks_at_starts() const noexcept { return looks_at_starts_.load(relaxed); }  // as all_are_stopped()
    [[gnu::cold]] void look_at_start(control_block&) noexcept;
    /// Null unless it is.
    simulator* simulated() const noexcept { return simulator_.get(); }
    /// Before the first fiber that is not normal is started, which thus comes after it.
    void begin_classes() noexcept { looks_at_spawns_.store(true, relaxed); }
    const scheduler_options& options() const noexcept { return options_; }
    /// Rounding and the like, as its maker had them: all carriers begin with that, and who changes it puts it back.
    const std::fenv_t& floating_point() const noexcept { return floating_point_; }
    unsigned worker_count() const noexcept { return static_cast<unsigned>(workers_.size()); }
    worker& worker_at(unsigned i) noexcept { return *workers_[i]; }
    stack_pool& stacks() noexcept { return stacks_; }
    block_pool& blocks() noexcept { return blocks_; }
    driver& io() noexcept { return driver_; }

    // Carriers and workers:

    /// From who has no worker: to whoever comes first, or to the demoted.
    void inject(control_block&) noexcept;
    void demote(control_block&) noexcept;
    /// New, or it was waiting, and bound to a carrier (bound.hpp).
    void ready_bound(control_block&) noexcept;
    /// Fibers are sent to another carrier whenever they have parked (B7 of bound.hpp).
    bool tortures() const noexcept { return options_.migration == migration_policy::torture; }
    /// Its bound fibers that may move do so; it has lost its worker.
    [[gnu::cold]] void send_on_from(carrier&) noexcept;
    /// Whether such a one may wait behind another fiber: a hint.
    bool somebody_may_be_sent_on() const noexcept;
    /// One of the demoted, if any waits, becomes an ordinary fiber again.
    void promote_one() noexcept;
    /// The same of one that was taken from them, and has left its stack: the place is given back.
    void promote(control_block& taken) noexcept;
    demotion& demoted() noexcept { return demoted_; }
    monitor& the_monitor() noexcept { return monitor_; }
    /// Calls f(carrier&) for each there has ever been.
    template <class F>
    void for_each_carrier(F&& f) const {
        const auto n = carrier_count_.load(acquire);  // pairs with new_carrier()
        for (unsigned i = 0; i < n; ++i) f(*carriers_[i]);
    }
    unsigned carrier_count() const noexcept { return carrier_count_.load(relaxed); }
    /// Its thread is yet to be started. One caller at a time. \throws std::bad_alloc
    carrier& new_carrier(worker* first);
    /// Whether somebody may be referring to fibers it has no reference of (F3 of life_word.hpp). Inside a visit.
    bool is_observed() const noexcept { return observers_.load(acquire) != 0; }  // pairs with the end of living()
    idle_set& idle() noexcept { return idle_; }
    injector<control_block>& injected() noexcept { return injected_; }
    bool stopping() const noexcept { return stopping_.load(acquire); }  // pairs with stop()
    bool work_is_queued() const noexcept;
    /// Whether the pools hold memory that a burst may have left: a hint.
    bool has_surplus() const noexcept { return blocks_.has_surplus() || stacks_.has_surplus(); }
    /// Gives back the pages that waiting fibers' stacks have below what is in use. \returns bytes. \throws std::bad_alloc
    std::size_t trim_waiting_stacks();
    /// Gives some of it back. \returns when to go on; never: there is none left.
    time_point trim(time_point now, std::size_t parts) noexcept {
        return std::min(blocks_.trim(now, parts), stacks_.trim(now, parts));
    }
    void wake_sleeper() noexcept {            // after work was published (idle_set.hpp)
        if (idle_.lacks_searcher()) [[unlikely]]
            wake_claimed();
    }
    void wake_searcher() noexcept;            // the same for work that should not wait for the next nap to end

    /// The right to poll the driver: one at a time.
    bool try_lead() noexcept {
        auto expected = lead::free;
        return lead_.load(relaxed) == lead::free &&
               lead_.compare_exchange_strong(expected, lead::taken, acquire, relaxed);  // pairs with end_lead()
    }
    bool nobody_leads() const noexcept { return lead_.load(relaxed) == lead::free; }  // a hint
    /// The same for an announced sleeper; if it fails, whoever gives the lead back without sleeping wakes a sleeper.
    bool try_lead_or_wait_for_it() noexcept {
        auto now = lead_.load(relaxed);
        for (;;) {
            const auto next = now == lead::free ? lead::taken : lead::wanted;
            if (lead_.compare_exchange_weak(now, next, acq_rel, relaxed)) return next == lead::taken;  // pairs with end_lead()
        }
    }
    /// True if a sleeper could not get it meanwhile.
    bool end_lead() noexcept { return lead_.exchange(lead::free, acq_rel) == lead::wanted; }

    /// A leader that sleeps publishes until when; who arms an earlier timer and goes on working wakes it. (Dekker with
    /// timer_heap::earliest_: the leader stores, then looks at the heaps; the other stores into its heap, then looks here.)
    void publish_leader_sleep(time_point until) noexcept { leader_until_.store(until.time_since_epoch().count(), seq_cst); }
    void end_leader_sleep() noexcept { publish_leader_sleep(time_point::min()); }
    bool leader_oversleeps(time_point t) const noexcept { return leader_until_.load(seq_cst) > t.time_since_epoch().count(); }

    void set_napper(worker* w) noexcept { napper_.store(w, seq_cst); }

private:
    friend struct debug_layout;
    static void tell_and_interrupt(control_block&) noexcept;
    static held_fiber in_place_child_of(control_block&) noexcept;
    void wake(carrier&) noexcept;
    [[gnu::cold]] void wake_claimed() noexcept;
    bool is_held(const carrier&) const noexcept;
    class observation;

    enum class lead : std::uint32_t { free, taken, wanted };

    const scheduler_options options_;
    const unsigned generation_ = fork_generation();
    std::fenv_t floating_point_{};
    driver& driver_;
    stack_pool stacks_;
    block_pool blocks_;
    idle_set idle_;
    injector<control_block> injected_;
    std::vector<std::unique_ptr<worker>> workers_;
    std::vector<std::unique_ptr<carrier>> carriers_;  // room for all there may be; those below carrier_count_ are there for good
    atomic<unsigned> carrier_count_{0};
    demotion demoted_;
    monitor monitor_;
    const std::unique_ptr<fiber_limit> limit_;  // beside what every fiber reads anyway
    const std::unique_ptr<stack_census> census_;
    const std::unique_ptr<simulator> simulator_;  // before the workers begin
    atomic<bool> looks_at_spawns_;
    atomic<bool> stopping_{false};
    atomic<bool> all_stopped_{false};
    atomic<bool> looks_at_starts_;
    atomic<std::uint32_t> observers_{0};  // read by each fiber's end, seldom written
    std::mutex holding_;  // W7 of wait_word.hpp
    alignas(64) atomic<lead> lead_{lead::free};
    atomic<std::int64_t> leader_until_{time_point::min().time_since_epoch().count()};
    atomic<worker*> napper_{nullptr};
    alignas(64) atomic<std::uint64_t> born_outside_{0};
    atomic<std::uint32_t> visitors_{0};  // threads that are not workers and are about to make a fiber runnable
};

/// What a control block's `make_ready` is: of an ordinary fiber, of one of another class, of a demoted one, and of one that is bound to a
/// carrier.
void ready_fiber(wait_cell&) noexcept;
void ready_class_fiber(wait_cell&) noexcept;
void ready_demoted_fiber(wait_cell&) noexcept;
void ready_bound_fiber(wait_cell&) noexcept;
using way_to_ready = void (*)(wait_cell&) noexcept;
/// Which of them `f` has, as it is now.
way_to_ready way_to_ready_of(const control_block& f) noexcept;

/// Whether this is `cancelled`, which is no failure.
bool is_cancellation(const std::exception_ptr&) noexcept;

/// The fiber's own stop token, made on first use. \throws std::bad_alloc
std::stop_token stop_token_of(control_block&);

/// Index and generation: unique among all fibers of the process run, since a block whose generations are used up is used no more (B7 of
/// fiber/block_pool.hpp).
std::uint64_t id_of(const control_block&) noexcept;

/// The scheduler whose fiber calls, or null.
scheduler* current_scheduler() noexcept;

}  // namespace weft::detail
