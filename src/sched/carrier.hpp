// carrier.hpp - an OS thread that runs fibers, and the one way to find it.
//
// A carrier has one worker or none: the monitor may take it away while the carrier runs a fiber's own code (tenure.hpp;
// docs/design/handoff.md, whose rules H1 to H10 are meant below). How it goes round:
//
//     home  (the thread's own stack): has a worker: begin a loop; has none: run a demoted fiber, or wait for a worker
//     loop  (bottom frame of every pooled stack): commit; take a fiber; if it has been started, leave this stack to it;
//                                                  else run its body right here: the stack is its own if it parks
//     park:   pick the next fiber and switch to it directly, or to a loop on a fresh stack if there is none or it is new; without a
//             worker go home
//     commit: the code that runs after a switch, on whichever stack, settles what the fiber before it asked for: only then
//             is that fiber's stack free
//
// A fiber may be on another carrier whenever its code goes on after a park, and its carrier on another worker, or on none, at any
// call: so nobody keeps a carrier across a park, or a worker from one visit to the next.
//
// Invariants
//   K1  Between a switch and its commit() nobody can run the fiber left behind, although it may be queued already (W4).
//   K2  A fiber is in one place: a run queue, the injector, the demoted, running, or waiting (its word says so).
//   K5  A fiber that joins in place, or runs a new one inside itself, is in no queue and in no wait; it goes on when the child's
//       body returns to it, on whichever carrier. A stop of it is handed on to the child (scheduler::stop_in_place_child). It joins so
//       only if it cannot be interrupted meanwhile by anything else (no deadline, no shield), and has half of its stack left.
//   K6  current is written on visits only, and is null whenever the carrier uses its worker outside of visits (H3).
#pragma once

#include <cstdint>
#include <thread>

#include "arch/context.hpp"
#include "arch/thread_word.hpp"
#include "fiber/block_pool.hpp"
#include "sched/idle/placement.hpp"
#include "sched/injector.hpp"
#include "sched/monitor/thread_probe.hpp"
#include "sched/tenure.hpp"

namespace weft::detail {

class worker;
class scheduler;
class timer;
struct stack;

class alignas(64) carrier {
public:
    /// With a worker from the start, or without, to be granted one.
    carrier(scheduler& owner, worker* first, unsigned number) noexcept;
    carrier(const carrier&) = delete;
    carrier& operator=(const carrier&) = delete;

    /// Starts its thread; another one, if its last has ended by itself (O4). \throws std::system_error
    void start_thread();
    void join_thread() noexcept {
        if (thread_.joinable()) thread_.join();
    }

    class visit;

    // Its own thread:

    scheduler& owner() const noexcept { return owner_; }
    block_cache& blocks() noexcept { return blocks_; }
    placement& place() noexcept { return place_; }
    /// The worker it has, or had when it was last inside; null if none: a hint.
    const worker* worker_hint() noexcept { return has_worker() ? &its_worker() : nullptr; }

    /// A new fiber.
    void start(control_block& f) noexcept;
    /// The same of one that may begin in any place (rare_place).
    void start_common(control_block& f) noexcept;
    /// A fiber that was waiting.
    void ready(control_block& f) noexcept;
    /// The same of one that is not normal.
    void ready_in_class(control_block& f) noexcept;
    /// Gives the block back if its handle had the only reference. False: nothing was done.
    bool free_after_handle(control_block& f) noexcept;

    // The same, for the calling fiber `self`:

    /// A wait begins, and the visit in which it parks (H10): leave(), or park().
    void enter_wait(control_block& self) noexcept {
        if (!holder().try_enter()) [[unlikely]]
            enter_wait_attentively(self);
    }
    /// Inside, when its wait has begun. Returns when it has been unparked, perhaps elsewhere.
    void park(control_block& self) noexcept;
    /// Inside: arms a timer of its wait.
    void arm(timer& t, time_point when) noexcept;
    /// Lets other fibers run first, if there are any.
    static void yield(control_block& self) noexcept;
    /// The caller joins by running: if `child`, whose handle it has, is unstarted at the back of the worker's queue, its body runs now, on the
    /// caller's stack, but as itself. False: it must be waited for.
    static bool join_in_place(control_block& child) noexcept;
    /// Destroys the result of a child joined so, and gives the block back (F5).
    static void free_joined(control_block& child) noexcept;
    /// Whether run_inline() has the stack it needs. Lets others run first, now and then.
    static bool can_run_inline(control_block& self) noexcept;
    /// Runs the unstarted `child` from beginning to end on the stack of `self`, but as itself.
    static void run_inline(control_block& self, control_block& child) noexcept;

