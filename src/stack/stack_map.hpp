// stack_map.hpp - all stack memory of the process as address ranges, readable in a signal handler.
//
// Invariants
//   STACK_MAP-1  Entries are added at the head and never freed. An entry whose range is gone has
//                bytes 0 and is used again.
//   STACK_MAP-2  An entry is readable once its bytes are not 0: they are stored last and cleared
//                first.
//   STACK_MAP-3  A reader could see parts of two ranges if an entry is reused meanwhile, so it
//                reads what it has found twice.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::detail {

struct stack_map_entry;

/// Adds slots of `stride` bytes, from `base` on, each of which begins with a guard page. \returns
/// null if memory is refused.
stack_map_entry* add_to_stack_map(std::byte* base, std::size_t bytes, std::size_t stride) noexcept;
void remove_from_stack_map(stack_map_entry* entry) noexcept;  // null does nothing

/// The size of the stack whose guard page contains `address`, or 0. Async-signal-safe.
std::size_t stack_bytes_of_guard(void const* address) noexcept;

/// The end of the stack that contains `address`, or 0 if none does. Async-signal-safe; exact for
/// code that runs on that stack.
std::uintptr_t end_of_stack_around(std::uintptr_t address) noexcept;

}  // namespace weft::detail
