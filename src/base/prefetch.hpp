// prefetch.hpp - has the memory that is used soon fetched into the caches meanwhile.
#pragma once

#include <cstddef>

namespace weft::detail {

inline constexpr std::size_t cache_line = 64;

/// Fetches `bytes` from `p` on, a line for each 64 of them. A hint: nothing happens where there is no memory.
[[gnu::always_inline]] inline void prefetch(const void* p, std::size_t bytes) noexcept {
    for (std::size_t at = 0; at < bytes; at += cache_line) __builtin_prefetch(static_cast<const std::byte*>(p) + at, 1);
    // g++ 12 takes a function that does nothing else for one without effect, and drops its calls.
    asm volatile("");
}

}  // namespace weft::detail
