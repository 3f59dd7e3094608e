// carrier.hpp - an OS thread that runs fibers, and the one way to find it.
//
// A carrier has one worker or none: the monitor may take the worker away while the carrier runs a
// fiber's own code (tenure.hpp; docs/design/handoff.md, whose rules HANDOFF-1 to HANDOFF-10 are
// cited below). The carrier goes round as follows:
//
//     home    The thread's own stack. With a worker: begin a loop. Without: run a pinned or a
//             demoted fiber, or wait for a worker.
//     loop    The bottom frame of every pooled stack. Commit, then take a fiber. If it has been
//             started, leave this stack and switch to it; else run its body right here, and if it
//             parks, it keeps this stack.
//     park    Pick the next fiber and switch to it directly; if there is none or it is new, switch
//             to a loop on a fresh stack. Without a worker, go home.
//     commit  The code that runs after a switch, on whichever stack. It settles what the previous
//             fiber asked for; only then is that fiber's stack free.
//
// After a park a fiber may run on another carrier, and at any call its carrier may have another
// worker or none. So do not keep a carrier across a park, or a worker from one visit to the next.
//
// Invariants
//   CARRIER-1  Between a switch and its commit() no carrier can run the fiber left behind, although
//              it may be queued already (WAIT_WORD-4).
//   CARRIER-2  A fiber is in one place: in a run queue, in a batch, in the injector, in its
//              carrier's queue of pinned fibers, among the demoted, running, or waiting (its word
//              says so).
//   CARRIER-3  A fiber that joins in place, or runs a new one inside itself, is in no queue and in
//              no wait; it goes on when the child's body returns to it, on whichever carrier. A
//              stop of it is passed on to the child (stop_in_place_child()). It joins in place only
//              if nothing else can interrupt it meanwhile (no deadline, no shield) and half of its
//              stack is left.
//   CARRIER-4  current_ is written on visits only, and is null whenever the carrier uses its worker
//              outside of visits (HANDOFF-3).
#pragma once

#include <cstdint>
#include <thread>

