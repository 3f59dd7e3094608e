// worker.hpp - the right to run fibers: run queues, one heap of timers, one store of stacks.
//
// A worker is data. It belongs to the carrier that has it, while that carrier is inside the runtime
// (tenure.hpp); each member says what others may touch.
//
// Invariants
//   WORKER-1  A woken fiber goes into the queue's next slot (run_queue.hpp), so two fibers that
//             wake each other stay on one worker and in its cache.
//   WORKER-2  A thread that queues work, in its own queue or slot as well, calls notify()
//             afterwards (idle_set.hpp). During take_in() the end of the poll does it, or found().
//   WORKER-3  A ready fiber is in the queue of its class. The common path looks only at queue_,
//             that of the normal class. While a fiber of another class is queued here, or such a
//             class has its turn, `classes` of worker_state.hpp is set and poll_at_ is not after
//             the end of the turn. So each pick() reaches pick_by_class(), and a path that goes
//             past pick() asks poll_if_due() or poll_is_due().
//   WORKER-4  A worker that is surplus, because too many are awake (IDLE_SET-7), notices it at a
//             poll and drains: until its queues are empty, each pick() moves its fibers to the
//             injector and returns null. A fiber that yields meanwhile is moved by the pick() after
//             it has left its stack.
//
// ready(), enqueue(), pick() and notify() are in worker_inline.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <weft/detail/export.hpp>

#include "fiber/block_pool.hpp"
#include "sched/carrier.hpp"
#include "sched/class_turns.hpp"
#include "sched/idle/burst.hpp"
#include "sched/idle/idle_set.hpp"
#include "sched/idle/parker.hpp"
#include "sched/run_queue.hpp"
#include "sched/timer_heap.hpp"
#include "sched/worker_state.hpp"
#include "stack/stack_cache.hpp"

namespace weft::detail {

class worker {
public:
    using fiber_queue = run_queue<control_block>;

    worker(scheduler& owner, unsigned index);
    ~worker();
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;

    // To be called inside a visit of the carrier that has the worker:

    /// Queues a normal fiber that was waiting. It runs next (WORKER-1), or in its turn while a
    /// batch of wake-ups is taken in.
    void ready(control_block& f) noexcept;
    /// As ready(), for a fiber of any class.
    void ready_in_class(control_block& f) noexcept;
    /// Queues a new fiber, or one that yields, of any class behind the others, and notifies.
    void enqueue(control_block& f) noexcept;
    /// \returns the next fiber to run, or null.
    control_block* pick() noexcept;
    /// Arms a timer for a fiber that runs here.
    void arm(timer& t, time_point when) noexcept;
    /// Polls if it is time. \returns whether the next turn belongs to a fiber outside the queue of
    /// the caller's class; then the caller must use pick().
    bool poll_if_due() noexcept {
        if (!poll_is_due()) [[likely]]
            return false;
        return attend();
    }
    bool poll_is_due() const noexcept { return ticks_.load(relaxed) >= poll_at_.load(relaxed); }
    /// Queues a fiber of any class at the back, without notify(): the caller is about to pick() or
    /// to notify. False: no memory; the caller keeps the fiber.
    bool put_back(control_block& f) noexcept { return queue_of(f).push(f) && note_class(f); }
    /// As put_back(), but without memory the fiber goes to overflow().
    void append(control_block& f) noexcept {
        if (!put_back(f)) [[unlikely]]
            overflow(f);
    }
    /// \returns the next fiber to run: `f`, which has come from elsewhere, or another if it is not
    /// the turn of the class of `f`.
    control_block* begin_with(control_block& f) noexcept;
    /// As pick(), but if nothing else is due it takes `spawner`, should that be the fiber queued
    /// last: what it left behind for a child that has ended goes on before what is older.
    control_block* pick_after(control_block& spawner) noexcept;
    /// As run_queue::take_back(), for a fiber of another class than normal.
    bool take_back_of_class(const control_block& f) noexcept { return f.is_classed() && queue_of(f).take_back(f); }
    /// Counts a dispatch: from now on another fiber's code runs. Owner only; thieves and the
    /// monitor read the count.
    void tick() noexcept { ticks_.store(ticks_.load(relaxed) + 1, relaxed); }
    void fill_batch() noexcept;
    /// Called by a thief that has borrowed the worker (tenure.hpp).
    std::uint32_t take_half(control_block** out) noexcept;
    stack_cache& stacks() noexcept { return stacks_; }
    /// When the worker last read the clock: a few milliseconds ago at most, since the monitor makes
    /// every worker that runs poll.
    coarse_time coarse_now() const noexcept { return coarse_now_; }
    fiber_queue& queue() noexcept { return queue_; }
    bool drains() const noexcept { return state_.drains(); }  // WORKER-4

