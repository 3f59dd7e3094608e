// spinning.hpp - a function that only computes, to be found on a stack.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "arch/sanitizer.hpp"

namespace weft::test {

/// Calls nothing, under a sanitizer neither: what one calls for an atomic operation has no frame
/// pointer, so that the chain of callers could end there.
[[gnu::noinline]] WEFT_NOT_SANITIZED inline void spin_until(const std::atomic<bool>& over) {
    // Room of a size that the compiler does not know has it keep a frame pointer, in an optimized build too.
    const volatile std::size_t some = 16;
    *static_cast<volatile char*>(__builtin_alloca(some)) = 0;
    const auto& plain = reinterpret_cast<const volatile bool&>(over);
    while (!plain) {}
}

/// \returns whether the address is in the function's code, for functions of 512 bytes at most.
template <class Function>
bool lies_in(const void* address, Function* function) {
    const auto at = reinterpret_cast<std::uintptr_t>(address), from = reinterpret_cast<std::uintptr_t>(function);
    return at >= from && at - from < 512;
}

}  // namespace weft::test
