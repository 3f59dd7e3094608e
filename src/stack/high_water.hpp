// high_water.hpp - how far down a stack has been used, found by asking the kernel which of its pages were ever touched.
//
// Nothing is counted while code runs, and no canary is written. A stack that is used again keeps the pages of whoever had it before:
// exact figures need one that was scrubbed first. A page that was swapped out counts as not touched.
#pragma once

#include <cstddef>

#include "arch/context.hpp"

namespace weft::detail {

/// From the lowest touched page up to the stack's upper end. Async-signal-safe.
std::size_t touched_bytes(stack_span s) noexcept;

/// The same from the lowest byte that is not zero: of a stack scrubbed before, what was used of it, but for what was stored as zero.
std::size_t used_bytes(stack_span s) noexcept;

/// All of it reads as zero, and costs no page but that of its upper end. By who has it, and does not run on it.
void scrub(stack_span s) noexcept;

/// Gives back the whole pages below `sp`, which belongs to nobody who runs. \returns how many bytes were resident.
std::size_t give_back_below(stack_span s, void const* sp) noexcept;

}  // namespace weft::detail
