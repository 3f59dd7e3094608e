// interrupted.hpp - where a thread was when a signal came, from the third argument of the handler.
#pragma once

#include <cstdint>

namespace weft::detail {

struct interrupted {
    std::uintptr_t code = 0;  // the next instruction
    // the lowest byte in use, except for what a leaf function keeps below it
    std::uintptr_t stack = 0;
    // the innermost pair of (caller's frame, return address), if the code keeps such pairs
    std::uintptr_t frame = 0;
};

/// `machine`: the handler's third argument. Async-signal-safe.
interrupted where_interrupted(const void* machine) noexcept;

}  // namespace weft::detail
