// control_block.hpp - what the runtime knows of one fiber.
//
// Invariants
//   C1  The memory is type-stable: it goes back to its pool, and keeps its address and type while the runtime lives. A late claim()
//       or a stale fiber_id therefore finds a control block, and fails on its ticket or generation. Neither ever goes back. The pool
//       may take the pages of free blocks away; they read as zero then, and 0 is nobody's ticket or generation (B4, B5 of block_pool.hpp).
//   C2  The block is used as long as `life` says (life_word.hpp). The body is destroyed by the run if it ends after the
//       handle has gone, else by the handle, and by nobody else (F4).
//   C3  ctx, link and home stack belong to whoever may run the fiber (see wait_word.hpp); the rest is said at each field.
//   C4  life.await() is called under `lock`, by who then links a waiter, unless the body has ended already; the fiber that ends
//       and finds that somebody waits takes the lock and wakes. So an end that nobody waits for takes no lock.
//   C5  fiber_rest is zero until it is first used, and clean again when the block is free: only its tickets (C1) and make_ready stay.
//       Nobody constructs it. A fiber that neither waits nor is waited for, is not named and not stopped, never touches it.
//   C6  Who sets anything marked "trace" calls leave_trace() too, while it holds a reference or F5. Who frees the block tidies up if
//       there are traces, so that a free block has none and whoever makes a fiber of it need not look.
//
// A batch of 500,000 empty fibers is bound by memory: each is born, run and ended in the first two lines of the cache, and has no other
// page but those of its control_block. Blocks and rests of 64 fibers lie one after the other, a leaf of block_pool.hpp.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <source_location>
#include <span>
#include <stop_token>
#include <string_view>
#include <utility>

#include <weft/detail/priority.hpp>
#include <weft/detail/task.hpp>

#include "arch/context.hpp"
#include "arch/sanitizer.hpp"
#include "base/spin_lock.hpp"
#include "fiber/life_word.hpp"
#include "fiber/waiter.hpp"

namespace weft::detail {

struct stack;
class carrier;
class scheduler;
struct control_block;

/// Where a fiber is, for dumps; derived by fiber_state(). Order of life.
enum class fiber_state : std::uint8_t { free, created, runnable, running, waiting, done };

/// Told of the end of a fiber: the scope it is a child of.
class end_observer {
public:
    /// The body has thrown; nobody can join yet. \returns whether its siblings are to be stopped.
    virtual bool child_failed(control_block&, const std::exception_ptr&) noexcept = 0;
    /// The body has ended and its joiners were woken; the fiber goes on for a moment, its body may be gone.
    virtual void child_ended(control_block&, bool stop_siblings) noexcept = 0;
    /// Whether a stop is under way that its children are to hear of: its own, or one of who waits for them.
    virtual bool is_stopped() const noexcept = 0;

protected:
    ~end_observer() = default;
};

/// Bits of fiber_core::rare: where none is set, all goes the common way, and one test says so.
enum rarity : std::uint8_t {
    rare_stack = 1,  // it may not begin on a worker's hot stack: stack_bytes counts, or it has rare attributes
    rare_high = 2,  // its class (sched/class_turns.hpp), if not the normal one
    rare_low = 4,
    rare_class = rare_high | rare_low,
    rare_place = rare_stack | rare_class,
    rare_inline = 8,  // there is no room for it: its spawner runs it (carrier::run_inline)
    rare_start = rare_place | rare_inline,
    rare_traces = 16,  // it has left something that scheduler::tidy() must remove (C6)
};

/// Before: its rest has a ticket that counts, and make_ready. Watched: that, and somebody is told of each wait (base/park_watch.hpp).
enum class waits : std::uint8_t { not_yet, watched, before };

/// Raised: it counts. Delivered: the token was told and the wait ended, or somebody is at it.
enum class stop_stage : std::uint8_t { none, raised, delivered };

/// All that an empty fiber touches but its body: one line of the cache.
struct fiber_core {
    control_block* link = nullptr;  // next in the injector or in a free list; of whoever may run it (C3)
    stack* home = nullptr;  // the stack it runs on; null until it starts
    scheduler* owner = nullptr;  // set when the block is made, never changed
    task* body = nullptr;  // set before start; destroyed by destroy_body()
    end_observer* parent = nullptr;  // set before start; may be gone after child_ended(). Its lock guards list_hook, `told`
    life_word life;  // C2, C4
    atomic<std::uint32_t> generation{0};  // counts the uses of this block; makes ids unique
    std::source_location site;
    atomic<fiber_state> phase{fiber_state::created};  // created, runnable or running: a hint for dumps
    atomic<std::uint8_t> rare{0};  // what few fibers are, as bits of `rarity`; but for traces set before start
    // Traces (C6), all but `spilled`, which goes with the body, and `detached`.
    bool told = false;  // the parent has handed its stop on
    atomic<bool> failure_taken{false};  // by join(): a scope need not rethrow it
    atomic<stop_stage> stop{stop_stage::none};  // by its handle; one count in `stops` unless `none`
    std::uint8_t spilled = 0;  // the body is on the heap, with this alignment's logarithm; none any more when it is destroyed
    bool demoted = false;  // has lost a worker by computing (D1 of sched/monitor/demotion.hpp); as the context
    struct marks {
        bool detached : 1 = false;  // nobody will join
        bool failed : 1 = false;  // the body has ended by an exception
        bool named : 1 = false;  // name_text counts
        bool has_stop_source : 1 = false;
    } mark;  // after the start under `lock`
};
static_assert(sizeof(fiber_core) == 64, "a second line costs a batch of empty fibers a third of its time");

/// What the first frames of its code use.
struct fiber_room {
    alignas(body_alignment) std::byte room[body_room];
    union {
        context ctx{};  // saved while it is not running; of whoever may run it (C3)
        control_block* next_chain;  // while it is free; see block_pool.hpp
    };
};

/// What few fibers need (C5).
struct fiber_rest : wait_cell {
    fiber_rest() = delete;

