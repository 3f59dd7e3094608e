// stack.hpp - the description of a stack, which lies at the stack's own upper end.
//
//     slot:  [ guard page | usable bytes ........ | struct stack | colour * 64 unused bytes ]
//
// The description shares a page with the stack's first frames, so a stack with shallow frames costs
// one page. Slots are an odd number of pages apart and have 16 colours, so the first frames of
// neighbours fall into different sets of both caches (docs/design/switch-and-stacks.md).
//
// Invariants
//   STACK-1  Between take() and give() a stack belongs to its taker; `next` is free for the taker's
//            own lists.
//   STACK-2  The memory under a stack stays mapped until give().
#pragma once

#include <cstddef>
#include <cstdint>

#include "arch/context.hpp"
#include "stack/guard.hpp"

namespace weft::detail {

class slab;
class thread_identity;

// chosen: more gain nothing (docs/measurements/switch-and-stacks.md)
inline constexpr std::size_t stack_colours = 16;
inline constexpr std::size_t stack_colour_bytes = 64;  // a cache line

struct alignas(stack_colour_bytes) stack {
    // span.high is the address of this struct, and a good initial top
    stack_span span;
    // the middle of the span: code above it has half of the stack left and may run another fiber on
    // it
    std::byte* middle = nullptr;
    stack* next = nullptr;
    slab* home = nullptr;
    // that of the fiber that runs on this stack, or null (sched/identity)
    thread_identity* identity = nullptr;
    std::uint32_t slot = 0;
    std::uint32_t valgrind_id = 0;
    guard_kind guard = guard_kind::none;
#if WEFT_UNDER_TSAN
    void* tsan_fiber = nullptr;
#endif

    [[nodiscard]] std::size_t bytes() const noexcept { return static_cast<std::size_t>(span.high - span.low); }
};

static_assert(WEFT_UNDER_TSAN || sizeof(stack) == stack_colour_bytes, "the description shall not push the first frame into another line");

}  // namespace weft::detail
