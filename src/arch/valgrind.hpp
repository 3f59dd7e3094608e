// valgrind.hpp - tells Valgrind, if it runs, which memory is a stack.
//
// A request to Valgrind is a sequence of instructions that does nothing on a processor. It is
// written out here so that every build supports Valgrind, without its header and without a flag.
// The sequences and the numbers are Valgrind's interface to compiled programs and do not change
// (valgrind.h, "client requests").
#pragma once

#include <cstdint>

#include "arch/context.hpp"

namespace weft::detail {

inline std::uintptr_t ask_valgrind(std::uintptr_t what, std::uintptr_t first = 0, std::uintptr_t second = 0) noexcept {
    const volatile std::uintptr_t question[6] = {what, first, second, 0, 0, 0};
    std::uintptr_t answer = 0;  // remains 0 if Valgrind does not run
#if defined(__x86_64__)
    asm volatile("rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\trolq $51, %%rdi\n\txchgq %%rbx, %%rbx"
                 : "+d"(answer)
                 : "a"(&question[0])
                 : "cc", "memory");
#elif defined(__aarch64__)
    asm volatile(
        "mov x3, %0\n\tmov x4, %1\n\t"
        "ror x12, x12, #3\n\tror x12, x12, #13\n\tror x12, x12, #51\n\tror x12, x12, #61\n\torr x10, x10, x10\n\t"
        "mov %0, x3"
        : "+r"(answer)
        : "r"(&question[0])
        : "cc", "memory", "x3", "x4");
#endif
    return answer;
}

inline bool running_on_valgrind() noexcept { return ask_valgrind(0x1001) != 0; }

/// \returns a number for valgrind_forgets().
inline std::uint32_t valgrind_learns(stack_span s) noexcept {
    return static_cast<std::uint32_t>(
        ask_valgrind(0x1501, reinterpret_cast<std::uintptr_t>(s.low), reinterpret_cast<std::uintptr_t>(s.high - 1)));
}

inline void valgrind_forgets(std::uint32_t id) noexcept { static_cast<void>(ask_valgrind(0x1502, id)); }

}  // namespace weft::detail
