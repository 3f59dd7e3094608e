// high_water.hpp - how deep a stack has been used, by asking the kernel which pages were touched.
//
// Nothing is counted while code runs, and no canary is written. A stack that is reused keeps the
// pages of its earlier users, so exact figures need a stack that was scrubbed before. A page that
// was swapped out counts as not touched.
#pragma once

#include <cstddef>

#include "arch/context.hpp"

namespace weft::detail {

/// The bytes from the lowest touched page up to the stack's upper end. Async-signal-safe.
std::size_t touched_bytes(stack_span s) noexcept;

/// The bytes from the lowest byte that is not zero up to the upper end. For a stack that was
/// scrubbed before, this is what was used of it, except for zeros stored at the very end.
std::size_t used_bytes(stack_span s) noexcept;

/// Makes the whole stack read as zero and use no page except that of its upper end. Called by the
/// owner of the stack, which must not run on it.
void scrub(stack_span s) noexcept;

/// Gives back the whole pages below `sp`, on a stack on which no code runs. \returns how many bytes
/// were resident.
std::size_t give_back_below(stack_span s, void const* sp) noexcept;

}  // namespace weft::detail
