// holders.hpp - finds the holder of the lock that a fiber waits for.
//
// It is asked only for reports, so no wait has to record a holder.
//
// A lock knows its holder, and a wait knows its lock. The caller has ensured that the waiting fiber
// cannot go on meanwhile (W7 of wait_word.hpp). So the fiber has yet to use the lock, and the lock
// still exists.
#pragma once

#include <cstddef>

#include "fiber/waiter.hpp"

namespace weft::detail {

/// The cell of the holder, a fiber or a plain thread. The holder may be gone, so this is only an
/// address to compare. Null: no holder, or readers.
const wait_cell* holder_of_mutex(const void* mutex) noexcept;
const wait_cell* holder_of_shared_mutex(const void* shared_mutex) noexcept;

/// The offsets of those addresses in their objects, for debuggers.
std::size_t offset_of_mutex_holder() noexcept;
std::size_t offset_of_shared_mutex_holder() noexcept;
std::size_t offset_of_once_runner() noexcept;

}  // namespace weft::detail
