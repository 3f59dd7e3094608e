// interrupted.hpp - where a thread was when a signal came: what a handler finds in the third of its arguments.
#pragma once

#include <cstdint>

namespace weft::detail {

struct interrupted {
    std::uintptr_t code = 0;   // the next instruction
    std::uintptr_t stack = 0;  // the lowest byte in use, but for what a leaf keeps below it
    std::uintptr_t frame = 0;  // the innermost pair of (caller's frame, return address), if the code keeps such
};

/// `machine`: the handler's third argument. Async-signal-safe.
interrupted where_interrupted(const void* machine) noexcept;

}  // namespace weft::detail