    void leave() noexcept { holder().leave(); }

    // Any thread:

    /// Those that are bound to this carrier and ready (bound.hpp).
    injector<control_block>& bound() noexcept { return bound_; }
    bool has_bound() const noexcept { return !bound_.empty(); }  // ordered by the fences of who is about to sleep
    tenure<worker>& hold() noexcept { return hold_; }
    control_block* current() const noexcept { return current_.load(relaxed); }  // of others a hint, but for the monitor (H3)
    /// The same for who looks into it: type-stable, and made before it came here.
    const control_block* seen_current() const noexcept { return current_.load(acquire); }  // pairs with dispatch()
    /// Of no thread while its own is about to start.
    thread_probe probe() const noexcept { return probe_.load(relaxed); }  // a number and a clock
    std::uint64_t born() const noexcept { return born_.load(acquire); }
    std::uint64_t ended() const noexcept { return ended_.load(acquire); }  // pairs with the release in count_end()
    std::uint64_t parks() const noexcept { return parks_.load(relaxed); }
    void count_bound(int n) noexcept { bound_count_.fetch_add(static_cast<unsigned>(n), seq_cst); }
    bool is_bound_to() const noexcept { return bound_count_.load(seq_cst) != 0; }
    /// It has no worker before it is no longer reserved (B5 of bound.hpp).
    bool is_reserved() const noexcept { return is_reserved_.load(seq_cst); }
    void reserve(bool yes) noexcept { is_reserved_.store(yes, seq_cst); }
    /// The monitor: takes away the place of a demoted fiber that has run since `t` or before. True: the place is its to give back.
    bool vacate_place_since(time_point t) noexcept;
    /// The monitor, before it takes the worker, or after the demand was refused: its slice is that of a hog, or not.
    void note_long_slice(bool is_long) noexcept { has_long_slice_.store(is_long, relaxed); }  // ordered by the loss
    bool has_long_slice() const noexcept { return has_long_slice_.load(relaxed); }  // a hint
    /// Its thread is nicer than others and may stay so: it gets no worker (N1 of monitor.hpp). Under the lock of the spares.
    void note_nice(bool is_nice) noexcept { is_nice_.store(is_nice, relaxed); }
    bool is_nice() const noexcept { return is_nice_.load(relaxed); }
    /// Its thread has ended, what the program keeps for each thread included.
    bool has_no_thread() const noexcept { return has_lived_.load(relaxed) && !probe().cpu(); }  // a hint: who starts the next one joins it
    /// The monitor: since when its fiber has run.
    void note_alone_since(time_point t) noexcept { alone_since_.store(t.time_since_epoch().count(), relaxed); }
    /// While it has no worker: since when the fiber it runs has run; names that stretch. A hint.
    time_point alone_since() const noexcept { return time_point(duration(alone_since_.load(relaxed))); }

private:
    friend class worker;
    friend struct debug_layout;

    using holding = tenure<worker>::holder;
    enum class afterwards : std::uint8_t { nothing, commit_park, requeue, free_stack, free_own_stack };
    enum class after_body : std::uint8_t { run_refers, gone, last };

    holding holder() noexcept { return holding(hold_); }
    bool has_worker() noexcept { return holder().has_worker(); }
    worker& its_worker() noexcept { return holder().worker(); }
    /// \returns whether it has a worker.
    [[gnu::always_inline]] bool enter(on_demand what) noexcept {
        if (holder().try_enter()) [[likely]]
            return true;
        return enter_attentively(what);
    }
    [[gnu::cold]] bool enter_attentively(on_demand what) noexcept;
    [[gnu::cold]] void enter_wait_attentively(control_block& self) noexcept;
    [[gnu::cold]] void start_inside(control_block& f) noexcept;
    [[gnu::cold]] void start_attentively(control_block& f) noexcept;
    [[gnu::cold]] void start_rare(control_block& f) noexcept;

    // The thread's life, on its own stack.
    void live() noexcept;
    void be_a_worker() noexcept;
    control_block* take_demoted() noexcept;
    void run_demoted(control_block& f) noexcept;
    void run_bound(control_block& f) noexcept;


    // Running fibers.
    static void loop(void* stack_of_loop) noexcept;  // bottom frame of pooled stacks
    static void loop_once(void* fiber_with_own_stack) noexcept;  // bottom frame of stacks of other sizes
    static void run_body(control_block& f) noexcept;
    static after_body body_ended(control_block& f) noexcept;
    static bool body_failed(control_block& f) noexcept;
    static void wake_joiners(control_block& f) noexcept;
    void finish(control_block& f, after_body how, bool has_worker) noexcept;
    void recycle(control_block& f) noexcept;
    void count_end() noexcept;
    void give_back_room() noexcept;
    [[gnu::cold]] static bool end_observed(control_block& f) noexcept;

