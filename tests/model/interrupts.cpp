// interrupts.cpp - fiber/interrupts.hpp in the model build: every thread has its cell and can be asked to stop. Nobody has a deadline
// around what he does, or a shield.
#include "fiber/interrupts.hpp"

#include "sched/wait/wait.hpp"

namespace weft::detail {

wait_cell& this_cell() noexcept { return parties::self(); }

// The caller has seen that it is asked to stop.
std::optional<std::errc> pending_interrupt(const wait_cell&) noexcept { return std::errc::operation_canceled; }

void throw_cancelled() { throw cancelled(); }

}  // namespace weft::detail