#include "arch/context.hpp"
#include "arch/thread_word.hpp"
#include "fiber/block_pool.hpp"
#include "sched/idle/placement.hpp"
#include "sched/idle/preempted.hpp"
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
    /// Makes a carrier that has `first`, or (null) one that has no worker and waits for a grant.
    carrier(scheduler& owner, worker* first, unsigned number) noexcept;
    carrier(const carrier&) = delete;
    carrier& operator=(const carrier&) = delete;

    /// Starts its thread, or a new one if the last one has ended by itself (CARRIER_POOL-3).
    /// \throws std::system_error
    void start_thread();
    void join_thread() noexcept {
        if (thread_.joinable()) thread_.join();
    }

    class visit;

    // To be called by its own thread:

    scheduler& owner() const noexcept { return owner_; }
    block_cache& blocks() noexcept { return blocks_; }
    placement& affinity() noexcept { return affinity_; }
    preempted& preemptions() noexcept { return preemptions_; }
    std::uint64_t& choices() noexcept { return choices_; }
    /// \returns the worker it has, or had when it was last inside; null if none. A hint.
    const worker* worker_hint() noexcept { return has_worker() ? &its_worker() : nullptr; }

    /// Makes a new fiber runnable.
    void start(control_block& f) noexcept;
    /// As start(), for a fiber that is neither pinned nor of another class nor needs its own stack
    /// (no bit of rare_place).
    void start_common(control_block& f) noexcept;
    /// Runs a new fiber at once: the calling fiber goes into the next slot of the worker, so that it
    /// runs next unless a thief takes it, and the carrier switches to `f`. Starts `f` as start()
    /// does where there is no fiber or no worker that could give way, or `f` is pinned elsewhere.
    /// Returns perhaps on another carrier.
    void start_now(control_block& f) noexcept;
    /// Makes a fiber runnable that was waiting.
    void ready(control_block& f) noexcept;
    /// As ready(), for a fiber of any class.
    void ready_in_class(control_block& f) noexcept;
    /// Gives the block back if its handle had the only reference. False: nothing was done.
    bool free_after_handle(control_block& f) noexcept;

    // To be called by its own thread for the calling fiber `self`:

    /// Begins a wait and the visit in which it parks (HANDOFF-10). The visit ends by park() or
    /// leave().
    void enter_wait(control_block& self) noexcept {
        if (!holder().try_enter()) [[unlikely]]
            enter_wait_attentively(self);
    }
    /// Inside, after the wait has begun. Returns when unparked, perhaps on another carrier.
    void park(control_block& self) noexcept;
    /// Inside: arms a timer of the fiber's wait.
    void arm(timer& t, time_point when) noexcept;
    /// Lets other fibers run first, if there are any.
    static void yield(control_block& self) noexcept;
    /// Joins by running: if `child`, whose handle the caller has, is unstarted and at the back of
    /// the worker's queue, its body runs now, on the caller's stack but under its own identity.
    /// False: the caller must wait for the child.
    static bool join_in_place(control_block& child) noexcept;
    /// Destroys the result of a child that was joined in place, and gives the block back
    /// (LIFE_WORD-5).
    static void free_joined(control_block& child) noexcept;
    /// Whether run_inline() has the stack it needs. Yields to other fibers now and then.
    static bool can_run_inline(control_block& self) noexcept;
    /// Runs the unstarted `child` to its end on the stack of `self`, but under its own identity.
    static void run_inline(control_block& self, control_block& child) noexcept;

    void leave() noexcept { holder().leave(); }

    // Any thread:

    /// \returns the ready fibers that are pinned to this carrier (pinned.hpp).
    injector<control_block>& pinned() noexcept { return pinned_; }
    /// Ordered by the fences of a worker that is about to sleep.
    bool has_pinned() const noexcept { return !pinned_.empty(); }
    tenure<worker>& hold() noexcept { return hold_; }
    /// Whether it is in a visit; for its own thread.
    bool is_inside() noexcept { return holder().is_inside(); }
    /// The signals that its thread blocked when it began; for its own thread.
    std::uint64_t usual_signals() const noexcept { return usual_signals_; }
    /// \returns the fiber whose code runs here. A hint but for its own thread and the monitor
    /// (HANDOFF-3).
    control_block* current() const noexcept { return current_.load(relaxed); }
    /// As current(), for a thread that reads the fiber's block: the block is type-stable, and was
    /// made before it came here. Pairs with dispatch().
    const control_block* seen_current() const noexcept { return current_.load(acquire); }
    /// \returns a probe (id and clock) of its thread; of no thread while that is about to start.
    thread_probe probe() const noexcept { return probe_.load(relaxed); }
    // Relaxed: scheduler::live() reads ended() first, whose acquire orders all births that it must
    // count before this load, and one birth more does no harm. Others show or compare the number.
    std::uint64_t born() const noexcept { return born_.load(relaxed); }
    // Pairs with the release in count_end().
    std::uint64_t ended() const noexcept { return ended_.load(acquire); }
    std::uint64_t parks() const noexcept { return parks_.load(relaxed); }
    // PINNED-5; pairs with has_pinned_fibers()
    void count_pinned(int n) noexcept { pinned_count_.fetch_add(static_cast<unsigned>(n), seq_cst); }
    // PINNED-5; pairs with count_pinned()
    bool has_pinned_fibers() const noexcept { return pinned_count_.load(seq_cst) != 0; }
    /// While it is reserved, a carrier is never granted a worker (PINNED-5).
    // pairs with reserve()
    bool is_reserved() const noexcept { return is_reserved_.load(seq_cst); }
    // PINNED-5; pairs with is_reserved()
    void reserve(bool yes) noexcept { is_reserved_.store(yes, seq_cst); }
    /// Called by the monitor: takes away the place of a demoted fiber that has run since `t` or
    /// before. True: the monitor must give the place back.
    bool vacate_place_since(time_point t) noexcept;
    /// Called by the monitor before it takes the worker, or after the demand was refused: whether
    /// the thread has the long slice of a hog. Ordered by the loss of the worker.
    void note_long_kernel_slice(bool is_long) noexcept { has_long_kernel_slice_.store(is_long, relaxed); }
    // a hint
    bool has_long_kernel_slice() const noexcept { return has_long_kernel_slice_.load(relaxed); }
    /// Whether its thread is nicer than others and may stay so; then it is granted no worker
    /// (CARRIER_POOL-4). Written under the lock of the spares.
    void note_nice(bool is_nice) noexcept { is_nice_.store(is_nice, relaxed); }
    bool is_nice() const noexcept { return is_nice_.load(relaxed); }
    /// Whether its thread has ended, including the destructors of the program's thread_local
    /// objects. A hint: start_thread() joins it anyway.
    bool has_no_thread() const noexcept { return has_lived_.load(relaxed) && !probe().cpu(); }
    /// Called by the monitor: since when the carrier's fiber has run.
    void note_alone_since(time_point t) noexcept { alone_since_.store(t.time_since_epoch().count(), relaxed); }
    /// While it has no worker: since when its fiber has run, which identifies that stretch. A hint.
    time_point alone_since() const noexcept { return time_point(duration(alone_since_.load(relaxed))); }
    /// Called by the monitor: from now on the carrier notes when it next begins a visit.
    /// \returns  when it has since the last call of this; zero: it has not. A hint.
    time_point begin_absence() noexcept { return time_point(duration(back_since_.exchange(0, relaxed))); }
    // a hint
    time_point back_since() const noexcept { return time_point(duration(back_since_.load(relaxed))); }