    // Running a fiber inside another.
    static bool run_body_in_place(control_block& f) noexcept;
    static void run_inlined_body(control_block& f) noexcept;
    void begin_in_place(control_block& self, control_block& child) noexcept;
    bool take_back(control_block& self, control_block& child) noexcept;
    void end_in_place(control_block& self) noexcept;

    // Switching. All of them inside.
    void leave_for(worker& w, control_block& self, control_block* next) noexcept;
    void leave_for_home(control_block& self, afterwards how) noexcept;
    void park_at_home(control_block& self) noexcept;
    [[noreturn]] void go_on(worker& w, afterwards how, stack* leaving, control_block* next) noexcept;
    [[noreturn]] void go_home(afterwards how, stack* leaving) noexcept;
    static void arrive() noexcept;
    void arrive_and_commit() noexcept;
    void leave_for_loop(worker& w, control_block& self, control_block* next) noexcept;
    [[gnu::noinline]] void yield_otherwise(control_block& self) noexcept;
    void dispatch(worker& w, control_block& f) noexcept;
    context& resume(worker& w, control_block& f) noexcept;
    [[gnu::cold]] void yield_anyhow(worker& w, control_block& self) noexcept;
    context& fresh_loop(worker& w, control_block* picked) noexcept;
    bool give_own_stack(control_block& f) noexcept;
    control_block* wait_for_work(worker& w) noexcept;
    void commit() noexcept;
    void requeue(control_block& f) noexcept;

    tenure<worker> hold_;
    atomic<control_block*> current_{nullptr};  // the fiber whose code runs (K6)
    scheduler& owner_;
    afterwards after_ = afterwards::nothing;
    void* after_what_ = nullptr;
    control_block* picked_ = nullptr;  // for the loop that starts next
    context fresh_;  // of the loop that starts next
    block_cache blocks_;
    atomic<std::uint64_t> born_{0}, ended_{0}, parks_{0};
    std::uint32_t inlined_ = 0;  // fibers run by run_inline()
    context own_;  // home: left whenever a fiber or a loop runs
    atomic<bool> has_long_slice_{false}, has_place_{false};  // has_place_: among the demoted; see demotion.hpp
    atomic<std::int64_t> alone_since_{0};  // by the monitor while it has a worker, by its own thread while it has none
    placement place_;
    injector<control_block> bound_;  // B2 of bound.hpp
    atomic<unsigned> bound_count_{0};
    atomic<bool> is_nice_{false}, has_lived_{false};
    atomic<bool> is_reserved_{false};  // it never has a worker: it is the carrier of one fiber alone
    atomic<thread_probe> probe_{thread_probe()};
    const unsigned number_;  // for its thread's name
    std::thread thread_;
};

WEFT_DECLARE_THREAD_WORD(weft_carrier_word);

/// The carrier of this OS thread, or null on a plain thread. Read anew at each call, whatever the compiler thinks.
inline carrier* this_carrier() noexcept {
    void* word;
    WEFT_READ_THREAD_WORD(word, weft_carrier_word);
    return static_cast<carrier*>(word);
}

/// The thread's own, when it begins and ends to be one.
void set_this_carrier(carrier* c) noexcept;

/// The same, if it is one of `where`.
inline carrier* this_carrier_of(const scheduler* where) noexcept {
    auto* const c = this_carrier();
    return c && &c->owner() == where ? c : nullptr;
}

/// The calling fiber, or null.
inline control_block* this_fiber_block() noexcept {
    const auto* const c = this_carrier();
    return c ? c->current() : nullptr;
}

/// A stretch of runtime code on this carrier, with its worker if it has one. Inside another visit it changes nothing.
class carrier::visit {
public:
    explicit visit(carrier& c, on_demand what = on_demand::refuse) noexcept : c_(c), nested_(c.holder().is_inside()) {
        has_worker_ = nested_ ? c.has_worker() : c.enter(what);
    }
    ~visit() {
        if (!nested_) c_.leave();
    }
    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;

    bool has_worker() const noexcept { return has_worker_; }
    worker& its_worker() const noexcept { return c_.its_worker(); }

private:
    carrier& c_;
    const bool nested_;
    bool has_worker_;
};

}  // namespace weft::detail
