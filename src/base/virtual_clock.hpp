// virtual_clock.hpp - how a higher layer gives some threads a time of their own.
#pragma once

#include <optional>

#include <weft/detail/clock.hpp>

namespace weft::detail {

/// The time for the calling thread, or nothing if the system's clock counts for it.
using time_source = std::optional<time_point> (*)() noexcept;

/// From now on, each reading of the clock on every thread asks `f`. It cannot be undone.
void ask_for_time(time_source f) noexcept;

/// Whether a time source is set. If not, the system's other clocks agree with clock::now().
bool time_is_asked_for() noexcept;

}  // namespace weft::detail
