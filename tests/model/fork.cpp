// fork.cpp - nobody forks in the model build.
#include "base/fork.hpp"

namespace weft::detail {

void follow_forks(const fork_steps&) noexcept {}

}  // namespace weft::detail
