// futex.hpp - sleeping on a 32-bit word until another thread of this process changes it and says so.
//
// Rules
//   F1  wait() sleeps only if the word still holds `expected` when the kernel looks; look and sleep are one step
//       with respect to wake(). So: change the word, then wake().
//   F2  woken may be spurious. The caller always looks at the word again, with the order it needs.
//   F3  Neither call orders the caller's other accesses; that is the word's business.
#pragma once

#include <cstdint>
#include <optional>

#include "base/atomic.hpp"

namespace weft::detail {

enum class [[nodiscard]] futex_result : std::uint8_t { woken, timed_out, changed };

using futex_word = atomic<std::uint32_t>;
using monotonic_ns = std::int64_t;  ///< a point on CLOCK_MONOTONIC in nanoseconds, the clock of std::chrono::steady_clock

futex_result futex_wait(const futex_word& word, std::uint32_t expected,
                        std::optional<monotonic_ns> deadline = std::nullopt) noexcept;

/// \returns how many sleepers were woken, at most n.
int futex_wake(const futex_word& word, int n) noexcept;

}  // namespace weft::detail
