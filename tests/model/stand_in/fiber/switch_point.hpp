// switch_point.hpp - the checker switches wherever it likes, and needs nobody to ask.
#pragma once

namespace weft::detail {

inline void switch_point() noexcept {}

}  // namespace weft::detail
