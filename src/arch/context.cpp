// context.cpp - builds the first frame of a stack, and tells sanitizers about switches.
#include "arch/context.hpp"

#include <cstdint>
#include <new>

#if defined(__x86_64__)
#include "arch/x86_64/frame.hpp"
#elif defined(__aarch64__)
#include "arch/aarch64/frame.hpp"
#endif

namespace weft::detail {
namespace {

constexpr std::uintptr_t stack_alignment = 16;  // required by both calling conventions at a call

#if WEFT_UNDER_ASAN
// Lies on the stack that is left; the code that arrives on the other stack reads it at once.
struct arrival {
    context* left;  // null if the stack is left for good
    void* passed;
};

// Finishes a switch, on the stack that goes on, and learns the bounds of the stack that was left.
// For the stack of an OS thread they are known only now.
WEFT_NOT_SANITIZED void* finish_switch(void* fake_stack, void* arrived) noexcept {
    auto const from = *static_cast<arrival*>(arrived);
    void const* low = nullptr;
    std::size_t bytes = 0;
    __sanitizer_finish_switch_fiber(fake_stack, &low, &bytes);
    if (from.left != nullptr) {
        from.left->low = low;
        from.left->bytes = bytes;
    }
    return from.passed;
}

WEFT_NOT_SANITIZED void begin_annotated(void* argument, void* arrived, context_entry entry) noexcept {
    finish_switch(nullptr, arrived);
    entry(argument);
}
#endif

}  // namespace

void make_context(context& c, stack_span s, void* initial_top, context_entry entry, void* argument) noexcept {
    auto* const top = static_cast<std::byte*>(initial_top) - (reinterpret_cast<std::uintptr_t>(initial_top) % stack_alignment);
    auto* const frame = ::new (top - sizeof(saved_frame)) saved_frame{};
#if WEFT_UNDER_ASAN
    c.fake_stack = nullptr;
    c.low = s.low;
    c.bytes = static_cast<std::size_t>(s.high - s.low);
    set_first_call(*frame, reinterpret_cast<void*>(&begin_annotated), argument, reinterpret_cast<void*>(entry));
#else
    set_first_call(*frame, reinterpret_cast<void*>(entry), argument, nullptr);
#endif
#if WEFT_UNDER_TSAN
    // A new handle for each use. The last user may have left for good, with its calls still on the
    // handle's shadow stack.
    if (*s.tsan_fiber != nullptr) __tsan_destroy_fiber(*s.tsan_fiber);
    c.tsan_fiber = *s.tsan_fiber = __tsan_create_fiber(0);
#endif
    static_cast<void>(s);
    c.sp = frame;
}

[[gnu::noinline]] void* switch_with_exceptions(context& from, context& to, void* passed, exception_state& here) noexcept {
    exception_state const mine = here;
    here = {};  // CONTEXT-3
    void* const got = switch_context(from, to, passed);
    *exception_state_here() = mine;  // of the thread that runs this stack now (EXCEPTION_STATE-2)
    return got;
}

#if WEFT_UNDER_ASAN
WEFT_NOT_SANITIZED void* switch_annotated(context& from, context& to, void* passed) noexcept {
    arrival out{&from, passed};
    __sanitizer_start_switch_fiber(&from.fake_stack, to.low, to.bytes);
    void* const arrived = weft_switch_context(&from.sp, to.sp, &out);
    return finish_switch(from.fake_stack, arrived);
}

WEFT_NOT_SANITIZED void jump_annotated(context& to, void* passed) noexcept {
    arrival out{nullptr, passed};
    __sanitizer_start_switch_fiber(nullptr, to.low, to.bytes);
    weft_jump_context(to.sp, &out);
}
#elif WEFT_UNDER_TSAN
// With flag 0, what was done before the switch happens before what follows it.
WEFT_NOT_SANITIZED void* switch_annotated(context& from, context& to, void* passed) noexcept {
    from.tsan_fiber = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(to.tsan_fiber, 0);
    return weft_switch_context(&from.sp, to.sp, passed);
}

WEFT_NOT_SANITIZED void jump_annotated(context& to, void* passed) noexcept {
    __tsan_switch_to_fiber(to.tsan_fiber, 0);
    weft_jump_context(to.sp, passed);
}
#endif

}  // namespace weft::detail
