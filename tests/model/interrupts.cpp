// interrupts.cpp - fiber/interrupts.hpp in the model build: every thread has its cell, and nobody is asked to stop.
#include "fiber/interrupts.hpp"

#include "base/panic.hpp"
#include "sched/wait.hpp"

namespace weft::detail {

wait_cell& this_cell() noexcept { return parties::self(); }

std::optional<std::errc> pending_interrupt() noexcept { return std::nullopt; }

void throw_cancelled() { panic("nobody is asked to stop"); }

}  // namespace weft::detail
