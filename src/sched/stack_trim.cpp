// stack_trim.cpp - gives back what waiting fibers have touched of their stacks and do not use while they wait.
#include <span>

#include "sched/scheduler.hpp"
#include "stack/high_water.hpp"
#include "stack/stack.hpp"

namespace weft::detail {
namespace {

constexpr std::size_t at_once = 16;        // chosen: who is woken meanwhile waits for 50 us
constexpr std::ptrdiff_t red_zone = 128;   // required: the processor's calling convention

// Without membarrier the heavy fence is an ordinary one, and wants one on the other side, too (W7): there the exchange of a claim is one.
bool is_possible() noexcept {
#if defined(__x86_64__) || defined(WEFT_TSAN)
    return true;
#else
    return fences_are_unequal;
#endif
}

// Held (W7). Inside a coroutine it waits on another stack, and its own ends at the call.
std::size_t trim(const control_block& f) noexcept {
    const auto* const sp = static_cast<const std::byte*>(f.ctx.sp);
    if (!f.home || sp < f.home->span.low + red_zone || sp >= f.home->span.high) return 0;
    return give_back_below(f.home->span, sp - red_zone);
}

std::size_t trim_some(std::span<scheduler::held_fiber> fibers) noexcept {
    for (auto& f : fibers)
        if (f->rest().word.state() != wait_state::waiting || !f->rest().word.seize()) f.reset();  // a hint first
    heavy_fence();  // one for all
    std::size_t bytes = 0;
    for (auto& f : fibers) {
        if (!f) continue;
        if (f->rest().word.is_held()) bytes += trim(*f);
        f->rest().word.unseize();
    }
    return bytes;
}

}  // namespace

std::size_t scheduler::trim_waiting_stacks() {
    if (!is_possible()) return 0;
    const std::lock_guard one(trimming_);
    auto all = living();
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < all.size(); i += at_once)
        bytes += trim_some(std::span(all).subspan(i, std::min(at_once, all.size() - i)));
    return bytes;
}

}  // namespace weft::detail
