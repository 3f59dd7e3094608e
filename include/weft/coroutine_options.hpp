// coroutine_options.hpp - what a coroutine is made with, and the states that it goes through.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <cstddef>
#include <stdexcept>

namespace weft {

/// The state of a coroutine: done once its body has returned or thrown; suspended also before the
/// first call.
enum class coroutine_state { suspended, running, done };

/// Thrown by a call of a coroutine that is done.
class WEFT_EXPORT coroutine_done : public std::logic_error {
public:
    coroutine_done() : std::logic_error("the coroutine is done and cannot be called") {}
};

/// Options of a coroutine. See docs/guide/6-coroutines.md.
struct coroutine_options {
    /// Rounded up to a power of two; 0: 256 KiB. This is address space: only pages that are touched
    /// cost memory.
    std::size_t stack_bytes = 0;
};

}  // namespace weft
