// coarse_time.hpp - points in time in 32 bits, to be stored where there is no room for more: "since when" of a wait.
//
// A stamp counts units of 4.2 ms of the runtime's clock, modulo 2^32: who asks later than 208 days hears too short a time.
#pragma once

#include <cstdint>

#include <weft/detail/clock.hpp>

namespace weft::detail {

using coarse_time = std::uint32_t;

inline constexpr int coarse_shift = 22;  // chosen: what is stamped is known to some milliseconds (worker::coarse_now())

constexpr coarse_time coarse(time_point t) noexcept {
    return static_cast<coarse_time>(static_cast<std::uint64_t>(t.time_since_epoch().count()) >> coarse_shift);
}

/// How long before `now` that was; zero for what lies a little ahead of it.
constexpr duration elapsed_since(coarse_time then, time_point now) noexcept {
    const auto units = static_cast<std::int32_t>(coarse(now) - then);
    constexpr std::int32_t ahead = -1024;  // chosen: 4 s, more than any two readings of one clock differ
    if (units < 0 && units >= ahead) return duration::zero();
    return duration(static_cast<std::int64_t>(static_cast<coarse_time>(units)) << coarse_shift);
}

}  // namespace weft::detail
