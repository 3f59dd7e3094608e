// held_locks.hpp - the pthread locks that the calling thread holds, and where it took them.
//
// HELD_LOCKS-1  The list belongs to one thread, and only this thread reads and writes it. A fiber
//               stays on its thread between parks, so until it parks, the list contains its locks.
//               A fiber that parks leaves no locks in the list: if it held some, they were reported
//               and dropped.
// HELD_LOCKS-2  Code that works on the list does not change it (`busy`), since unwinding and
//               printing take locks too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/running_fiber.hpp"

namespace weft::lockcheck {

enum class kind : std::uint8_t { mutex, shared, exclusive, spin };

/// Return addresses, innermost first; null at the end if there are fewer.
using trace = std::array<void*, 12>;

struct held_lock {
    const void* lock;
    kind what;
    trace taken_at;
    // The fiber that took it. This is not always the one that parks: a join may run the other fiber
    // inside the one that joins.
    detail::running_fiber taker;
};

/// The stack above the library's entry.
trace here() noexcept;

void note_taken(const void* lock, kind) noexcept;
/// Removes the youngest entry of the lock, if there is one: the lock may have been taken before
/// this library was loaded, or by another thread.
void note_released(const void* lock) noexcept;

std::span<const held_lock> held_here() noexcept;
void forget_all() noexcept;

/// During its lifetime the thread's locks are not recorded.
class busy {
public:
    busy() noexcept;
    ~busy();
    busy(const busy&) = delete;
    busy& operator=(const busy&) = delete;
};

}  // namespace weft::lockcheck