    // Any thread:

    /// Called by the monitor at each look, since bodies may take longer than the worker has learnt.
    void poll_soon() noexcept {
        next_poll_.store(0, relaxed);
        poll_at_.store(0, relaxed);
    }
    /// Wakes a sleeper if one is needed, after work was published.
    void notify() noexcept;
    /// Whether more is queued here than the worker will have run by the time another one is awake.
    /// `more`: the number of fibers that it has taken out of its queues and is about to run.
    bool needs_help(std::uint32_t more = 0) const noexcept {
        return queue_.size() + high_.size() + low_.size() + more > burst_.alone_up_to();
    }
    burst& the_burst() noexcept { return burst_; }
    void wake() noexcept;
    /// Arms a timer for a caller that has no worker.
    void arm_from_outside(timer& t, time_point when) noexcept;
    unsigned index() const noexcept { return index_; }
    timer_heap& timers() noexcept { return timers_; }
    /// \returns the carrier that has the worker, or had it a moment ago (HANDOFF-1).
    carrier* held_by() const noexcept { return held_by_.load(acquire); }  // pairs with be_held_by()
    /// Called by the thread that gives the worker, before the grant.
    // pairs with held_by()
    void be_held_by(carrier& c) noexcept { held_by_.store(&c, release); }
    /// Ordered by the fences of idle_set.
    bool has_work() const noexcept { return !queue_.empty() || !high_.empty() || !low_.empty(); }
    /// A hint: whether it has more than one fiber above the low class; one is enough if the worker
    /// does not dispatch, since that fiber waits behind a long body.
    bool has_above_low(bool dispatches) const noexcept { return queue_.size() + high_.size() > (dispatches ? 1 : 0); }
    // A hint. The monitor's look at all workers is ordered by the fences of somebody_runs().
    bool asleep() const noexcept { return asleep_.load(relaxed); }
    /// \returns the time of its earliest timer, or never if it will wake for that by itself (LEAD-3).
    time_point unminded() const noexcept {
        const auto first = timers_.earliest();
        // LEAD-3; pairs with wake_for_timers_at()
        return first.time_since_epoch().count() < wakes_itself_at_.load(seq_cst) ? first : never;
    }
    time_point last_poll() const noexcept { return time_point(duration(last_poll_.load(relaxed))); }
    int cpu() const noexcept { return cpu_.load(relaxed); }  // a hint; -1: unknown
    std::uint64_t steals() const noexcept { return steals_.load(relaxed); }
    std::uint64_t searches() const noexcept { return searches_.load(relaxed); }
    std::uint64_t sleeps() const noexcept { return sleeps_.load(relaxed); }
    std::uint64_t wakes() const noexcept { return wakes_.load(relaxed); }
    std::uint64_t dispatches() const noexcept { return ticks_.load(relaxed); }
    /// A hint: whether a fiber that a timer or I/O has woken waits in its queue.
    bool delays_woken() const noexcept { return has_work() && dispatches() < woken_until_.load(relaxed); }

private:
    friend class idle_worker;  // idle.cpp: searches, naps and sleeps for the worker
    friend class carrier;  // worker_inline.hpp: spawns
    friend struct debug_layout;
    friend class simulator;  // chooses in place of the worker