private:
    friend class worker;
    friend struct debug_layout;

    using holding = tenure<worker>::holder;
    enum class afterwards : std::uint8_t { nothing, commit_park, requeue, free_stack, free_own_stack };
    enum class after_body : std::uint8_t { run_refers, gone, last };

    holding holder() noexcept { return holding(hold_); }
    bool has_worker() noexcept { return holder().has_worker(); }
    worker& its_worker() noexcept { return holder().worker(); }
    /// Begins a visit. \returns whether the carrier has a worker.
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

    // The thread's life, on its own stack (home).
    void live() noexcept;
    void be_a_worker() noexcept;
    control_block* take_demoted() noexcept;
    void run_demoted(control_block& f) noexcept;
    void run_pinned(control_block& f) noexcept;

    // Running fibers.
    static void loop(void* stack_of_loop) noexcept;  // bottom frame of pooled stacks
    static void loop_now(void* stack_of_loop) noexcept;  // the same, for start_now()
    // Bottom frame of a stack that belongs to one fiber.
    static void loop_once(void* fiber_with_own_stack) noexcept;
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

    // Switching. All of these are called inside a visit.
    void leave_for(worker& w, control_block& self, control_block* next) noexcept;
    void leave_for_home(control_block& self, afterwards how) noexcept;
    void park_at_home(control_block& self) noexcept;
    [[noreturn]] void go_on(worker& w, afterwards how, stack* leaving, control_block* next) noexcept;
    [[noreturn]] void go_home(afterwards how, stack* leaving) noexcept;
    static void arrive() noexcept;
    void arrive_and_commit() noexcept;
    void leave_for_loop(worker& w, control_block& self, control_block* next) noexcept;
    void leave_outside_identity(worker& w, control_block& self, control_block* next) noexcept;
    void leave_stack(worker& w, control_block& self, control_block* next, exception_state& exceptions) noexcept;
    [[gnu::noinline]] void yield_otherwise(control_block& self) noexcept;
    void dispatch(worker& w, control_block& f) noexcept;
    context& resume(worker& w, control_block& f) noexcept;
    [[gnu::cold]] void yield_anyhow(worker& w, control_block& self) noexcept;
    context& fresh_loop(worker& w, control_block* picked, context_entry bottom = &carrier::loop) noexcept;
    bool can_start_now(const control_block& f) noexcept;
    void give_way(worker& w, control_block& self) noexcept;
    bool give_own_stack(control_block& f) noexcept;
    control_block* wait_for_work(worker& w) noexcept;
    void commit() noexcept;
    void requeue(control_block& f) noexcept;

    tenure<worker> hold_;
    atomic<control_block*> current_{nullptr};  // the fiber whose code runs (CARRIER-4)
    scheduler& owner_;
    afterwards after_ = afterwards::nothing;
    void* after_what_ = nullptr;
    control_block* picked_ = nullptr;  // for the loop that starts next
    control_block* gave_way_ = nullptr;  // the spawner of picked_, for loop_now()
    context fresh_;  // for the loop that starts next
    block_cache blocks_;
    atomic<std::uint64_t> born_{0}, ended_{0}, parks_{0};
    std::uint32_t inlined_ = 0;  // fibers run by run_inline()
    std::uint64_t choices_ = 0;  // simulate/choice.hpp
    context own_;  // home: saved here whenever a fiber or a loop runs
    // has_place_: it runs a demoted fiber that counts among the few (demotion.hpp).
    atomic<bool> has_long_kernel_slice_{false}, has_place_{false};
    // Written by the monitor while the carrier has a worker, else by its own thread.
    atomic<std::int64_t> alone_since_{0};
    // 0: it has not begun a visit since the monitor wanted to know (blocked_audit.hpp)
    atomic<std::int64_t> back_since_{-1};
    placement affinity_;
    preempted preemptions_;
    injector<control_block> pinned_;  // PINNED-2
    atomic<unsigned> pinned_count_{0};
    atomic<bool> is_nice_{false}, has_lived_{false};
    // It has no worker: one own_carrier fiber alone is pinned to it.
    atomic<bool> is_reserved_{false};
    atomic<thread_probe> probe_{thread_probe()};
    const unsigned number_;  // for its thread's name
    std::uint64_t usual_signals_ = 0;  // written and read by its thread
    std::thread thread_;
};

WEFT_DECLARE_THREAD_WORD(weft_carrier_word);

/// \returns the carrier of this OS thread, or null on a plain thread. It is read anew at each call;
/// the compiler cannot keep an old value.
inline carrier* this_carrier() noexcept {
    void* word;
    WEFT_READ_THREAD_WORD(word, weft_carrier_word);
    return static_cast<carrier*>(word);
}

/// Called by a carrier's thread when it begins to be one, and with null when it ends.
void set_this_carrier(carrier* c) noexcept;

/// \returns the carrier of this OS thread if it belongs to `where`, else null.
inline carrier* this_carrier_of(const scheduler* where) noexcept {
    auto* const c = this_carrier();
    return c && &c->owner() == where ? c : nullptr;
}

/// \returns the calling fiber, or null.
inline control_block* this_fiber_block() noexcept {
    const auto* const c = this_carrier();
    return c ? c->current() : nullptr;
}

/// A scope of runtime code on this carrier, which may use its worker if it has one. Inside another
/// visit it changes nothing.
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
