// choice.hpp - the one source of every free choice: the victim of a theft, the case of a select.
//
// A simulated runtime seeds the generator of its thread.
#pragma once

#include <cstdint>

namespace weft::detail {

/// Makes the calling thread's choices follow `seed` from now on.
void seed_choices(std::uint64_t seed) noexcept;

/// \returns a number below n, evenly distributed; n > 0. Not for secrets.
std::uint32_t choose(std::uint32_t n) noexcept;

}  // namespace weft::detail