    void poll() noexcept;
    // LEAD-3; pairs with unminded()
    void wake_for_timers_at(time_point t) noexcept { wakes_itself_at_.store(t.time_since_epoch().count(), seq_cst); }
    enum class whose { sleepers, everybody };
    void expire_timers_of(whose, time_point now) noexcept;
    void take_in() noexcept;  // as poll(), but notifies no other worker of what has become ready
    void take_in_driver() noexcept;
    void has_polled_driver(time_point now) noexcept;
    bool has_just_polled_driver(time_point now) const noexcept;
    [[gnu::cold]] bool attend() noexcept;
    [[gnu::cold]] void poll_before_pick() noexcept;
    void push(control_block& f) noexcept;
    fiber_queue& queue_of(const control_block& f) noexcept { return queue_of(f.priority()); }
    fiber_queue& queue_of(priority p) noexcept { return p == priority::normal ? queue_ : p == priority::high ? high_ : low_; }
    bool note_class(const control_block& f) noexcept;
    ready_classes ready_here() const noexcept;
    [[gnu::cold]] control_block* pick_by_class() noexcept;
    [[gnu::cold]] void overflow(control_block& f) noexcept;
    [[gnu::cold]] control_block* attend_news() noexcept;
    control_block* pick_pinned() noexcept;
    [[gnu::cold]] void begin_drain() noexcept;
    [[gnu::cold]] void give_all_away() noexcept;
    [[gnu::cold]] void wake_helper() noexcept;

    scheduler& owner_;
    const unsigned index_;
    const bool alone_;  // the only worker: there is no other to wake, and no thief

    // Used by the carrier that has the worker.
    atomic<std::uint64_t> poll_at_;  // counted in dispatches; the monitor sets it to 0
    std::uint32_t poll_every_;
    coarse_time coarse_now_;
    worker_state state_;
    // When it last took fibers from another worker; `never` once their lifetime has been judged.
    time_point stolen_at_ = never;
    std::uint32_t stolen_ = 0;  // how many these were
    time_point ask_again_;  // it leaves busy victims alone until then
    time_point sought_at_{};  // when it last looked elsewhere although it had low fibers
    // When poll() is due, in dispatches; the monitor sets it to 0. WORKER-3: poll_at_ is not later.
    atomic<std::uint64_t> next_poll_;
    class_turns turns_;
    time_point woke_for_timer_{};  // when a timer last ended a sleep
    duration last_sleep_{};  // how long it slept the last time
    time_point driver_polled_at_{};
    std::uint64_t driver_polled_ticks_ = 0;  // ticks_ then
    time_point trim_at_{};  // until then a poll gives no memory back
    duration gap_{};  // how long busy victims are left alone after a tiny theft (ask_again_)
    struct sight {
        std::uint64_t ticks = 0;
        time_point since{};  // when this number of ticks was first seen
    };
    std::vector<sight> seen_;  // what was last seen of each other worker
    stack_cache stacks_;

    // Shared.
    fiber_queue queue_;
    fiber_queue high_, low_;
    burst burst_;
    alignas(64) atomic<std::uint64_t> ticks_{0};  // dispatches; written by the owner
    atomic<std::int64_t> last_poll_;  // written by the owner; a hint for others
    timer_heap timers_;
    parker parker_;
    atomic<carrier*> held_by_{nullptr};
    atomic<bool> asleep_{false};
    // The time for which it wakes by itself, while it sleeps; otherwise never.
    atomic<std::int64_t> wakes_itself_at_{never.time_since_epoch().count()};
    atomic<std::uint64_t> woken_until_{0};  // ticks_ when the last fiber that a poll has woken runs
    atomic<int> cpu_{-1};  // where its carrier was last seen: a hint
    atomic<std::uint64_t> steals_{0}, searches_{0}, sleeps_{0}, wakes_{0};
};

/// \returns the index of the worker that runs the caller, or nothing outside fibers. It is stale
/// after the next park.
std::optional<unsigned> current_worker_index() noexcept;

}  // namespace weft::detail
