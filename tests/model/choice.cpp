// choice.cpp - sched/simulate/choice.hpp in the model build: every number is drawn, in one run or another.
#include "sched/simulate/choice.hpp"

#include "model/execution.hpp"

namespace weft::detail {

std::uint32_t choose(std::uint32_t n) noexcept { return model::execution::running().choose(n); }

}  // namespace weft::detail
