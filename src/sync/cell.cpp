// cell.cpp - the graph of cells: steps, what each cell still has to compute, and which version a reader gets.
//
// A step is numbered by the set() that makes it. set() announces it at once to every cell computed from the one that was set,
// however indirectly: `pending` is what a cell still has to compute, and a reader that wants the value at step n waits until
// nothing up to n is pending. So no cell mixes two steps, in whatever order the fibers run.
//
// Invariants (all under `graph`)
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
#include <weft/detail/cell_core.hpp>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <future>
#include <mutex>
#include <stdexcept>
#include <vector>

#include <weft/condition_variable.hpp>
#include <weft/mutex.hpp>
#include <weft/stop.hpp>

#include "base/panic.hpp"
#include "fiber/interrupts.hpp"

namespace weft::detail {
namespace {

using step = std::uint64_t;
constexpr step no_step = 0;

/// One lock for all cells: a step walks over many of them.
struct cell_graph {
    mutex lock;
    step last = no_step + 1;
};

cell_graph& graph() noexcept {
    static auto& all = *new cell_graph;  // outlives every cell
    return all;
}

struct version {
    step from;  // the first step that it answers, and `at` the last one that it knows (D5)
    step at;
    cell_value value;
    std::exception_ptr failure;
    bool is_late = false;  // it, or what it was computed from, had to wait for an ivar: news whatever its step
};

}  // namespace

struct cell_core::state {
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

    using lock_type = std::unique_lock<mutex>;
    using garbage = std::vector<version>;

    bool has_dropped(step s) const noexcept { return dropped_from != no_step && dropped_from <= s && s <= dropped_to; }
    void drop(step s) noexcept {  // D5
        dropped_to = dropped_from == no_step ? s : std::max(dropped_to, s);
        dropped_from = dropped_from == no_step ? s : std::min(dropped_from, s);
    }

