// cell_state.hpp - one cell in the graph of cells: its versions, pending steps and links.
//
// A step is numbered by the set() that makes it. set() announces the step at once to every cell
// computed from the one that was set, however indirectly. `pending` holds the steps that a cell
// still has to compute. A reader that wants the value at step n waits until nothing up to n is
// pending. So no cell mixes two steps, in whatever order the fibers run.
//
// Invariants (all under the lock of cell_graph)
//   CELL_STATE-1  versions and pending are in ascending order of steps. Each holds at most `depth`
//                 entries, the latest ones.
//   CELL_STATE-2  Every step announced to a cell is pending, being computed, computed, or was
//                 dropped for a later one.
//   CELL_STATE-3  A cell that reads another during a computation is linked to it, until a
//                 computation of the reader does not read it any more.
//   CELL_STATE-4  A cell that is linked to another has at least the depth of that cell.
//   CELL_STATE-5  After a step was dropped, nothing from that step on is settled until a later step
//                 has been computed. A reader that wants a step in between cannot use the version
//                 before the dropped step, since another cell may have been computed at the dropped
//                 step. It gets the later version.
//   CELL_STATE-6  Cells that wait for each other at one step are a cycle. If one of them is at an
//                 earlier step, or will begin again anyway, what it has read may be outdated. It
//                 then begins again at the latest step of these cells, and that shows whether there
//                 is a cycle.
//   CELL_STATE-7  A computation that has been woken does not count as waiting, although it may not
//                 run yet.
//
// No user code runs under the lock. Values are made before it is taken; they are handed to
// listeners, and destroyed, after it is given back.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <weft/condition_variable.hpp>
#include <weft/detail/annotated_locks.hpp>
#include <weft/detail/cell_core.hpp>
#include <weft/mutex.hpp>

namespace weft::detail {

/// One lock for all cells, because a step visits many of them.
struct cell_graph {
    using step = std::uint64_t;
    static constexpr step no_step = 0;

    mutex lock;
    step last WEFT_GUARDED_BY(lock) = no_step + 1;

    static cell_graph& one() noexcept;
};

struct cell_core::state {
    using step = cell_graph::step;
    static constexpr step no_step = cell_graph::no_step;

    struct version {
        // the first step that this version answers; `at` is the last step that it takes into
        // account (CELL_STATE-5)
        step from;
        step at;
        cell_value value;
        std::exception_ptr failure;
        // it, or a value it was computed from, had to wait for an ivar: it is news, whatever its
        // step
        bool is_late = false;
    };
    using lock_type = std::unique_lock<mutex>;  // of cell_graph::one(), handed on
    using garbage = std::vector<version>;

    explicit state(cell_core& self, std::size_t history) : depth(history), computes(&self) {}

    std::size_t depth;
    std::deque<version> versions;
    // notified by wake_readers(): a version came, or the cell ended
    condition_variable settled;
    // the computations whose functions wait for this cell (CELL_STATE-7)
    std::vector<computation*> awaited_by;
    std::vector<state*> readers;  // the cells computed from this one

    // Used if the cell is computed:
    std::function<cell_value()> function;
    computation computes;
    std::vector<step> pending;
    step computing = no_step;
    // the earliest step that this computation answers (CELL_STATE-5)
    step computing_from = no_step;
    // the steps dropped since it began; a later pending step answers them
    step dropped_from = no_step, dropped_to = no_step;
    step computed = no_step;
    bool is_late = false;  // a version that this computation has read is late
    // what this computation read first is older than what it read last
    bool begins_again = false;
    // by the cells it waits for (CELL_STATE-6): the function must end, and is called again
    bool was_overtaken = false;
    // the computed cell that this cell's function waits for (CELL_STATE-7)
    state* awaits = nullptr;
    bool ended = false;  // its fiber has ended
    condition_variable work;
    // the cells read by the last computation, and by this one so far
    std::vector<state*> sources, sources_read;

    // Listeners:
    // each with the last step before it came
    std::vector<std::pair<step, std::shared_ptr<cell_listener>>> listeners;
    step delivered = no_step;
    bool delivering = false;

    bool is_computed() const noexcept { return function != nullptr; }
    bool is_settled_through(step s) const noexcept {
        const auto open_from = [s](step first) { return first != no_step && first <= s; };
        return !open_from(computing_from) && !open_from(dropped_from) && (pending.empty() || pending.front() > s);
    }

    bool has_dropped(step s) const noexcept { return dropped_from != no_step && dropped_from <= s && s <= dropped_to; }
    void drop(step s) noexcept {  // CELL_STATE-5
        dropped_to = dropped_from == no_step ? s : std::max(dropped_to, s);
        dropped_from = dropped_from == no_step ? s : std::min(dropped_from, s);
    }

    void announce(step) WEFT_REQUIRES(cell_graph::one().lock);
    void announce_to_readers(step) WEFT_REQUIRES(cell_graph::one().lock);
    void deepen(std::size_t) WEFT_REQUIRES(cell_graph::one().lock);
    void publish(version, garbage&) WEFT_REQUIRES(cell_graph::one().lock);
    const version& version_at(step) const noexcept WEFT_REQUIRES(cell_graph::one().lock);
    void await_readable(lock_type&, state* reader, step wanted) WEFT_REQUIRES(cell_graph::one().lock);
    void await_settled(lock_type&) WEFT_REQUIRES(cell_graph::one().lock);
    void wake_readers() noexcept WEFT_REQUIRES(cell_graph::one().lock);
    void link(state& source) WEFT_REQUIRES(cell_graph::one().lock);
    void read_at_later_step(step) WEFT_REQUIRES(cell_graph::one().lock);
    void go_on_at(step) WEFT_REQUIRES(cell_graph::one().lock);
    void break_outdated_circle(state& reader) noexcept WEFT_REQUIRES(cell_graph::one().lock);
    void begin_again_at(step) noexcept WEFT_REQUIRES(cell_graph::one().lock);
    void unlink_unread() noexcept WEFT_REQUIRES(cell_graph::one().lock);
    void deliver(lock_type&) noexcept WEFT_RELEASE(cell_graph::one().lock);
    void hand_out(lock_type&, const version&) noexcept WEFT_REQUIRES(cell_graph::one().lock);

    void next_computation(lock_type&) WEFT_REQUIRES(cell_graph::one().lock);
    version compute() WEFT_EXCLUDES(cell_graph::one().lock);
};

}  // namespace weft::detail
