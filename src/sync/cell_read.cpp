// cell_read.cpp - which version of a cell a reader gets, and how long it waits for that version.
#include <future>
#include <iterator>

#include "fiber/interrupts.hpp"
#include "sync/cell_state.hpp"

namespace weft::detail {

/// The newest version that answers `at`. If that is not kept any more, or never existed, the
/// oldest.
auto cell_core::state::version_at(step at) const noexcept -> const version& {
    const auto later = std::ranges::upper_bound(versions, at, {}, &version::from);
    return later == versions.begin() ? *later : *std::prev(later);
}

/// Waits until the reader can have the version it wants.
void cell_core::state::await_readable(lock_type& lock, state* reader, step wanted) {
    for (;;) {
        // the exception is not reported: the function is called again
        if (reader && reader->was_overtaken) throw dataflow_cycle();
        if (reader) wanted = reader->computing;
        if (!versions.empty() && is_settled_through(wanted)) return;
        if (ended) throw std::future_error(std::future_errc::broken_promise);
        if (reader && is_computed()) break_outdated_circle(*reader);
        if (!reader || !reader->was_overtaken) await_settled(lock);
    }
}

/// Waits for a change. A waiting computation is recorded, so that cycles are found.
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

/// CELL_STATE-6: acts if `reader`, which is about to wait for this cell, closes a cycle of cells
/// that are not all at the same step. The cells that already wait form no cycle (DATAFLOW-1). A
/// cell that waits for an ivar is not followed further.
void cell_core::state::break_outdated_circle(state& reader) noexcept {
    // the cell with the least rank is the most outdated
    const auto rank = [](const state& c) { return std::pair(!c.begins_again, c.computing); };
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
    if (awaits) awaits->wake_readers();  // otherwise this cell is the caller's and does not wait
}

cell_value cell_core::get() {
    check_interrupt();
    auto* const here = computation::current();
    state* const reader = here && here->cell() ? here->cell()->state_.get() : nullptr;
    cell_value value;
    std::exception_ptr failure;
    {
        unique_lock lock(cell_graph::one().lock);
        try {
            state_->await_readable(lock, reader, cell_graph::one().last);
        } catch (const dataflow_cycle&) {
            // CELL_STATE-3: a later step may open the cycle
            if (reader) reader->link(*state_);
            throw;
        }
        const auto& v = reader ? state_->version_at(reader->computing) : state_->versions.back();
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

}  // namespace weft::detail
