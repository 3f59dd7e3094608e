// valgrind.hpp - tells Valgrind, where its headers are there and it is running, which memory is a stack.
#pragma once

#include <cstdint>

#include "arch/context.hpp"

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#define WEFT_HAS_VALGRIND 1
#else
#define WEFT_HAS_VALGRIND 0
#endif

namespace weft::detail {

inline bool running_on_valgrind() noexcept {
#if WEFT_HAS_VALGRIND
    return RUNNING_ON_VALGRIND != 0;
#else
    return false;
#endif
}

/// \returns a number to give to valgrind_forgets().
inline std::uint32_t valgrind_learns([[maybe_unused]] stack_span s) noexcept {
#if WEFT_HAS_VALGRIND
    if (running_on_valgrind()) return static_cast<std::uint32_t>(VALGRIND_STACK_REGISTER(s.low, s.high - 1));
#endif
    return 0;
}

inline void valgrind_forgets([[maybe_unused]] std::uint32_t id) noexcept {
#if WEFT_HAS_VALGRIND
    if (running_on_valgrind()) VALGRIND_STACK_DEREGISTER(id);
#endif
}

}  // namespace weft::detail
