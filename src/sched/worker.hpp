// worker.hpp - the right to run fibers: one run queue, one heap of timers, one store of stacks and records.
//
// A worker is data. It belongs to the carrier it is lent to while that carrier is inside the runtime; what others may touch
// is said at each member. How it goes round:
//
//     loop (bottom frame of every pooled stack): commit; take a fiber; if it has been started, leave this stack to it;
//                                                 else run its body right here: the stack is its own if it parks
//     park:   pick the next fiber and switch to it directly, or to a loop on a fresh stack if there is none or it is new
//     commit: the code that runs after a switch, on whichever stack, settles what the fiber before it asked for: only then
//             is that fiber's stack free
//
// Invariants
//   K1  Between a switch and its commit() nobody can run the fiber left behind, although it may be queued already (W4).
//   K2  A fiber is in one place: a run queue, the injector, running, or waiting (its word says so).
//   K3  A woken fiber goes into the queue's next slot (run_queue.hpp), so a conversation stays on one worker and warm.
//   K4  Whoever makes work visible to others calls notify() afterwards (idle_set.hpp).
//   K5  A fiber that joins in place is in no queue and in no wait; it goes on when the child's body returns to it, on whichever
//       carrier. A stop of it is handed on to the child (scheduler::stop_in_place_child). It begins so only if it cannot be
//       interrupted meanwhile by anything else (no deadline, no shield), and has half of its stack left.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fiber/block_pool.hpp"
#include "sched/carrier.hpp"
#include "sched/idle_set.hpp"
#include "sched/parker.hpp"
#include "sched/run_queue.hpp"
#include "sched/timer_heap.hpp"
#include "stack/stack_cache.hpp"

namespace weft::detail {

class worker {
public:
    worker(scheduler& owner, unsigned index);
    ~worker();
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;

    /// The carrier's whole life with this worker: runs fibers until the scheduler stops.
    void run(carrier& on) noexcept;

    // The carrier that has this worker, inside the runtime:

    /// Parks the calling fiber, whose wait has begun. Returns when it has been unparked, perhaps elsewhere.
    void park(control_block& self) noexcept;
    /// Lets other fibers run first, if there are any.
    void yield(control_block& self) noexcept;
    /// A fiber that was waiting: runs next (K3), or in its turn while a batch of wake-ups is taken in.
    void ready(control_block& f) noexcept;
    /// A new fiber, or one that yields: behind the others.
    void enqueue(control_block& f) noexcept;
    /// Joins by running: if `child` is unstarted at the back of this worker's queue, its body runs now, on the stack of `self`,
    /// which is the calling fiber, but as itself. False: it must be waited for.
    bool join_in_place(control_block& self, control_block& child) noexcept;
    /// Whether run_inline() has the stack it needs. Lets others run first, now and then.
    bool can_run_inline(control_block& self) noexcept;
    /// Runs the unstarted `child` from beginning to end on the stack of `self`, the calling fiber, but as itself.
    static void run_inline(control_block& self, control_block& child) noexcept;
    /// The body has thrown: tells the scope, or reports. \returns whether the siblings are to be stopped.
    static bool body_failed(control_block& f) noexcept;
    /// Arms a timer of the calling fiber.
    void arm(timer& t, time_point when) noexcept;
    block_cache& blocks() noexcept { return blocks_; }
    /// Gives the block back if its handle had the only reference. False: nothing was done.
    bool free_after_handle(control_block& f) noexcept;
    /// A new fiber.
    void start(control_block& f) noexcept;

    // Any thread:

    void wake() noexcept;
    unsigned index() const noexcept { return index_; }
    timer_heap& timers() noexcept { return timers_; }
    void await_outside() const noexcept { queue_.await_outside(); }
    bool has_work() const noexcept { return !queue_.empty(); }  // ordered by idle_set's fences
    bool asleep() const noexcept { return asleep_.load(relaxed); }                    // a hint
    int cpu() const noexcept { return cpu_.load(relaxed); }                           // a hint; -1: unknown
    std::uint64_t born() const noexcept { return born_.load(acquire); }
    std::uint64_t ended() const noexcept { return ended_.load(acquire); }  // pairs with the release in finish()
    std::uint64_t steals() const noexcept { return steals_.load(relaxed); }
    std::uint64_t parks() const noexcept { return parks_.load(relaxed); }
    std::uint64_t searches() const noexcept { return searches_.load(relaxed); }
    std::uint64_t sleeps() const noexcept { return sleeps_.load(relaxed); }
    std::uint64_t wakes() const noexcept { return wakes_.load(relaxed); }
    std::uint64_t dispatches() const noexcept { return ticks_.load(relaxed); }

private:
    friend class idle_worker;  // idle.cpp: searching, napping and sleeping

