// holders.hpp - who has what a fiber waits for: asked when somebody wants to know, so that no wait has to record it.
//
// A lock knows its holder, and a wait knows its lock. The caller has seen to it that the fiber that waits there cannot go on meanwhile
// (W7 of wait_word.hpp): so it is still to use the lock, and the lock is there.
#pragma once

#include <cstddef>

#include "fiber/waiter.hpp"

namespace weft::detail {

/// The cell of who has it, a fiber or a plain thread, which may be gone: an address to compare. Null: nobody, or readers.
const wait_cell* holder_of_mutex(const void* mutex) noexcept;
const wait_cell* holder_of_shared_mutex(const void* shared_mutex) noexcept;

/// Where those addresses lie in their objects, for debuggers.
std::size_t offset_of_mutex_holder() noexcept;
std::size_t offset_of_shared_mutex_holder() noexcept;
std::size_t offset_of_once_runner() noexcept;

}  // namespace weft::detail
