// context.hpp - the one contract between weft and the processor: make a stack runnable, and go from one stack to another.
//
// Invariants
//   X1  A context is written by whoever leaves its stack and read by the one that goes on with it. In between nobody else
//       touches it; handing it to another OS thread needs a release and an acquire of the owner's making.
//   X2  Only what the calling convention says a function preserves is saved. The floating-point control word is not: code
//       that changes rounding or exception masks puts them back before it switches.
//   X3  The exception state is empty at every switch (E1 in `exception_state.hpp`).
//   X4  The bottom frame of a made stack is `weft_context_base`; unwinders, debuggers and backtrace() end there.
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
    void** tsan_fiber = nullptr;   // where the stack's owner keeps the handle of whatever runs on it; destroyed with the stack
#endif
};

/// A stack that is not running: where to go on.
struct context {
    void* sp = nullptr;
#if WEFT_UNDER_ASAN
    void* fake_stack = nullptr;
    void const* low = nullptr;     // made stacks know their bounds; those of an OS thread are learnt when it first leaves
    std::size_t bytes = 0;
#endif
#if WEFT_UNDER_TSAN
    void* tsan_fiber = nullptr;
#endif
};

/// Must not return; leaves by jump_context().
using context_entry = void (*)(void* argument) noexcept;

extern "C" {
[[gnu::visibility("hidden")]] void* weft_switch_context(void** save_sp, void* to_sp, void* passed) noexcept;
[[gnu::visibility("hidden")]] void* weft_hop_context(void** save_sp, void* to_sp, void* passed) noexcept;
[[noreturn, gnu::visibility("hidden")]] void weft_jump_context(void* to_sp, void* passed) noexcept;
[[gnu::visibility("hidden")]] void weft_context_base() noexcept;   // an address, never called
}

/// Lets the first switch to `c` call entry(argument) on `s`, 16-aligned, with nothing above it. `initial_top` lies in `s`;
/// what is between it and s.high belongs to the stack's owner.
void make_context(context& c, stack_span s, void* initial_top, context_entry entry, void* argument) noexcept;

/// Out of line: what is rare or only there under a sanitizer.
void* switch_with_exceptions(context& from, context& to, void* passed, exception_state& here) noexcept;
void* switch_annotated(context& from, context& to, void* passed) noexcept;
[[noreturn]] void jump_annotated(context& to, void* passed) noexcept;

/// Saves the caller in `from` and goes on in `to`. Returns when somebody switches back to `from`, possibly on another OS thread.
/// \returns what that one passed.
inline void* switch_context(context& from, context& to, void* passed = nullptr) noexcept {
    exception_state* const here = exception_state_here();
    if (!here->empty()) [[unlikely]]
        return switch_with_exceptions(from, to, passed, *here);
#if WEFT_UNDER_ASAN || WEFT_UNDER_TSAN
    return switch_annotated(from, to, passed);
#else
    return weft_switch_context(&from.sp, to.sp, passed);
#endif
}

/// The same while exception_state_is_clear().
inline void* switch_clear_context(context& from, context& to) noexcept {
#if WEFT_UNDER_ASAN || WEFT_UNDER_TSAN
    return switch_annotated(from, to, nullptr);
#else
    return weft_switch_context(&from.sp, to.sp, nullptr);
#endif
}

/// switch_context() for two stacks that hop to and fro between two places: it leaves by a jump, which is predicted by where one
/// came from, where a return would be mispredicted each time. Inside a scheduler it would cost more (switch-and-stacks.md).
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

/// Leaves this stack for good and goes on in `to`. Not from inside a handler (X3).
[[noreturn]] inline void jump_context(context& to, void* passed = nullptr) noexcept {
#if WEFT_UNDER_ASAN || WEFT_UNDER_TSAN
    jump_annotated(to, passed);
#else
    weft_jump_context(to.sp, passed);
#endif
}

}  // namespace weft::detail
