// clock.hpp - the one clock of the runtime: steady, in nanoseconds, with a value for "never". In a simulated runtime it is virtual.
#pragma once

#include <weft/detail/requirements.hpp>

#include <chrono>

namespace weft::detail {

using time_point = std::chrono::steady_clock::time_point;
using duration = std::chrono::steady_clock::duration;

struct clock {
    using time_point = detail::time_point;
    using duration = detail::duration;
    using rep = duration::rep;
    using period = duration::period;
    static constexpr bool is_steady = true;

    /// As the caller's runtime has it; of the system on a plain thread.
    static time_point now() noexcept;
};

inline constexpr time_point never = time_point::max();
inline constexpr time_point long_past{};  // safe to subtract from, unlike min()

/// now + d without overflow: an absurdly long wait means never.
inline time_point deadline_after(std::chrono::nanoseconds d) noexcept {
    const auto now = clock::now();
    return d >= never - now ? never : now + d;
}

}  // namespace weft::detail
