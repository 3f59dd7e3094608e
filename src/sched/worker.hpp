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
//   K1  Between a switch and its commit() the fiber left behind is in no queue, and nobody can run it.
//   K2  A fiber is in one place: a next slot, a ring, the injector, running, or waiting (its word says so).
//   K3  A woken fiber goes into the next slot; what was there goes to the ring's tail. After `next_budget` dispatches from the
//       slot in a row the ring has its turn, so two fibers that wake each other cannot own a worker.
//   K4  Whoever makes work visible to others calls notify() afterwards (idle_set.hpp). A thief takes a fiber out of a next slot
//       only if it has seen it wait there `stale_after`, with no dispatch in between.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fiber/block_pool.hpp"
#include "sched/carrier.hpp"
#include "sched/idle_set.hpp"
#include "sched/parker.hpp"
#include "sched/ring.hpp"
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
    /// Arms a timer of the calling fiber.
    void arm(timer& t, time_point when) noexcept;
    block_cache& blocks() noexcept { return blocks_; }
    void count_birth() noexcept { born_.store(born_.load(relaxed) + 1, relaxed); }  // written by the owner only

    // Any thread:

    void wake() noexcept;
    unsigned index() const noexcept { return index_; }
    timer_heap& timers() noexcept { return timers_; }
    bool has_work() const noexcept { return !ring_.empty() || next_.load(relaxed); }  // ordered by idle_set's fences
    bool asleep() const noexcept { return asleep_.load(relaxed); }                    // a hint
    int cpu() const noexcept { return cpu_.load(relaxed); }                           // a hint; -1: unknown
    std::uint64_t born() const noexcept { return born_.load(acquire); }
    std::uint64_t ended() const noexcept { return ended_.load(acquire); }  // pairs with the release in finish()
    std::uint64_t steals() const noexcept { return steals_.load(relaxed); }
    std::uint64_t parks() const noexcept { return parks_.load(relaxed); }
    std::uint64_t sleeps() const noexcept { return sleeps_.load(relaxed); }
    std::uint64_t dispatches() const noexcept { return ticks_.load(relaxed); }

private:
    friend class idle_worker;  // idle.cpp: searching, napping and sleeping

    using fiber_ring = ring<control_block>;
    enum class afterwards : std::uint8_t { nothing, requeue, commit_park, free_stack, free_own_stack };

    static void loop(void* stack_of_loop) noexcept;        // bottom frame of pooled stacks
    static void loop_once(void* fiber_with_own_stack) noexcept;  // bottom frame of stacks of other sizes
    static void run_body(control_block& f) noexcept;
    [[noreturn]] static void go_on(worker& w, carrier& c, afterwards how, stack* leaving, control_block* next) noexcept;
    void switch_away(control_block& self, control_block* next) noexcept;
    context& fresh_loop(control_block* picked) noexcept;
    bool give_own_stack(control_block& f) noexcept;
    void commit() noexcept;
    void finish(control_block& f) noexcept;

    control_block* pick() noexcept;
    control_block* take_next() noexcept;
    void dispatch(carrier& c, control_block& f) noexcept;
    void poll() noexcept;
    void notify() noexcept;
    void overflow(control_block& f) noexcept;

    scheduler& owner_;
    const unsigned index_;

    // The carrier's own.
    afterwards after_ = afterwards::nothing;
    void* after_what_ = nullptr;
    control_block* picked_ = nullptr;   // for the loop that starts next
    context fresh_;                     // of the loop that starts next
    std::uint32_t next_budget_;
    std::uint32_t until_poll_, poll_every_;
    time_point last_poll_;
    bool taking_in_ = false;            // a batch of wake-ups: keep their order, notify once at its end
    bool timer_is_news_ = false;        // armed or kept while others sleep and may not know of it
    bool searching_ = false;            // counted by idle_set
    bool spin_ = false;                 // work was found lately, so a short wait may be worth it
    stack_cache stacks_;
    block_cache blocks_;

    // Shared.
    fiber_ring ring_;
    alignas(64) atomic<control_block*> next_{nullptr};
    atomic<std::uint64_t> ticks_{0};    // dispatches; written by the owner
    timer_heap timers_;
    parker parker_;
    atomic<bool> asleep_{false};
    atomic<int> cpu_{-1};               // where its carrier was last seen: a hint
    atomic<std::uint64_t> born_{0}, ended_{0}, steals_{0}, parks_{0}, sleeps_{0};

    // A thief's memory of the next slot of each other worker, as it was when last looked at (K4).
    struct sight { const control_block* fiber = nullptr; std::uint64_t tick = 0; time_point since; };
    std::vector<sight> seen_;
};

/// The index of the worker that runs the caller, or nothing outside fibers. Stale after the next park.
std::optional<unsigned> current_worker_index() noexcept;

}  // namespace weft::detail
