// cell_state.hpp - one cell in the graph of cells: its versions, the steps it still has to compute, and who is computed from whom.
//
// A step is numbered by the set() that makes it. set() announces it at once to every cell computed from the one that was set,
// however indirectly: `pending` is what a cell still has to compute, and a reader that wants the value at step n waits until
// nothing up to n is pending. So no cell mixes two steps, in whatever order the fibers run.
//
// Invariants (all under the lock of cell_graph)
//   D1  versions and pending are in ascending order of steps; each holds `depth` entries at most, the latest.
//   D2  Every step announced to a cell is pending, being computed, computed, or was dropped for a later one.
//   D3  Who reads a cell during a computation is linked to it, until a computation of the reader does not read it any more.
//   D4  A cell that is linked to another has at least its depth.
//   D5  From a step that was dropped on nothing is settled until a later one has been computed: the version before it is no answer
//       to who wants a step in between, since another cell may have been computed at the one that was dropped. The later one is.
//   D6  Cells that wait for each other at one step are a cycle. If one of them is at an earlier step, or will begin again anyway, what it
//       has read may be over: it begins again at the latest step of them, which then shows.
//   D7  Who is woken is not taken for one that waits, although it may not have gone on yet.
//
// No user code runs under the lock: values are made before, and go to listeners and to their end after it.
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
#include <weft/detail/cell_core.hpp>
#include <weft/mutex.hpp>

namespace weft::detail {

/// One lock for all cells: a step walks over many of them.
struct cell_graph {
    using step = std::uint64_t;
    static constexpr step no_step = 0;

    mutex lock;
    step last = no_step + 1;

    static cell_graph& one() noexcept;
};

struct cell_core::state {
    using step = cell_graph::step;
    static constexpr step no_step = cell_graph::no_step;

    struct version {
        step from;  // the first step that it answers, and `at` the last one that it knows (D5)
        step at;
        cell_value value;
        std::exception_ptr failure;
        bool is_late = false;  // it, or what it was computed from, had to wait for an ivar: news whatever its step
    };
    using lock_type = std::unique_lock<mutex>;
    using garbage = std::vector<version>;

    explicit state(cell_core& self, std::size_t history) : depth(history), computes(&self) {}

    std::size_t depth;
    std::deque<version> versions;
    condition_variable settled;  // a version came, or the end; by wake_readers()
    std::vector<computation*> awaited_by;  // whose functions wait for it (D7)
    std::vector<state*> readers;  // the cells computed from this one

    // Of a computed cell
    std::function<cell_value()> function;
    computation computes;
    std::vector<step> pending;
    step computing = no_step;
    step computing_from = no_step;  // the earliest step that this computation answers (D5)
    step dropped_from = no_step, dropped_to = no_step;  // the steps dropped since it began, which a later one pending answers
    step computed = no_step;
    bool is_late = false;  // a version read in this computation is
    bool begins_again = false;  // what was read first in this computation is older than what was read last
    bool was_overtaken = false;  // by those it waits for (D6): it begins again, and the function is to end
    state* awaits = nullptr;  // the computed cell that its function waits for (D7)
    bool ended = false;  // its fiber has gone
    condition_variable work;
    std::vector<state*> sources, sources_read;  // as of the last computation; in this one so far

    // Of those who listen
    std::vector<std::pair<step, std::shared_ptr<cell_listener>>> listeners;  // and the last step before they came
    step delivered = no_step;
    bool delivering = false;

    bool is_computed() const noexcept { return function != nullptr; }
    bool is_settled_through(step s) const noexcept {
        const auto open_from = [s](step first) { return first != no_step && first <= s; };
        return !open_from(computing_from) && !open_from(dropped_from) && (pending.empty() || pending.front() > s);
    }

    bool has_dropped(step s) const noexcept { return dropped_from != no_step && dropped_from <= s && s <= dropped_to; }
    void drop(step s) noexcept {  // D5
        dropped_to = dropped_from == no_step ? s : std::max(dropped_to, s);
        dropped_from = dropped_from == no_step ? s : std::min(dropped_from, s);
    }

    void announce(step);
    void announce_to_readers(step);
    void deepen(std::size_t);
    void publish(version, garbage&);
    const version& version_at(step) const noexcept;
    void await_readable(lock_type&, state* reader, step wanted);
    void await_settled(lock_type&);
    void wake_readers() noexcept;
    void link(state& source);
    void read_at_later_step(step);
    void go_on_at(step);
    void break_outdated_circle(state& reader) noexcept;
    void begin_again_at(step) noexcept;
    void unlink_unread() noexcept;
    void deliver(lock_type&) noexcept;
    void hand_out(lock_type&, const version&) noexcept;

    void next_computation(lock_type&);
    version compute();
};

}  // namespace weft::detail
