// cell.cpp - how a cell is set, computed, listened to and ended.
#include <weft/detail/cell_core.hpp>

#include <stdexcept>

#include <weft/stop.hpp>

#include "base/panic.hpp"
#include "sync/cell_state.hpp"

namespace weft::detail {

cell_core::cell_core(std::size_t history) {
    if (history == 0) throw std::invalid_argument("weft::cell: a history of 0 values");
    state_ = std::make_unique<state>(*this, history);
}

cell_core::~cell_core() {
    auto& s = *state_;
    std::vector<std::pair<state::step, std::shared_ptr<cell_listener>>> listeners;
    {
        const lock_guard lock(cell_graph::one().lock);
        for (auto* const source : s.sources) std::erase(source->readers, &s);
        for (auto* const source : s.sources_read) std::erase(source->readers, &s);
        // rule 6 is broken; the readers hear no more of this cell
        for (auto* const r : s.readers) {
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
    unique_lock lock(cell_graph::one().lock);
    const auto now = ++cell_graph::one().last;
    s.publish({.from = now, .at = now, .value = std::move(value), .failure = nullptr, .is_late = false}, out);
    s.announce_to_readers(now);
    s.deliver(lock);
}

void cell_core::compute_by(std::function<cell_value()> f) {
    auto& s = *state_;
    const lock_guard lock(cell_graph::one().lock);
    s.function = std::move(f);
    s.pending.push_back(cell_graph::one().last);
}

// ---- computing

void cell_core::state::next_computation(lock_type& lock) {
    work.wait(lock, [&] { return !pending.empty(); });
    computing = pending.front();
    pending.erase(pending.begin());
    const step dropped = std::exchange(dropped_from, no_step);
    computing_from = dropped != no_step ? std::min(dropped, computing) : computing;
}

// Calls the function.
auto cell_core::state::compute() -> version {
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
            const lock_guard lock(cell_graph::one().lock);
            s.computing = s.computing_from = s.dropped_from = state::no_step;
            s.pending.clear();
            s.ended = true;
            s.wake_readers();
        }
    } const ends{s};
    for (;;) {
        state::garbage out;
        unique_lock lock(cell_graph::one().lock);
        s.next_computation(lock);
        for (s.begins_again = true; s.begins_again;) {
            s.begins_again = s.was_overtaken = false;
            s.is_late = false;
            s.sources_read.clear();
            lock.unlock();
            auto v = s.compute();
            lock.lock();
            if (s.begins_again) {
                out.push_back(std::move(v));
                continue;
            }
            v.is_late = s.computes.was_delayed() || s.is_late;
            v.at = s.computed = std::exchange(s.computing, state::no_step);
            v.from = std::exchange(s.computing_from, state::no_step);
            s.unlink_unread();
            s.publish(std::move(v), out);
        }
        s.deliver(lock);
    }
}

// ---- listeners

void cell_core::listen(std::shared_ptr<cell_listener> l) {
    const lock_guard lock(cell_graph::one().lock);
    auto& all = state_->listeners;
    std::erase_if(all, [](const auto& each) { return each.second->is_gone(); });
    all.emplace_back(cell_graph::one().last, std::move(l));
}

/// Hands versions to the listeners, in order. One thread at a time does it, also for all that come
/// meanwhile.
// Not analysed: it gives the caller's guard back, whose lock has no name here.
void cell_core::state::deliver(lock_type& lock) noexcept WEFT_NO_THREAD_SAFETY_ANALYSIS {
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
    lock.lock();  // the copies of user values are destroyed by now, without the lock
}

}  // namespace weft::detail
