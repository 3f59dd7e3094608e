// choice.hpp - the one source of every free choice: the victim of a theft, the case of a select. A seeded run replaces it.
#pragma once

#include <cstdint>

namespace weft::detail {

/// A number below n, evenly distributed; n > 0. Not for secrets.
std::uint32_t choose(std::uint32_t n) noexcept;

}  // namespace weft::detail
