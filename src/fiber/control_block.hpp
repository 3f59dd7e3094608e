// control_block.hpp - the control block of a fiber: everything the runtime knows of it.
//
// Invariants
//   CONTROL_BLOCK-1  The memory is type-stable: a free block goes back to its pool and keeps its
//                    address and type as long as the runtime lives. So a late claim() or a stale
//                    fiber_id still finds a control block, and fails on its ticket or generation.
//                    Neither of the two ever goes back. The pool may give the pages of free blocks
//                    back to the system. They read as zero then, and no wait has ticket 0 and no
//                    fiber generation 0 (BLOCK_POOL-4, BLOCK_POOL-5).
//   CONTROL_BLOCK-2  `life` says how long the block is used (life_word.hpp). If the body ends after
//                    the handle has gone, the run destroys the body; otherwise the handle does.
//                    Nothing else destroys it (LIFE_WORD-4).
//   CONTROL_BLOCK-3  ctx, link and the home stack belong to the thread that may run the fiber (see
//                    wait_word.hpp). The owner of every other field is named at the field.
//   CONTROL_BLOCK-4  life.await() is called under `lock`; unless the body has ended already, its
//                    caller then links a waiter. A fiber that ends and finds that a waiter exists
//                    takes the lock and wakes it. So an end without waiters takes no lock.
//   CONTROL_BLOCK-5  fiber_cold is zero until it is first used, and clean again when the block is
//                    free: only its tickets (CONTROL_BLOCK-1) and make_ready stay. It is never
//                    constructed. A fiber that neither waits nor is waited for, and has no name and
//                    no stop, never touches it.
//   CONTROL_BLOCK-6  Code that sets a field marked "trace" also calls leave_trace(), while it holds
//                    a reference or under LIFE_WORD-5. The thread that frees the block tidies up if
//                    there are traces. So a free block has no traces, and making a fiber of it
//                    needs no check.
//
// A batch of 500,000 empty fibers is limited by memory: each is made, run and ended in the first
// two cache lines of its block, and uses no other page than that of its control block. The blocks
// of 64 fibers lie one after the other, and behind them their rests: a leaf of block_pool.hpp.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <source_location>
#include <span>
#include <stop_token>
#include <string_view>
#include <utility>

#include <weft/detail/task.hpp>
#include <weft/priority.hpp>

#include "arch/context.hpp"
#include "arch/sanitizer.hpp"
#include "base/prefetch.hpp"
#include "base/spin_lock.hpp"
#include "fiber/life_word.hpp"
#include "fiber/waiter.hpp"

