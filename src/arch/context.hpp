// context.hpp - weft's contract with the processor: make a stack runnable, and switch stacks.
//
// Invariants
//   CONTEXT-1  The code that leaves a stack writes its context, and the code that goes on with the
//              stack reads it. In between no other code touches it. To hand a context to another OS
//              thread, its owner must provide a release and an acquire.
//   CONTEXT-2  A switch saves only what the calling convention says that a function preserves. It
//              does not save the floating-point control word: code that changes rounding or
//              exception masks restores them before it switches.
//   CONTEXT-3  The exception state is empty at every switch (EXCEPTION_STATE-1).
//   CONTEXT-4  The bottom frame of a made stack is `weft_context_base`. Unwinders, debuggers and
//              backtrace() end there.
#pragma once

#include <cstddef>

#include "arch/exception_state.hpp"
#include "arch/sanitizer.hpp"

namespace weft::detail {

/// The usable bytes of a stack: [low, high).
struct stack_span {
    std::byte* low = nullptr;
    std::byte* high = nullptr;
#if WEFT_UNDER_TSAN
    // where the stack's owner keeps the handle of the code that runs on it; destroyed with the
    // stack
    void** tsan_fiber = nullptr;
#endif
};

/// A stack that is not running, and the place where it goes on.
struct context {
    void* sp = nullptr;
#if WEFT_UNDER_ASAN
    void* fake_stack = nullptr;
    // made stacks know their bounds; those of an OS thread are learnt when it first leaves its
    // stack
    void const* low = nullptr;
    std::size_t bytes = 0;
#endif
#if WEFT_UNDER_TSAN
    void* tsan_fiber = nullptr;
#endif
};

/// Must not return; it leaves by jump_context().
using context_entry = void (*)(void* argument) noexcept;

extern "C" {
[[gnu::visibility("hidden")]] void* weft_switch_context(void** save_sp, void* to_sp, void* passed) noexcept;
[[gnu::visibility("hidden")]] void* weft_hop_context(void** save_sp, void* to_sp, void* passed) noexcept;
[[noreturn, gnu::visibility("hidden")]] void weft_jump_context(void* to_sp, void* passed) noexcept;
// only its address is used; it is never called
[[gnu::visibility("hidden")]] void weft_context_base() noexcept;
}

/// Makes the first switch to `c` call entry(argument) on `s`, with the stack aligned to 16 and no
/// other frame above. `initial_top` lies in `s`; the bytes between it and s.high belong to the
/// stack's owner.
void make_context(context& c, stack_span s, void* initial_top, context_entry entry, void* argument) noexcept;

/// Out of line, because they are rare or exist only under a sanitizer.
void* switch_with_exceptions(context& from, context& to, void* passed, exception_state& here) noexcept;
void* switch_annotated(context& from, context& to, void* passed) noexcept;
[[noreturn]] void jump_annotated(context& to, void* passed) noexcept;

/// Saves the caller in `from` and goes on in `to`. Returns when other code switches back to `from`,
/// possibly on another OS thread.
/// `here`: the caller's exception state.
/// \returns the word that was passed with that switch.
inline void* switch_context(context& from, context& to, void* passed, exception_state& here) noexcept {
    if (!here.empty()) [[unlikely]]
        return switch_with_exceptions(from, to, passed, here);
#if WEFT_UNDER_ASAN || WEFT_UNDER_TSAN
    return switch_annotated(from, to, passed);
#else
    return weft_switch_context(&from.sp, to.sp, passed);
#endif
}

inline void* switch_context(context& from, context& to, void* passed = nullptr) noexcept {
    return switch_context(from, to, passed, *exception_state_here());
}

/// switch_context() for callers for which exception_state_is_clear() holds.
inline void* switch_clear_context(context& from, context& to) noexcept {
#if WEFT_UNDER_ASAN || WEFT_UNDER_TSAN
    return switch_annotated(from, to, nullptr);
#else
    return weft_switch_context(&from.sp, to.sp, nullptr);
#endif
}

/// switch_context() for two stacks that hop to and fro between two fixed places. It leaves the
/// stack by a jump, which the processor predicts by where it came from; a return would be
/// mispredicted each time. Inside a scheduler it would cost more (switch-and-stacks.md).
inline void* hop_context(context& from, context& to, void* passed = nullptr) noexcept {
#if WEFT_UNDER_ASAN || WEFT_UNDER_TSAN
    return switch_context(from, to, passed);
#else
    exception_state* const here = exception_state_here();
    if (!here->empty()) [[unlikely]]
        return switch_with_exceptions(from, to, passed, *here);
    return weft_hop_context(&from.sp, to.sp, passed);
#endif
}

/// Leaves this stack for good and goes on in `to`. Must not be called inside an exception handler
/// (CONTEXT-3).
[[noreturn]] inline void jump_context(context& to, void* passed = nullptr) noexcept {
#if WEFT_UNDER_ASAN || WEFT_UNDER_TSAN
    jump_annotated(to, passed);
#else
    weft_jump_context(to.sp, passed);
#endif
}

}  // namespace weft::detail