    using fiber_queue = run_queue<control_block>;
    class visit;
    enum class afterwards : std::uint8_t { nothing, commit_park, free_stack, free_own_stack };

    static void loop(void* stack_of_loop) noexcept;        // bottom frame of pooled stacks
    static void loop_once(void* fiber_with_own_stack) noexcept;  // bottom frame of stacks of other sizes
    enum class after_body : std::uint8_t { run_refers, gone, last };
    static after_body run_body(control_block& f) noexcept;
    static void run_body_in_place(control_block& f) noexcept;
    static void wake_joiners(control_block& f) noexcept;
    [[noreturn]] static void go_on(worker& w, carrier& c, afterwards how, stack* leaving, control_block* next) noexcept;
    void leave_for(control_block& self, control_block* next) noexcept;
    context& fresh_loop(control_block* picked) noexcept;
    bool give_own_stack(control_block& f) noexcept;
    void commit() noexcept;
    void finish(control_block& f, after_body how) noexcept;
    void recycle(control_block& f) noexcept;
    [[gnu::cold]] static bool end_observed(control_block& f) noexcept;
    void end_in_place(control_block& self, control_block& child) noexcept;

    control_block* pick() noexcept;
    control_block* pick_inside() noexcept;
    void dispatch(carrier& c, control_block& f) noexcept;
    context& resume(carrier& c, control_block& f) noexcept;
    void poll() noexcept;
    void push(control_block& f) noexcept;
    [[gnu::cold]] void overflow(control_block& f) noexcept;
    void notify() noexcept;
    control_block* wait_for_work() noexcept;

    scheduler& owner_;
    const unsigned index_;
    const bool alone_;                  // the only worker: nobody to wake or to be robbed by

    // The carrier's own.
    afterwards after_ = afterwards::nothing;
    void* after_what_ = nullptr;
    control_block* picked_ = nullptr;   // for the loop that starts next
    context fresh_;                     // of the loop that starts next
    std::uint64_t poll_at_;             // dispatches
    std::uint32_t poll_every_;
    time_point last_poll_;
    bool taking_in_ = false;            // a batch of wake-ups: keep their order, notify once at its end
    bool timer_is_news_ = false;        // armed or kept while others sleep and may not know of it
    bool searching_ = false;            // counted by idle_set
    time_point looted_at_ = never;      // when fibers of another worker were taken over, until it is known how long they lasted
    time_point ask_again_;              // busy victims are left alone until then
    time_point woke_for_timer_{};       // when a sleep last ended by a timer
    duration gap_{};                    // how long that was the last time
    struct sight {
        std::uint64_t ticks = 0;
        time_point since{};             // when they were seen first
    };
    std::vector<sight> seen_;           // of each other worker, when last looked at
    std::uint32_t inlined_ = 0;         // fibers run by run_inline()
    bool spin_ = false;                 // work was found lately, so a short wait may be worth it
    stack_cache stacks_;
    block_cache blocks_;

    // Shared.
    fiber_queue queue_;
    alignas(64) atomic<std::uint64_t> ticks_{0};  // dispatches; written by the owner
    timer_heap timers_;
    parker parker_;
    atomic<bool> asleep_{false};
    atomic<int> cpu_{-1};               // where its carrier was last seen: a hint
    atomic<std::uint64_t> born_{0}, ended_{0}, steals_{0}, parks_{0}, searches_{0}, sleeps_{0}, wakes_{0};
};

// The worker's visit to its own queue (run_queue.hpp), inside another visit if there is one.
class worker::visit {
public:
    explicit visit(worker& w) noexcept : queue_(w.queue_), nested_(queue_.is_inside()) {
        if (!nested_) queue_.enter();
    }
    ~visit() {
        if (!nested_) queue_.leave();
    }
    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;

private:
    fiber_queue::owner queue_;
    const bool nested_;
};

/// The index of the worker that runs the caller, or nothing outside fibers. Stale after the next park.
std::optional<unsigned> current_worker_index() noexcept;

}  // namespace weft::detail