namespace weft::detail {

struct stack;
class carrier;
class scheduler;
class thread_identity;
struct control_block;

/// Where a fiber is, for dumps; state_of() derives it. The values are in the order of a fiber's
/// life.
enum class fiber_state : std::uint8_t { free, created, runnable, running, waiting, done };

/// Hears of the end of a fiber: the scope that the fiber is a child of.
class end_observer {
public:
    /// The body has thrown, and a join cannot succeed yet. \returns whether the siblings are to be
    /// stopped.
    virtual bool child_failed(control_block&, const std::exception_ptr&) noexcept = 0;
    /// The body has ended and its joiners were woken. The fiber still runs for a moment, but its
    /// body may be gone.
    virtual void child_ended(control_block&, bool stop_siblings) noexcept = 0;
    /// Whether a stop is under way that the children must hear of: a stop of this scope itself, or
    /// of a fiber or scope that waits for it.
    virtual bool is_stopped() const noexcept = 0;

protected:
    ~end_observer() = default;
};

/// Bits of fiber_core::rare. If no bit is set, everything takes the common path, and one test shows
/// that.
enum rarity : std::uint8_t {
    // it may not start on a worker's hot stack: stack_bytes counts, or it has rare attributes
    rare_stack = 1,
    rare_high = 2,  // its priority class (sched/class_turns.hpp), if it is not the normal one
    rare_low = 4,
    rare_class = rare_high | rare_low,
    // it has an identity (sched/identity); set and cleared by the fiber itself, or set before start
    rare_identity = 64,
    rare_place = rare_stack | rare_class | rare_identity,
    rare_inline = 8,  // max_fibers has no place for it: its spawner runs it (carrier::run_inline)
    rare_now = 32,  // attributes::run_now: its spawner gives way to it (carrier::start_now)
    rare_start = rare_place | rare_inline | rare_now,
    rare_traces = 16,  // it has left something that scheduler::tidy() must remove (CONTROL_BLOCK-6)
};

/// Whether the fiber has waited. `before`: its cold half has a valid ticket and make_ready.
/// `watched`: the same, and a watcher hears of each wait (base/park_watch.hpp).
enum class waits : std::uint8_t { not_yet, watched, before };

/// `raised`: the stop is counted in `stops`. `delivered`: the stop token is notified and the wait
/// is interrupted, or a thread is doing so.
enum class stop_stage : std::uint8_t { none, raised, delivered };

/// Everything that an empty fiber touches except its body: one cache line.
struct fiber_core {
    // next in the injector or in a free list; belongs to the thread that may run the fiber
    // (CONTROL_BLOCK-3)
    control_block* link = nullptr;
    stack* home = nullptr;  // the stack it runs on; null until it starts
    scheduler* owner = nullptr;  // set when the block is made, never changed
    task* body = nullptr;  // set before start; destroyed by destroy_body()
    // set before start; may be gone after child_ended(). Its lock guards list_hook and `told`.
    end_observer* parent = nullptr;
    life_word life;  // CONTROL_BLOCK-2, CONTROL_BLOCK-4
    atomic<std::uint32_t> generation{0};  // counts the uses of this block; makes ids unique
    std::source_location site;
    // created, runnable or running: a hint for dumps
    atomic<fiber_state> phase{fiber_state::created};
    // the rare properties of this fiber, as bits of `rarity`; all but rare_traces and rare_identity
    // are set before start
    atomic<std::uint8_t> rare{0};
    // Traces (CONTROL_BLOCK-6): all that follow except `spilled`, which goes with the body, and
    // `detached`.
    bool told = false;  // the parent has passed its stop on to this fiber
    atomic<bool> failure_taken{false};  // join() took the failure: a scope need not rethrow it
    // set through the handle; counts once in `stops` unless it is `none`
    atomic<stop_stage> stop{stop_stage::none};
    // the logarithm of the alignment if the body is on the heap; 0 again when the body is destroyed
    std::uint8_t spilled = 0;
    // it has lost a worker by computing (DEMOTION-1); belongs to the owner of
    // the context (CONTROL_BLOCK-3)
    bool demoted = false;
    struct marks {
        bool detached : 1 = false;  // no thread will join
        bool failed : 1 = false;  // an exception has ended the body
        bool named : 1 = false;  // name_text is valid
        bool has_stop_source : 1 = false;
    } mark;  // after the start: under `lock`
};
static_assert(sizeof(fiber_core) == 64, "a second line costs a batch of empty fibers a third of its time");

/// The room for a small body, and the context. The first frames of a fiber's code use this part.
struct fiber_room {
    alignas(body_alignment) std::byte room[body_room];
    union {
        // saved while the fiber is not running; belongs to the thread that may run it
        // (CONTROL_BLOCK-3)
        context ctx{};
        control_block* next_chain;  // used while the block is free; see block_pool.hpp
        // before the start, if rare_identity is set; then home->identity
        thread_identity* identity_at_start;
    };
};

/// What only few fibers need (CONTROL_BLOCK-5).
struct fiber_cold : wait_cell {
    fiber_cold() = delete;

    // the child this fiber joins by running it (carrier::join_in_place)
    atomic<control_block*> in_place;
    carrier* pinned_to;  // the carrier the fiber is pinned to, or null: PINNED-1
    std::uint32_t stack_bytes;  // at most 1 GiB
    // the number of reasons why the fiber must stay pinned, after it has started
    std::uint32_t pins;
    std::uint8_t short_bursts;  // the number of short bursts in a row of a demoted fiber
    // The next three belong to the fiber itself; reports read them: see
    // sched/monitor/swallowed.cpp. This one counts the reports asked for.
    std::uint8_t cancel_reports;
    // when `cancelled` was first thrown after the request to stop
    atomic<std::uint16_t> cancelled_since;
    atomic<std::uint32_t> cancels;  // how often `cancelled` was thrown since then
    // used by control_block::joiners() and stop_source()
    wait_list joiners;
    std::unique_ptr<std::stop_source> stop_source;
    char name_text[48];  // after the start: under `lock`
};

struct alignas(64) control_block : fiber_core, fiber_room, list_hook<control_block> {
    // chosen: so many blocks lie together, and move to or from the pool in one visit
    static constexpr std::size_t leaf = 64;

