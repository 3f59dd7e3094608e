// futex.hpp - sleeping on a 32-bit word until another thread of this process changes and wakes it.
//
// Rules
//   FUTEX-1  futex_wait() sleeps only if the word still holds `expected` when the kernel looks.
//            Looking and falling asleep are one step with respect to futex_wake(). So: change the
//            word first, then wake.
//   FUTEX-2  `woken` may be spurious. The caller always looks at the word again, with the memory
//            order it needs.
//   FUTEX-3  Neither call orders other accesses of the caller; the accesses to the word must do
//            that.
#pragma once

#include <weft/detail/export.hpp>

#include <cstdint>
#include <optional>

#include "base/atomic.hpp"

namespace weft::detail {

enum class [[nodiscard]] futex_result : std::uint8_t { woken, timed_out, changed };

using futex_word = atomic<std::uint32_t>;
// nanoseconds of CLOCK_MONOTONIC, which is the clock of std::chrono::steady_clock
using monotonic_ns = std::int64_t;

WEFT_EXPORT futex_result futex_wait(const futex_word& word, std::uint32_t expected,
                        std::optional<monotonic_ns> deadline = std::nullopt) noexcept;

/// \returns how many sleepers were woken, at most n.
WEFT_EXPORT int futex_wake(const futex_word& word, int n) noexcept;

}  // namespace weft::detail
