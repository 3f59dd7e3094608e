// hook_time.hpp - a time of the table of hooks (base/hook_table.hpp) as the core has it.
//
// The library of hooks must not include this: it is linked with nothing of weft.
#pragma once

#include <weft/detail/clock.hpp>

#include "base/hook_table.hpp"

namespace weft::detail {

inline time_point time_of_hook(std::int64_t until) noexcept {
    return until == hook_never ? never : time_point(std::chrono::nanoseconds(until));
}

}  // namespace weft::detail
