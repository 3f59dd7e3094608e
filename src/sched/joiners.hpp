// joiners.hpp - the waiters for a fiber's end: any number that only wait, and one that joins.
//
// The handle ends with the one that joins.
#pragma once

#include "base/panic.hpp"
#include "fiber/control_block.hpp"

namespace weft::detail {

/// The object is the control block that is joined.
inline constexpr wait_kind join_wait{
    .name = "join",
    .holders = [](const void* block, std::span<const wait_cell*> into) noexcept {
        return only_holder(&static_cast<const control_block*>(block)->cold(), into);
    },
    .held_at = {holder_place::form::inside, control_block::to_cold()}};

/// \returns the value of `slot` that marks, among the joiners, the waiter that joins; it is null
/// for one that only waits.
inline void* mark_of_join(wait_cell& who) noexcept { return &who; }

/// Panics if another waiter joins already. Called before a waiter joins, or by a joiner that has
/// run the fiber itself.
inline void require_no_join(const wait_list& joiners) noexcept {
    for (const waiter* w = joiners.front(); w; w = joiners.next(*w))
        if (w->slot) [[unlikely]]
            panic("join() of a handle is for one at a time", "another is in it");
}

}  // namespace weft::detail
