// swallowed.hpp - since when a fiber has swallowed `cancelled`, which is thrown again and again.
#pragma once

#include "fiber/control_block.hpp"

namespace weft::detail {

/// \returns how long ago `cancelled` was first thrown in the fiber since it was asked to stop, to a
/// second and modulo 19 hours. A hint for other threads.
duration swallows_since(const control_block&, time_point now) noexcept;

}  // namespace weft::detail
