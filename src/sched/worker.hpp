// worker.hpp - the right to run fibers: one run queue, one heap of timers, one store of stacks.
//
// A worker is data. It belongs to the carrier that has it, while that carrier is inside the runtime (tenure.hpp); what others may
// touch is said at each member.
//
// Invariants
//   K3  A woken fiber goes into the queue's next slot (run_queue.hpp), so a conversation stays on one worker and warm.
//   K4  Whoever makes work visible to others calls notify() afterwards (idle_set.hpp).
//   K7  A ready fiber is in the queue of its class. queue_, the normal one's, is all that the common way looks at: while a fiber of another
//       class is queued here or such a class has its turn, attends_ holds, and then has_news_, and poll_at_ is not after the end of the
//       turn. So each pick() comes to pick_by_class(), and who goes past pick() asks poll_if_due() or poll_is_due().
//   K8  A worker that is to go, because too many are awake (idle_set.hpp, I7), learns it at a poll. Until it has nothing left to run each
//       pick() puts what it has into the injector and finds nothing; who yields goes there when its stack is left, by the pick() after.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fiber/block_pool.hpp"
#include "sched/carrier.hpp"
#include "sched/class_turns.hpp"
#include "sched/idle/idle_set.hpp"
#include "sched/idle/parker.hpp"
#include "sched/run_queue.hpp"
#include "sched/timer_heap.hpp"
#include "stack/stack_cache.hpp"

namespace weft::detail {

class worker {
public:
    using fiber_queue = run_queue<control_block>;

    worker(scheduler& owner, unsigned index);
    ~worker();
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;

    // Inside a visit of the carrier that has it:

    /// A fiber that was waiting: runs next (K3), or in its turn while a batch of wake-ups is taken in.
    void ready(control_block& f) noexcept;
    /// The same of any class.
    void ready_in_class(control_block& f) noexcept;
    /// A new fiber, or one that yields, of any class: behind the others.
    void enqueue(control_block& f) noexcept;
    /// The next to run, or null.
    control_block* pick() noexcept;
    /// Arms a timer of a fiber that runs here.
    void arm(timer& t, time_point when) noexcept;
    /// \returns whether somebody has the next turn who is not in the queue of the caller's class: then the caller goes by pick().
    bool poll_if_due() noexcept {
        if (!poll_is_due()) [[likely]]
            return false;
        return attend();
    }
    bool poll_is_due() const noexcept { return ticks_.load(relaxed) >= poll_at_.load(relaxed); }
    /// Of any class, to the back, for who is about to pick(), or to notify. False: no memory; the caller keeps it.
    bool put_back(control_block& f) noexcept { return queue_of(f).push(f) && note_class(f); }
    void place(control_block& f) noexcept {
        if (!put_back(f)) [[unlikely]]
            overflow(f);
    }
    /// The next to run: `f`, which has come from elsewhere, or another if it is not its turn.
    control_block* begin_with(control_block& f) noexcept;
    /// As run_queue::take_back(), of a class that is not normal.
    bool take_back_of_class(const control_block& f) noexcept { return f.is_classed() && queue_of(f).take_back(f); }
    /// Another fiber's code runs from now on.
    void tick() noexcept { ticks_.store(ticks_.load(relaxed) + 1, relaxed); }  // owner only; read by thieves and the monitor
    void fill_tray() noexcept;
    /// A thief that has borrowed.
    std::uint32_t take_half(control_block** out) noexcept;
    stack_cache& stacks() noexcept { return stacks_; }
    /// When it has last read the clock: some milliseconds ago at most, since the monitor lets no worker that runs go for longer.
    coarse_time coarse_now() const noexcept { return coarse_now_; }
    fiber_queue& queue() noexcept { return queue_; }
    bool stands_down() const noexcept { return stands_down_; }

    // Any thread:

