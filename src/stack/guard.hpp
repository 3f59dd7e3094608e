// guard.hpp - makes the page below a stack fault when it is touched.
//
// It uses the cheapest means that works on this kernel:
//   madvise   a mark in the page table (Linux 6.13); works for any number of stacks
//   mprotect  splits the mapping in two per guard. The guards are counted for the whole process,
//             since a process may have 65,530 mappings
//   none      used when the count is reached. The page is then never used, and the thread that
//             takes the stack back checks whether the page was touched
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::detail {

enum class guard_kind : std::uint8_t { none, mprotect, madvise };
// the last two are for tests and measurements
enum class guard_choice : std::uint8_t { automatic, mprotect, none };

// chosen: 60,000 of 65,530 mappings
inline constexpr std::size_t default_mprotect_guards = 30'000;
// chosen: 20,000 of 30,000 mappings, after which Valgrind ends the program
inline constexpr std::size_t mprotect_guards_on_valgrind = 10'000;

/// The size of a page, asked of the system once.
std::size_t page_bytes() noexcept;

/// Whether a madvise guard faults when touched. A child that touches one finds out, once per
/// process.
bool madvise_guards_work() noexcept;

/// Guards one page. `mprotect_limit` is the limit for all mprotect guards of the process.
guard_kind install_guard(std::byte* page, guard_choice choice, std::size_t mprotect_limit) noexcept;

/// Called after the mappings of `count` mprotect guards are gone.
void forget_mprotect_guards(std::size_t count) noexcept;

/// False for a page that was neither read nor written since it was mapped or given back.
bool page_was_touched(std::byte const* page) noexcept;

std::string_view name(guard_kind kind) noexcept;

}  // namespace weft::detail
