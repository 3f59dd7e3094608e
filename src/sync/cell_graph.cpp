// cell_graph.cpp - how steps travel along the links between cells, and how links come and go.
//
#include "sync/cell_state.hpp"

#include <new>

#include "base/fork.hpp"
#include "base/never_destroyed.hpp"

namespace weft::detail {
namespace {

template <class T>
bool contains(const std::vector<T>& all, const T& one) noexcept {
    return std::ranges::find(all, one) != all.end();
}

}  // namespace

cell_graph& cell_graph::one() noexcept {
    static never_destroyed<cell_graph> all;  // outlives every cell
    return *all;
}

namespace {

// A holder of the lock may park, so a fork does not wait for the lock: the child makes a new one.
// The cells of the parent are not for use in the child.
// FORK-3
[[gnu::constructor(before_static_objects)]] void cells_follow_forks() noexcept {
    follow_forks({.before = [] { cell_graph::one(); }, .in_child = [] { ::new (&cell_graph::one().lock) mutex; }});
}

}  // namespace

void cell_core::state::announce(step s) {
    std::vector<state*> todo{this};
    while (!todo.empty()) {
        state& c = *todo.back();
        todo.pop_back();
        if (s <= c.computed || s <= c.computing || contains(c.pending, s) || c.has_dropped(s)) continue;
        c.pending.insert(std::ranges::lower_bound(c.pending, s), s);
        if (c.pending.size() > c.depth) {  // CELL_STATE-1
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
    while (versions.size() > depth) {  // CELL_STATE-1
        out.push_back(std::move(versions.front()));
        versions.pop_front();
    }
    wake_readers();
}

/// From now on this cell is computed from `source` (CELL_STATE-3, CELL_STATE-4), and hears of its
/// steps that are still to come.
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

/// A cell that is read has no version as old as the step that is computed. The computation goes on
/// as one of step `s`.
void cell_core::state::read_at_later_step(step s) {
    const auto changed = [&](const state* c) {
        return (!c->versions.empty() && c->versions.back().at > computing) || !c->is_settled_through(s);
    };
    begins_again = begins_again || std::ranges::any_of(sources_read, changed);
    go_on_at(s);
}

/// The value that is being computed becomes the answer to all steps up to `s`.
void cell_core::state::go_on_at(step s) {
    computing = s;
    std::erase_if(pending, [s](step p) { return p <= s; });
    if (dropped_from != no_step && dropped_from <= s) {
        computing_from = std::min(computing_from, dropped_from);
        dropped_from = dropped_to > s ? s + 1 : no_step;
    }
    wake_readers();
}

/// Waiting readers look again. Until then they do not count as waiting (CELL_STATE-7).
void cell_core::state::wake_readers() noexcept {
    for (auto* const who : awaited_by) {
        who->wait_is_over();
        if (who->cell()) who->cell()->state_->awaits = nullptr;
    }
    awaited_by.clear();
    settled.notify_all();
}

}  // namespace weft::detail
