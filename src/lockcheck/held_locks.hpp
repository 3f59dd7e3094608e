// held_locks.hpp - the locks of the system's threads library that the calling thread holds, and where and in which fiber it took them.
//
// L1  The list is of one thread and is read and written by that thread only. A fiber keeps its thread between parks, so until it parks
//     the list is of its locks: a fiber that goes on after a park leaves none behind, or it was reported and they were dropped.
// L2  What runs for the list itself takes no part in it (`busy`): unwinding and printing take locks, too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/running_fiber.hpp"

namespace weft::lockcheck {

enum class kind : std::uint8_t { mutex, shared, exclusive, spin };

/// Return addresses, innermost first; null where there are fewer.
using trace = std::array<void*, 12>;

struct held_lock {
    const void* lock;
    kind what;
    trace taken_at;
    detail::running_fiber taker;  // not always the one that parks: a join may run the other fiber inside the one that joins
};

/// Where the caller of the library's entry was called.
trace here() noexcept;

void note_taken(const void* lock, kind) noexcept;
/// The youngest entry of it, if there is one: it may have been taken before the library came, or by another thread.
void note_released(const void* lock) noexcept;

std::span<const held_lock> held_here() noexcept;
void forget_all() noexcept;

/// While it lives the thread's locks are not noted.
class busy {
public:
    busy() noexcept;
    ~busy();
    busy(const busy&) = delete;
    busy& operator=(const busy&) = delete;
};

}  // namespace weft::lockcheck
