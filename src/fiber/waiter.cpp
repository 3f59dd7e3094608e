#include "fiber/waiter.hpp"

#include "base/futex.hpp"

namespace weft::detail {

void unpark(wait_cell& cell) noexcept {
    cell.word.unpark();
    if (auto* const signal = cell.thread_signal) {
        signal->store(1, release);  // pairs with the acquire in park_thread(); the cell may be gone from here on,
        futex_wake(*signal, 1);     // which harms nobody: the kernel takes an address, and every sleeper rechecks
        return;
    }
    cell.make_ready.load(relaxed)(cell);  // ordered by the claim
}

void interrupt(wait_cell& cell) noexcept {
    const auto ticket = cell.word.interruptible_ticket();
    if (!ticket || !cell.word.claim(*ticket)) return;
    cell.outcome = outcome_stopped;
    unpark(cell);
}

}  // namespace weft::detail
