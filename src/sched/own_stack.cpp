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
    const auto* const self = this_fiber_block();
    return {slot.deadlines, slot.shields, self ? self->cold().pins : 0};
}

bool may_jump_to_begin() noexcept {
    const auto* const self = this_fiber_block();
    return self && !self->cold().slot.innermost && frames_here() == open_frames{};
}

}  // namespace weft::detail