    /// The monitor, at each look: bodies may be longer than the worker has learnt. A hint.
    void poll_soon() noexcept {
        next_poll_.store(0, relaxed);
        poll_at_.store(0, relaxed);
    }
    /// After work was published.
    void notify() noexcept;
    void wake() noexcept;
    /// Arms a timer for who has no worker.
    void arm_from_outside(timer& t, time_point when) noexcept;
    unsigned index() const noexcept { return index_; }
    timer_heap& timers() noexcept { return timers_; }
    /// Who has it, or had it a moment ago (H1).
    carrier* held_by() const noexcept { return held_by_.load(acquire); }  // pairs with be_held_by()
    /// The giver, before the grant.
    void be_held_by(carrier& c) noexcept { held_by_.store(&c, release); }
    bool has_work() const noexcept { return !queue_.empty() || !high_.empty() || !low_.empty(); }  // ordered by idle_set's fences
    /// A hint: whether it has more than one fiber above the low class, or one that waits behind a long body.
    bool has_above_low(bool dispatches) const noexcept { return queue_.size() + high_.size() > (dispatches ? 1 : 0); }
    bool asleep() const noexcept { return asleep_.load(relaxed); }  // a hint
    int cpu() const noexcept { return cpu_.load(relaxed); }  // a hint; -1: unknown
    std::uint64_t steals() const noexcept { return steals_.load(relaxed); }
    std::uint64_t searches() const noexcept { return searches_.load(relaxed); }
    std::uint64_t sleeps() const noexcept { return sleeps_.load(relaxed); }
    std::uint64_t wakes() const noexcept { return wakes_.load(relaxed); }
    std::uint64_t dispatches() const noexcept { return ticks_.load(relaxed); }

private:
    friend class idle_worker;  // idle.cpp: searching, napping and sleeping
    friend class carrier;  // worker_inline.hpp: spawns
    friend struct debug_layout;
    friend class simulator;  // which takes its place in choosing

    void poll() noexcept;
    void take_in() noexcept;  // the same, but nobody is told of what has become ready
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
    [[gnu::cold]] void stand_down() noexcept;
    [[gnu::cold]] void give_all_away() noexcept;

    scheduler& owner_;
    const unsigned index_;
    const bool alone_;  // the only worker: nobody to wake or to be robbed by

    // The carrier's own.
    atomic<std::uint64_t> poll_at_;  // dispatches; 0 by the monitor
    std::uint32_t poll_every_;
    time_point last_poll_;
    coarse_time coarse_now_;
    bool taking_in_ = false;  // a batch of wake-ups: keep their order, notify once at its end
    // A timer was armed while others sleep and may not know of it, its carrier has fibers of its own, or K7.
    bool has_news_ = false;
    bool bound_has_turn_ = false;  // once per poll: B4 of bound.hpp
    bool bound_went_last_ = false;
    bool attends_ = false;  // K7
    bool stands_down_ = false;  // K8
    bool seeks_better_ = false;  // it has low fibers only: it is to look for others elsewhere before it runs them
    bool searching_ = false;  // counted by idle_set
    time_point looted_at_ = never;  // when fibers of another worker were taken over, until it is known how long they lasted
    time_point ask_again_;  // busy victims are left alone until then
    time_point sought_at_{};  // when it looked elsewhere last, though it had low fibers
    atomic<std::uint64_t> next_poll_;  // dispatches, 0 by the monitor: when poll() is due. poll_at_ is that, or earlier (K7)
    class_turns turns_;
    time_point woke_for_timer_{};  // when a sleep last ended by a timer
    duration gap_{};  // how long that was the last time
    struct sight {
        std::uint64_t ticks = 0;
        time_point since{};  // when they were seen first
    };
    std::vector<sight> seen_;  // of each other worker, when last looked at
    bool spin_ = false;  // work was found lately, so a short wait may be worth it
    stack_cache stacks_;

    // Shared.
    fiber_queue queue_;
    fiber_queue high_, low_;
    alignas(64) atomic<std::uint64_t> ticks_{0};  // dispatches; written by the owner
    timer_heap timers_;
    parker parker_;
    atomic<carrier*> held_by_{nullptr};
    atomic<bool> asleep_{false};
    atomic<int> cpu_{-1};  // where its carrier was last seen: a hint
    atomic<std::uint64_t> steals_{0}, searches_{0}, sleeps_{0}, wakes_{0};
};

/// The index of the worker that runs the caller, or nothing outside fibers. Stale after the next park.
std::optional<unsigned> current_worker_index() noexcept;

}  // namespace weft::detail
