// reasons.hpp - what dumps call the waits of this layer's younger primitives.
//
// `park_reason` has no value of its own for these yet: each borrows that of its next of kin.
#pragma once

#include "fiber/park_reason.hpp"

namespace weft::detail::reason {

inline constexpr park_reason shared_mutex = park_reason::mutex;
inline constexpr park_reason once = park_reason::mutex;
inline constexpr park_reason semaphore = park_reason::condition_variable;
inline constexpr park_reason event = park_reason::condition_variable;
inline constexpr park_reason latch = park_reason::wait_group;
inline constexpr park_reason barrier = park_reason::wait_group;
inline constexpr park_reason ivar = park_reason::condition_variable;
inline constexpr park_reason ticker = park_reason::sleep;

}  // namespace weft::detail::reason
