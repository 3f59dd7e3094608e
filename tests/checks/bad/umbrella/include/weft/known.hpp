// known.hpp - a public header that reaches the requirements through another.
#pragma once

#include <weft/detail/inner.hpp>

namespace weft {
class known {};
}  // namespace weft
