// joiners.hpp - who waits for a fiber's end: any number who only wait, and one who joins, with whom the handle ends.
#pragma once

#include "base/panic.hpp"
#include "fiber/waiter.hpp"

namespace weft::detail {

/// Of a waiter among the joiners. What `slot` means there: not null of who joins.
inline void* mark_of_join(wait_cell& who) noexcept { return &who; }

/// Before a second one waits, or when the first has run the fiber itself; under the fiber's lock.
inline void require_no_join(const wait_list& joiners) noexcept {
    for (const waiter* w = joiners.front(); w; w = joiners.next(*w))
        if (w->slot) [[unlikely]]
            panic("join() of a handle is for one at a time", "another is in it");
}

}  // namespace weft::detail
