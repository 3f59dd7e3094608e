// virtual_clock.hpp - how a higher layer gives some threads a time of their own.
#pragma once

#include <optional>

#include <weft/detail/clock.hpp>

namespace weft::detail {

/// What time it is for the calling thread, if not that of the system.
using time_source = std::optional<time_point> (*)() noexcept;

/// For good: `f` is asked at each reading of the clock from now on, on every thread.
void ask_for_time(time_source f) noexcept;

/// Whether anybody is asked: if not, the system's other clocks agree with clock::now().
bool time_is_asked_for() noexcept;

}  // namespace weft::detail
