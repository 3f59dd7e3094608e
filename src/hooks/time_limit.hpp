// time_limit.hpp - until when a call waits, as its caller says it: a time of one of the system's clocks.
//
// A wait of a fiber lasts until the clock has reached that time by the clock's course at the beginning. If
// somebody sets the system's time meanwhile, the wait does not notice.
#pragma once

#include <time.h>

#include <cstdint>

#include "base/hook_table.hpp"

namespace weft::hooks {

struct time_limit {
    clockid_t clock;
    const timespec* at;  // null: none

    static constexpr time_limit none() noexcept { return {CLOCK_REALTIME, nullptr}; }
};

/// Whether the C library would wait so long. If not, its function says what is wrong, or does not wait at
/// all.
bool is_proper(const time_limit& l) noexcept;

/// \returns the time at which the limit ends, by the clock of waits.
std::int64_t until(const time_limit& l, const detail::hook_table& t) noexcept;

}  // namespace weft::hooks
