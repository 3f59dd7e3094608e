// wait_end.hpp - why a wait ended.
#pragma once

#include <cstdint>

namespace weft::detail {

/// notified: another fiber or thread has claimed one of the waiters of this wait and unparked it.
/// timed_out: the deadline has passed. stopped: the fiber was asked to stop. stopped_by_token: a
/// token that was given to wait_on() was stopped; wait::park() itself does not return this.
enum class wait_end : std::uint8_t { notified, timed_out, stopped, stopped_by_token };

}  // namespace weft::detail
