// pauses.hpp - how long a client waits before it tries to connect again.
#pragma once

#include <algorithm>

#include <weft/detail/clock.hpp>

namespace weft::detail::redis {

/// The time of the next attempt, after so many that the server has answered nothing in. A
/// connection that worked is reopened at once, since a server that closes idle connections is
/// healthy.
inline time_point pause_after(unsigned failures) noexcept {
    using namespace std::chrono_literals;
    if (failures == 0) return clock::now();
    constexpr unsigned most_doublings = 6;
    return clock::now() + std::min<duration>(50ms * (1u << std::min(failures - 1, most_doublings)), 2s);
}

}  // namespace weft::detail::redis
