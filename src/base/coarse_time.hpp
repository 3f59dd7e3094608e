// coarse_time.hpp - points in time in 32 bits, for fields with no room for more.
//
// A stamp counts units of 4.2 ms of the runtime's clock, modulo 2^32. An age of more than 208 days
// is therefore reported too short.
#pragma once

#include <cstdint>

#include <weft/detail/clock.hpp>

namespace weft::detail {

using coarse_time = std::uint32_t;

// chosen: the time that is stamped is itself only exact to some milliseconds (worker::coarse_now())
inline constexpr int coarse_shift = 22;

constexpr coarse_time coarse(time_point t) noexcept {
    return static_cast<coarse_time>(static_cast<std::uint64_t>(t.time_since_epoch().count()) >> coarse_shift);
}

/// How long before `now` the stamp was taken. Zero if the stamp lies a little after `now`.
constexpr duration elapsed_since(coarse_time then, time_point now) noexcept {
    const auto units = static_cast<std::int32_t>(coarse(now) - then);
    // chosen: 4 s, more than any two readings of one clock differ
    constexpr std::int32_t ahead = -1024;
    if (units < 0 && units >= ahead) return duration::zero();
    return duration(static_cast<std::int64_t>(static_cast<coarse_time>(units)) << coarse_shift);
}

}  // namespace weft::detail