    std::uint32_t index = 0;  // the number of this block in the whole process; never changes
    waits waited = waits::not_yet;
    // pinned or of another priority class, so that it is in no queue of normal fibers; belongs to
    // the thread that may run it
    bool is_apart = false;
    // it is queued, or about to run on, since it gave way to a child (attributes::run_now); belongs
    // to the thread that may run the fiber
    bool has_given_way = false;
    // the monitor does not take the worker from it; set before start
    atomic<bool> keeps_worker{false};
    spin_lock lock;

    /// From a block to its cold half, in bytes.
    static constexpr std::size_t to_cold() noexcept;

    fiber_cold& cold() noexcept { return *reinterpret_cast<fiber_cold*>(reinterpret_cast<std::byte*>(this) + to_cold()); }
    const fiber_cold& cold() const noexcept { return const_cast<control_block*>(this)->cold(); }
    /// The fiber that `cell` belongs to.
    static control_block& of(wait_cell& cell) noexcept {
        return *reinterpret_cast<control_block*>(reinterpret_cast<std::byte*>(&static_cast<fiber_cold&>(cell)) - to_cold());
    }

    wait_list& joiners() noexcept WEFT_REQUIRES(lock) { return cold().joiners; }
    /// Made on first use.
    std::unique_ptr<std::stop_source>& stop_source() noexcept WEFT_REQUIRES(lock) { return cold().stop_source; }

    std::string_view name() const noexcept {
        return mark.named ? std::string_view(cold().name_text, ::strnlen(cold().name_text, sizeof cold().name_text))
                          : std::string_view();
    }
    void set_name(std::string_view s) noexcept {
        cold().name_text[s.copy(cold().name_text, sizeof cold().name_text - 1)] = '\0';
        mark.named = true;
        leave_trace();
    }
    bool started() const noexcept { return home != nullptr; }
    /// Fetches what a switch to the fiber uses of its block.
    void prefetch_block() const noexcept {
        prefetch(this, sizeof(control_block));
        prefetch(&cold(), cache_line);
    }
    /// Fetches the frames that the fiber goes on in. Called by the thread that may run it.
    void prefetch_stack() const noexcept {
        // chosen: the frames of a wait for a socket, and of its caller; docs/measurements/run-order.md
        constexpr std::size_t bytes = 1024;
        if (started() && cold().word.has_left()) prefetch(ctx.sp, bytes);
    }
    /// Whether others may go before it for long (run_queue.hpp): it is new, or a spawner whose
    /// child begins another branch of a tree.
    bool may_wait_long() const noexcept { return !started() || has_given_way; }
    // relaxed: the bits are the caller's own, or were published to it
    bool is_any(unsigned rarities) const noexcept { return (rare.load(relaxed) & rarities) != 0; }
    bool has_own_stack() const noexcept { return is_any(rare_stack); }
    bool is_pinned() const noexcept { return is_apart && cold().pinned_to; }
    bool is_classed() const noexcept { return is_any(rare_class); }
    weft::priority priority() const noexcept {
        return !is_classed() ? priority::normal : is_any(rare_high) ? priority::high : priority::low;
    }
    /// Called before the start.
    // An observer may already look at the block and leave a trace.
    void make_rare(rarity what) noexcept { rare.fetch_or(what, relaxed); }
    // relaxed: ordered by the reference (CONTROL_BLOCK-6)
    void leave_trace() noexcept { rare.fetch_or(rare_traces, relaxed); }
    bool has_ended() const noexcept { return life.has_ended(); }

    /// Allocates memory for a body that is too large for `room`. \throws std::bad_alloc
    void* spill(std::size_t bytes, std::size_t alignment);
    void free_spilled(void* what) noexcept;
    /// Asked after the last reference is gone. False if scheduler::tidy() has something to do.
    bool is_tidy() const noexcept { return rare.load(relaxed) == 0; }
    /// Runs user code, so a worker's loop never calls it.
    [[gnu::always_inline]] void destroy_body() noexcept {
        if (task* const t = std::exchange(body, nullptr)) {
            t->~task();
            if (spilled) [[unlikely]]
                free_spilled(t);
        }
    }
};

constexpr std::size_t control_block::to_cold() noexcept { return leaf * sizeof(control_block); }

static_assert(sizeof(fiber_cold) <= sizeof(control_block), "the rests of a leaf lie behind its blocks, as far apart as they");
static_assert(WEFT_UNDER_ASAN || WEFT_UNDER_TSAN || sizeof(control_block) == 192, "three lines: 500,000 of them are 92 MiB");

fiber_state state_of(const control_block&) noexcept;
std::string_view name(fiber_state) noexcept;

}  // namespace weft::detail
