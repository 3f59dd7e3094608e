// thread_pointer.hpp - the register by which code finds its thread's block and thread_local objects.
//
// It is %fs of x86-64 and TPIDR_EL0 of aarch64. Compilers take it for constant within a function, so a
// function that sets it uses no thread_local object, and nothing that does is inlined into it
// (arch/thread_word.hpp).
#pragma once

#include <cstdint>

namespace weft::detail {

inline std::uintptr_t thread_pointer() noexcept {
    std::uintptr_t value;
#if defined(__x86_64__)
    // the ABI: the first word of a thread's block is the address of the block
    asm volatile("movq %%fs:0, %0" : "=r"(value) : : "memory");
#elif defined(__aarch64__)
    asm volatile("mrs %0, tpidr_el0" : "=r"(value) : : "memory");
#else
#error "weft runs on x86-64 and aarch64"
#endif
    return value;
}

#if defined(__x86_64__)

/// Whether a program may set %fs by the instruction wrfsbase: on Linux 5.9 or later, if the processor has it.
/// The instruction takes 13 ns, a system call 170 ns.
[[gnu::visibility("hidden")]] extern bool thread_pointer_is_set_by_instruction;

/// By arch_prctl(). \returns  whether the kernel has done it.
bool set_thread_pointer_by_system_call(std::uintptr_t value) noexcept;

inline void set_thread_pointer(std::uintptr_t value) noexcept {
    if (thread_pointer_is_set_by_instruction) [[likely]] {
        asm volatile("wrfsbase %0" : : "r"(value) : "memory");
    } else {
        static_cast<void>(set_thread_pointer_by_system_call(value));
    }
}

/// Whether set_thread_pointer() works here. Called when a process first wants an identity.
inline bool thread_pointer_can_be_set() noexcept {
    return thread_pointer_is_set_by_instruction || set_thread_pointer_by_system_call(thread_pointer());
}

#else

inline void set_thread_pointer(std::uintptr_t value) noexcept { asm volatile("msr tpidr_el0, %0" : : "r"(value) : "memory"); }
inline bool thread_pointer_can_be_set() noexcept { return true; }

#endif

}  // namespace weft::detail
