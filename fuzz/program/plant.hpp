// plant.hpp - what can be made wrong on purpose, to see that the judgement finds it.
#pragma once

#include <cstdint>

namespace weft::fuzz {

enum class plant : std::uint8_t {
    nothing,
    lost_value,       ///< a receive takes two values and gives one
    doubled_value,    ///< a receive gives the last value again
    swapped_values,   ///< a receive gives the second value before the first
    empty_too_early,  ///< a try_receive does not look
    early_timeout,    ///< half of the limit is enough
    deafness,         ///< a wait does not end by a stop
    lost_wake_up,     ///< a token is announced before it is there
    lost_permit,      ///< some releases release nothing
    lost_set,         ///< some events are set for nobody
    open_mutex,       ///< a lock in four locks nothing
    forgotten_fiber,  ///< a scope does not wait for one of its children
    chance,           ///< somebody asks a clock which no seed decides
    last = chance
};

}  // namespace weft::fuzz
