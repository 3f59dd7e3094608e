// clock.hpp - the one clock of the runtime: steady, in nanoseconds, with a value for "never".
#pragma once

#include <chrono>

namespace weft::detail {

using clock = std::chrono::steady_clock;
using time_point = clock::time_point;
using duration = clock::duration;

inline constexpr time_point never = time_point::max();
inline constexpr time_point long_past{};  // safe to subtract from, unlike min()

/// now + d without overflow: an absurdly long wait means never.
inline time_point deadline_after(std::chrono::nanoseconds d) noexcept {
    const auto now = clock::now();
    return d >= never - now ? never : now + d;
}

}  // namespace weft::detail
