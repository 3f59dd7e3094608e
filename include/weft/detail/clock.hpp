// clock.hpp - the one clock of the runtime: steady, in nanoseconds; virtual in a simulated runtime.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <chrono>

namespace weft::detail {

using time_point = std::chrono::steady_clock::time_point;
using duration = std::chrono::steady_clock::duration;

struct WEFT_EXPORT clock {
    using time_point = detail::time_point;
    using duration = detail::duration;
    using rep = duration::rep;
    using period = duration::period;
    static constexpr bool is_steady = true;

    /// The time of the caller's runtime; on a plain thread the time of the system.
    static time_point now() noexcept;
};

inline constexpr time_point never = time_point::max();
inline constexpr time_point long_past{};  // unlike min(), safe to subtract from

/// now + d without overflow. A wait too long to represent becomes never.
inline time_point deadline_after(std::chrono::nanoseconds d) noexcept {
    const auto now = clock::now();
    return d >= never - now ? never : now + d;
}

}  // namespace weft::detail
