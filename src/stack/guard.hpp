// guard.hpp - makes the page below a stack fault when it is touched, by the cheapest means the kernel really has.
//
//   madvise   a mark in the page table (Linux 6.13): any number of stacks
//   mprotect  splits the mapping in two per guard: counted over the process, since a process may have 65,530 mappings
//   none      beyond the count. The page is left alone instead; whoever takes the stack back looks whether it was touched
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::detail {

enum class guard_kind : std::uint8_t { none, mprotect, madvise };
enum class guard_choice : std::uint8_t { automatic, mprotect, none };   // the last two are for tests and measurements

inline constexpr std::size_t default_mprotect_guards = 30'000;   // chosen: 60,000 of 65,530 mappings
inline constexpr std::size_t mprotect_guards_on_valgrind = 10'000;   // chosen: 20,000 of 30,000, after which it ends the program

/// The size of a page, asked for once.
std::size_t page_bytes() noexcept;

/// Whether a guard set by madvise faults when touched; found out once per process by a child that touches one.
bool madvise_guards_work() noexcept;

/// Guards one page. `mprotect_limit` bounds all mprotect guards of the process.
guard_kind install_guard(std::byte* page, guard_choice choice, std::size_t mprotect_limit) noexcept;

/// The mappings of `count` mprotect guards are gone.
void forget_mprotect_guards(std::size_t count) noexcept;

/// False for a page that was never read nor written since it was mapped (or given back).
bool page_was_touched(std::byte const* page) noexcept;

std::string_view name(guard_kind kind) noexcept;

}  // namespace weft::detail