    void announce(step);
    void announce_to_readers(step);
    void deepen(std::size_t);
    void publish(version, garbage&);
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

namespace {

template <class T>
bool contains(const std::vector<T>& all, const T& one) noexcept {
    return std::ranges::find(all, one) != all.end();
}

/// The newest version that answers `at`; if it is kept no longer, or has never been, the oldest.
const version& version_at(const std::deque<version>& versions, step at) noexcept {
    const auto later = std::ranges::upper_bound(versions, at, {}, &version::from);
    return later == versions.begin() ? *later : *std::prev(later);
}

}  // namespace

// ---- the graph; under the lock

void cell_core::state::announce(step s) {
    std::vector<state*> todo{this};
    while (!todo.empty()) {
        state& c = *todo.back();
        todo.pop_back();
        if (s <= c.computed || s <= c.computing || contains(c.pending, s) || c.has_dropped(s)) continue;
        c.pending.insert(std::ranges::lower_bound(c.pending, s), s);
        if (c.pending.size() > c.depth) {  // D1
            c.drop(c.pending.front());
            c.pending.erase(c.pending.begin());
        }
        c.work.notify_one();
        todo.insert(todo.end(), c.readers.begin(), c.readers.end());
    }
}

void cell_core::state::announce_to_readers(step s) {
    for (auto* const r : readers) r->announce(s);
}

void cell_core::state::deepen(std::size_t to) {
    std::vector<state*> todo{this};
    while (!todo.empty()) {
        state& c = *todo.back();
        todo.pop_back();
        if (c.depth >= to) continue;
        c.depth = to;
        todo.insert(todo.end(), c.readers.begin(), c.readers.end());
    }
}

void cell_core::state::publish(version v, garbage& out) {
    versions.push_back(std::move(v));
    while (versions.size() > depth) {  // D1
        out.push_back(std::move(versions.front()));
        versions.pop_front();
    }
    wake_readers();
}

/// `reader` is computed from `this` now (D3, D4), and hears of what is still to come.
void cell_core::state::link(state& source) {
    if (!contains(sources_read, &source)) sources_read.push_back(&source);
    if (!contains(sources, &source)) {
        sources.push_back(&source);
        source.readers.push_back(this);
        deepen(source.depth);
    }
    for (const auto& v : source.versions)
        if (v.at > computing) announce(v.at);
    if (source.computing > computing) announce(source.computing);
    for (const step s : std::vector<step>(source.pending))
        if (s > computing) announce(s);
}

void cell_core::state::unlink_unread() noexcept {
    for (auto* const s : sources)
        if (!contains(sources_read, s)) std::erase(s->readers, this);
    sources.swap(sources_read);
    sources_read.clear();
}

/// A cell has no version as old as the step that is computed: it goes on as one of step `s`.
void cell_core::state::read_at_later_step(step s) {
    const auto changed = [&](const state* c) {
        return (!c->versions.empty() && c->versions.back().at > computing) || !c->is_settled_through(s);
    };
    begins_again = begins_again || std::ranges::any_of(sources_read, changed);
    go_on_at(s);
}

/// What is computed is the answer to all steps up to `s`.
void cell_core::state::go_on_at(step s) {
    computing = s;
    std::erase_if(pending, [s](step p) { return p <= s; });
    if (dropped_from != no_step && dropped_from <= s) {
        computing_from = std::min(computing_from, dropped_from);
        dropped_from = dropped_to > s ? s + 1 : no_step;
    }
    wake_readers();
}

// ---- reading

/// Waits until the reader can have the version it wants.
void cell_core::state::await_readable(lock_type& lock, state* reader, step wanted) {
    for (;;) {
        if (reader && reader->was_overtaken) throw dataflow_cycle();  // nobody hears of it: the function is called again
        if (reader) wanted = reader->computing;
        if (!versions.empty() && is_settled_through(wanted)) return;
        if (ended) throw std::future_error(std::future_errc::broken_promise);
        if (reader && is_computed()) break_outdated_circle(*reader);
        if (!reader || !reader->was_overtaken) await_settled(lock);
    }
}

/// Waits for a change. Who computes is noted, so that circles are found.
void cell_core::state::await_settled(lock_type& lock) {
    const computation::waiting edge(is_computed() ? &computes : nullptr, computation::source::cell);
    struct listed {
        state& of;
        computation* const who = of.is_computed() ? computation::current() : nullptr;

        explicit listed(state& s) : of(s) {
            if (!who) return;
            of.awaited_by.push_back(who);
            if (who->cell()) who->cell()->state_->awaits = &of;
        }
        ~listed() {
            if (!who) return;
            std::erase(of.awaited_by, who);
            if (who->cell()) who->cell()->state_->awaits = nullptr;
        }
    } const me(*this);
    settled.wait(lock);
}

/// Those who wait look again. Until then they wait for nobody (D7).
void cell_core::state::wake_readers() noexcept {
    for (auto* const who : awaited_by) {
        who->wait_is_over();
        if (who->cell()) who->cell()->state_->awaits = nullptr;
    }
    awaited_by.clear();
    settled.notify_all();
}

/// D6: if `reader`, about to wait for this one, closes a circle of cells that are not at the same step. Those that wait form no circle
/// yet (X1); a cell that waits for an ivar is followed no further.
void cell_core::state::break_outdated_circle(state& reader) noexcept {
    const auto rank = [](const state& c) { return std::pair(!c.begins_again, c.computing); };  // the least is the most outdated
    step latest = reader.computing;
    state *outdated = &reader, *c = this;
    for (; c && c != &reader; c = c->awaits) {
        latest = std::max(latest, c->computing);
        if (rank(*c) < rank(*outdated)) outdated = c;
    }
    if (c && (outdated->begins_again || outdated->computing < latest)) outdated->begin_again_at(latest);
}

void cell_core::state::begin_again_at(step s) noexcept {
    begins_again = was_overtaken = true;
    go_on_at(s);
    if (awaits) awaits->wake_readers();  // else it is the caller
}

cell_value cell_core::get() {
    check_interrupt();
    auto* const here = computation::current();
    state* const reader = here && here->cell() ? here->cell()->state_.get() : nullptr;
    cell_value value;
    std::exception_ptr failure;
    {
        std::unique_lock lock(graph().lock);
        try {
            state_->await_readable(lock, reader, graph().last);
        } catch (const dataflow_cycle&) {
            if (reader) reader->link(*state_);  // D3: a later step may open the cycle
            throw;
        }
        const version& v = reader ? version_at(state_->versions, reader->computing) : state_->versions.back();
        if (reader) {
            if (v.at > reader->computing) reader->read_at_later_step(v.at);
            reader->link(*state_);
            reader->is_late = reader->is_late || v.is_late;
        }
        value = v.value;
        failure = v.failure;
    }
    if (failure) std::rethrow_exception(failure);
    return value;
}

// ---- writing

cell_core::cell_core(std::size_t history) {
    if (history == 0) throw std::invalid_argument("weft::cell: a history of 0 values");
    state_ = std::make_unique<state>(*this, history);
}

cell_core::~cell_core() {
    auto& s = *state_;
    std::vector<std::pair<step, std::shared_ptr<cell_listener>>> listeners;
    {
        const std::lock_guard lock(graph().lock);
        for (auto* const source : s.sources) std::erase(source->readers, &s);
        for (auto* const source : s.sources_read) std::erase(source->readers, &s);
        for (auto* const r : s.readers) {  // rule 6 is broken; they do not hear of it any more
            std::erase(r->sources, &s);
            std::erase(r->sources_read, &s);
        }
        listeners.swap(s.listeners);
    }
    for (const auto& [since, l] : listeners) l->close();
}

void cell_core::set(cell_value value) {
    auto& s = *state_;
    require(!s.is_computed(), "cell: a computed one is not set");
    state::garbage out;
    state::lock_type lock(graph().lock);
    const step now = ++graph().last;
    s.publish({.from = now, .at = now, .value = std::move(value), .failure = nullptr, .is_late = false}, out);
    s.announce_to_readers(now);
    s.deliver(lock);
}

void cell_core::compute_by(std::function<cell_value()> f) {
    auto& s = *state_;
    const std::lock_guard lock(graph().lock);
    s.function = std::move(f);
    s.pending.push_back(graph().last);
}

// ---- computing

void cell_core::state::next_computation(lock_type& lock) {
    work.wait(lock, [&] { return !pending.empty(); });
    computing = pending.front();
    pending.erase(pending.begin());
    const step dropped = std::exchange(dropped_from, no_step);
    computing_from = dropped != no_step ? std::min(dropped, computing) : computing;
}

// Without the lock.
version cell_core::state::compute() {
    const computation::running here(computes);
    try {
        return {.from = no_step, .at = no_step, .value = function(), .failure = nullptr, .is_late = false};
    } catch (const cancelled&) {
        throw;
    } catch (...) {
        return {.from = no_step, .at = no_step, .value = nullptr, .failure = std::current_exception(), .is_late = false};
    }
}

void cell_core::run() {
    auto& s = *state_;
    struct end_at_last {
        state& s;
        ~end_at_last() {
            const std::lock_guard lock(graph().lock);
            s.computing = s.computing_from = s.dropped_from = no_step;
            s.pending.clear();
            s.ended = true;
            s.wake_readers();
        }
    } const ends{s};
    for (;;) {
        state::garbage out;
        state::lock_type lock(graph().lock);
        s.next_computation(lock);
        for (s.begins_again = true; s.begins_again;) {
            s.begins_again = s.was_overtaken = false;
            s.is_late = false;
            s.sources_read.clear();
            lock.unlock();
            version v = s.compute();
            lock.lock();
            if (s.begins_again) {
                out.push_back(std::move(v));
                continue;
            }
            v.is_late = s.computes.was_delayed() || s.is_late;
            v.at = s.computed = std::exchange(s.computing, no_step);
            v.from = std::exchange(s.computing_from, no_step);
            s.unlink_unread();
            s.publish(std::move(v), out);
        }
        s.deliver(lock);
    }
}

// ---- listeners

void cell_core::listen(std::shared_ptr<cell_listener> l) {
    const std::lock_guard lock(graph().lock);
    auto& all = state_->listeners;
    std::erase_if(all, [](const auto& each) { return each.second->is_gone(); });
    all.emplace_back(graph().last, std::move(l));
}

/// Hands versions to the listeners, in order: one does it at a time, for all who come meanwhile. Gives the lock back.
void cell_core::state::deliver(lock_type& lock) noexcept {
    if (delivering) return lock.unlock();
    delivering = true;
    for (;;) {
        const auto next = std::ranges::upper_bound(versions, delivered, {}, &version::at);
        if (next == versions.end()) break;
        delivered = next->at;
        if (listeners.empty() || !next->value) continue;
        hand_out(lock, *next);
    }
    delivering = false;
    lock.unlock();
}

void cell_core::state::hand_out(lock_type& lock, const version& v) noexcept {
    {
        const version mine = v;
        const auto to = listeners;
        const auto limit = depth;
        lock.unlock();
        for (const auto& [since, l] : to)
            if (since < mine.at || mine.is_late) l->push(mine.value.get(), limit);
    }
    lock.lock();  // copies of the user's have gone before
}

}  // namespace weft::detail
