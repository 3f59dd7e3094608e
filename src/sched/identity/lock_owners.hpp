// lock_owners.hpp - which fiber it is that the threads library knows by a number as the owner of a lock.
//
// For dumps and reports of deadlocks. Fibers with identities have numbers of their own (THREAD_IDENTITY-5).
//
// Invariants
//   LOCK_OWNERS-1  A slot is one word, with the fiber's cell and the rest of its number; so a reader that
//                  finds the number finds its cell. Where two numbers share a slot, the later one has it, and
//                  the other one's fiber is not known.
#pragma once

#include <cstdint>

namespace weft::detail {

struct wait_cell;

/// The fiber of this cell goes by this number from now on.
void set_lock_owner(std::uint32_t number, const wait_cell& cell) noexcept;
void clear_lock_owner(std::uint32_t number, const wait_cell& cell) noexcept;

/// \returns the cell of the fiber that goes by this number; null if none is known. A hint.
const wait_cell* lock_owner(std::uint32_t number) noexcept;

}  // namespace weft::detail
