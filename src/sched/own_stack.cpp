#include "sched/own_stack.hpp"

#include "arch/coroutine_slot.hpp"
#include "sched/carrier.hpp"
#include "stack/stack.hpp"

namespace weft::detail {

stack_span own_stack() noexcept {
    const auto* const self = this_fiber_block();
    return self ? self->home->span : stack_span{};
}

open_frames frames_here() noexcept {
    const auto& slot = current_coroutine();
    return {slot.deadlines, slot.shields};
}

bool may_jump_to_begin() noexcept {
    const auto* const self = this_fiber_block();
    if (!self) return false;
    const auto& slot = self->cold().slot;
    return !slot.innermost && !slot.deadlines && !slot.shields && self->cold().pins == 0;
}

}  // namespace weft::detail
