// swallowed.hpp - since when a fiber has been thrown `cancelled`, again and again.
#pragma once

#include "fiber/control_block.hpp"

namespace weft::detail {

/// How long ago `cancelled` was first thrown in it since it was asked to stop, to a second and modulo 19 hours; a hint to others.
duration swallows_since(const control_block&, time_point now) noexcept;

}  // namespace weft::detail
