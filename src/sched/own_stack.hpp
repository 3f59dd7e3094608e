// own_stack.hpp - what the interface for C asks of the calling fiber's stack, and of what is open on it.
#pragma once

#include <weft/detail/export.hpp>

#include <cstdint>

#include "arch/context.hpp"

namespace weft::detail {

/// \returns the stack of the calling fiber; null and null on a plain thread.
WEFT_EXPORT stack_span own_stack() noexcept;

/// What the calling fiber or thread has begun and not ended. In C nothing ends these by itself.
struct open_frames {
    const void* deadline;  // the innermost
    const void* shield;    // the innermost
    std::uint32_t pins;
    friend bool operator==(const open_frames&, const open_frames&) noexcept = default;
};
WEFT_EXPORT open_frames frames_here() noexcept;

/// Whether the calling fiber may leave its body by a jump to the frame that called the body. It may
/// not inside a coroutine or an open frame, whose end the jump would skip.
WEFT_EXPORT bool may_jump_to_begin() noexcept;

}  // namespace weft::detail
