// scheduler_stops.cpp - how all fibers of a runtime are stopped (fiber_stop.hpp: how one is).
#include <array>
#include <new>
#include <span>

#include "sched/scheduler.hpp"
#include "sched/wait/fiber_stop.hpp"

namespace weft::detail {
namespace {

// Asks each of the fibers to stop and drops the references.
void stop_each(std::span<scheduler::fiber_guard> fibers) noexcept {
    for (scheduler::fiber_guard& f : fibers)
        if (!raise_stop(*f)) f.reset();
    heavy_fence();  // one fence for all of them
    for (scheduler::fiber_guard& f : fibers) {
        if (f) deliver_stop(*f);
        f.reset();
    }
}

}  // namespace

void scheduler::request_stop_of_all() noexcept {
    all_stopped_.store(true, relaxed);
    looks_at_starts_.store(true, relaxed);
    // Pairs with the light fence of a visit, together with the heavy one in living(): a fiber that
    // the walk below does not find has yet to start, and run_body() sees the flags.
    fence(seq_cst);
    try {
        auto all = living();
        stop_each(all);
    } catch (const std::bad_alloc&) {
        // Without memory for all, some at a time: unstopped() does not find stopped fibers again.
        std::array<fiber_guard, 32> some;
        while (const auto n = unstopped(some)) stop_each(std::span(some).first(n));
    }
}

}  // namespace weft::detail
