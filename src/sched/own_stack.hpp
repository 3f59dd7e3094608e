// own_stack.hpp - what the interfaces for other languages ask of the calling fiber's stack.
#pragma once

#include <weft/detail/export.hpp>

#include "arch/context.hpp"

namespace weft::detail {

/// \returns the stack of the calling fiber; null and null on a plain thread.
WEFT_EXPORT stack_span own_stack() noexcept;

/// The innermost deadline and shield of the calling fiber or thread.
struct open_frames {
    const void* deadline;
    const void* shield;
    friend bool operator==(const open_frames&, const open_frames&) noexcept = default;
};
WEFT_EXPORT open_frames frames_here() noexcept;

/// Whether the calling fiber may leave its body by a jump to the frame that called the body. It may
/// not inside a coroutine, a deadline, a shield or a pin, whose end the jump would skip.
WEFT_EXPORT bool may_jump_to_begin() noexcept;

}  // namespace weft::detail