    atomic<control_block*> in_place;  // the child this fiber joins by running it (carrier::join_in_place)
    carrier* bound_to;  // null unless it stays there: B1 of sched/bound.hpp
    std::uint32_t stack_bytes;  // at most 1 GiB
    std::uint32_t pins;  // reasons to be bound, once it has started
    std::uint8_t short_bursts;  // in a row, of one that is demoted
    std::uint8_t cancel_reports;  // asked for; these three of the fiber itself, read by reports: see sched/monitor/swallowed.cpp
    atomic<std::uint16_t> cancelled_since;  // when `cancelled` was thrown first since it was asked to stop
    atomic<std::uint32_t> cancels;  // and how often since then
    wait_list joiners;  // under `lock`, as what follows
    std::unique_ptr<std::stop_source> stop_source;  // made on first use
    char name_text[48];
};

struct alignas(64) control_block : fiber_core, fiber_room, list_hook<control_block> {
    static constexpr std::size_t leaf = 64;  // chosen: so many lie together; a visit to the pool for each

    std::uint32_t index = 0;  // of this block among all of the process, fixed
    waits waited = waits::not_yet;
    bool is_apart = false;  // bound or of another class, so that it is in no queue of normal ones; of whoever may run it
    atomic<bool> keeps_worker{false};  // the monitor does not take it; set before start
    spin_lock lock;

    fiber_rest& rest() noexcept { return *reinterpret_cast<fiber_rest*>(reinterpret_cast<std::byte*>(this) + to_rest()); }
    const fiber_rest& rest() const noexcept { return const_cast<control_block*>(this)->rest(); }
    /// The fiber whose cell it is.
    static control_block& of(wait_cell& cell) noexcept {
        return *reinterpret_cast<control_block*>(reinterpret_cast<std::byte*>(&static_cast<fiber_rest&>(cell)) - to_rest());
    }

    std::string_view name() const noexcept {
        return mark.named ? std::string_view(rest().name_text, ::strnlen(rest().name_text, sizeof rest().name_text))
                          : std::string_view();
    }
    void set_name(std::string_view s) noexcept {
        rest().name_text[s.copy(rest().name_text, sizeof rest().name_text - 1)] = '\0';
        mark.named = true;
        leave_trace();
    }
    bool started() const noexcept { return home != nullptr; }
    bool is_any(unsigned rarities) const noexcept { return (rare.load(relaxed) & rarities) != 0; }  // of its own, or published
    bool has_own_stack() const noexcept { return is_any(rare_stack); }
    bool is_bound() const noexcept { return is_apart && rest().bound_to; }
    bool is_classed() const noexcept { return is_any(rare_class); }
    weft::priority priority() const noexcept {
        return !is_classed() ? priority::normal : is_any(rare_high) ? priority::high : priority::low;
    }
    /// Before the start.
    void make_rare(rarity what) noexcept { rare.fetch_or(what, relaxed); }  // somebody may look already, and leave a trace
    void leave_trace() noexcept { rare.fetch_or(rare_traces, relaxed); }  // ordered by the reference (C6)
    bool has_ended() const noexcept { return life.has_ended(); }

    /// Memory for a body that `room` is too small for. \throws std::bad_alloc
    void* spill(std::size_t bytes, std::size_t alignment);
    void free_spilled(void* what) noexcept;
    /// After the last reference: whether scheduler::tidy() has anything to do.
    bool is_tidy() const noexcept { return rare.load(relaxed) == 0; }
    /// User code: never in a worker's loop.
    void destroy_body() noexcept {
        if (task* const t = std::exchange(body, nullptr)) {
            t->~task();
            if (spilled) [[unlikely]]
                free_spilled(t);
        }
    }

private:
    static constexpr std::size_t to_rest() noexcept;
};

constexpr std::size_t control_block::to_rest() noexcept { return leaf * sizeof(control_block); }

static_assert(sizeof(fiber_rest) <= sizeof(control_block), "the rests of a leaf lie behind its blocks, as far apart as they");
static_assert(WEFT_UNDER_ASAN || WEFT_UNDER_TSAN || sizeof(control_block) == 192, "three lines: 500,000 of them are 92 MiB");

fiber_state state_of(const control_block&) noexcept;
std::string_view name(fiber_state) noexcept;

}  // namespace weft::detail
