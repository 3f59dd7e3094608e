// scheduler_trim.cpp - gives back stack pages that waiting fibers have touched and do not use.
#include <algorithm>

#include "sched/scheduler.hpp"
#include "stack/high_water.hpp"
#include "stack/stack.hpp"

namespace weft::detail {
namespace {

// chosen: a fiber that is woken meanwhile waits for 50 us
constexpr std::size_t at_once = 16;
constexpr std::ptrdiff_t red_zone = 128;   // required: the processor's calling convention

// Called while the fiber is held (WAIT_WORD-7). A fiber inside a coroutine waits on another stack;
// then the saved stack pointer is not in its own, which is left alone.
std::size_t trim_stack(const control_block& f) noexcept {
    const auto* const sp = static_cast<const std::byte*>(f.ctx.sp);
    if (!f.home || sp < f.home->span.low + red_zone || sp >= f.home->span.high) return 0;
    return give_back_below(f.home->span, sp - red_zone);
}

}  // namespace

std::size_t scheduler::trim_waiting_stacks() {
    std::size_t bytes = 0;
    const auto all = living();
    std::vector<control_block*> fibers(all.size());
    std::transform(all.begin(), all.end(), fibers.begin(), [](const fiber_guard& f) { return f.get(); });
    for_each_seized(fibers, at_once, [&](control_block& f) { bytes += trim_stack(f); });
    return bytes;
}

}  // namespace weft::detail
