// overflow.hpp - what becomes of a value for which there is no room.
#pragma once

#include <cstdint>

namespace weft {

/// What becomes of a value that finds no room.
///
/// park: the sender waits. drop_oldest: the oldest stored value makes room. drop_newest: the value
/// itself is dropped. fail: the sender is told.
enum class overflow : std::uint8_t { park, drop_oldest, drop_newest, fail };

}  // namespace weft
