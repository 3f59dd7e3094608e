#include "fiber/waiter.hpp"

#include "base/futex.hpp"

namespace weft::detail {

void unpark(wait_cell& cell) noexcept {
    cell.word.unpark();
    if (auto* const signal = cell.thread_signal) {
        // Pairs with the acquire in park_thread(). From here on the cell may be gone, and the next
        // line may use a dead address. That does no harm: the kernel only takes the address, and
        // every sleeper looks again.
        signal->store(1, release);
        futex_wake(*signal, 1);
        return;
    }
    cell.make_ready.load(relaxed)(cell);  // relaxed: ordered by the claim
}

void interrupt(wait_cell& cell) noexcept {
    const auto ticket = cell.word.interruptible_ticket();
    if (!ticket || !cell.word.claim(*ticket)) return;
    cell.outcome = outcome_stopped;
    unpark(cell);
}

}  // namespace weft::detail
