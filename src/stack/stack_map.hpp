// stack_map.hpp - all stack memory of the process as address ranges, readable in a signal handler.
//
// Invariants
//   M1  Entries are added at the head and never freed; one whose range is gone has bytes 0 and is used again.
//   M2  An entry is readable once its bytes are not 0: they are stored last and cleared first.
//
// Not promised: a reader that races with the reuse of an entry may see parts of both ranges. It only words a crash report.
#pragma once

#include <cstddef>

namespace weft::detail {

struct stack_map_entry;

/// Slots of `stride` bytes from `base` on, each beginning with a guard page. \returns null if memory is refused.
stack_map_entry* add_to_stack_map(std::byte* base, std::size_t bytes, std::size_t stride) noexcept;
void remove_from_stack_map(stack_map_entry* entry) noexcept;   // null is fine

/// The size of the stack whose guard page holds `address`, or 0. Async-signal-safe.
std::size_t stack_bytes_of_guard(void const* address) noexcept;

}  // namespace weft::detail
