// overflow.hpp - what becomes of a value for which there is no room.
#pragma once

#include <weft/detail/requirements.hpp>

#include <chrono>
#include <cstdint>

namespace weft {

/// What becomes of a value that finds no room.
///
/// park: the sender waits. drop_oldest: the oldest stored value makes room. drop_newest: the value
/// itself is dropped. fail: the sender is told. back_off: the sender waits for 75 ms at most, and
/// is then told; a mailbox refuses this one.
enum class overflow : std::uint8_t { park, drop_oldest, drop_newest, fail, back_off };

namespace detail {

// chosen: the pauses of Quasar's BACKOFF, in all
inline constexpr std::chrono::milliseconds back_off_time(75);

}  // namespace detail

}  // namespace weft
