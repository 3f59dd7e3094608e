// thread_word.hpp - a pointer per OS thread that no compiler may cache across a switch of stacks.
//
// Compilers treat the address of a thread_local as constant within a function. After a switch that
// returns on another OS thread they keep using the old thread's copy (gcc 12, clang 16 at -O2
// -fPIC; aarch64 always). So the address is never formed: WEFT_READ_THREAD_WORD reads the thread
// register, the offset and the word each time, in order with calls and memory accesses.
//
//     WEFT_DECLARE_THREAD_WORD(weft_carrier_word);   // in a header, at namespace scope
//     WEFT_DEFINE_THREAD_WORD(weft_carrier_word);    // in one source; null in every new thread
//     void* here; WEFT_READ_THREAD_WORD(here, weft_carrier_word);
//
// Writing is an ordinary assignment (`weft_carrier_word = p;`), in a function that does not switch.
#pragma once

#define WEFT_THREAD_WORD_ATTRIBUTES __attribute__((tls_model("initial-exec"), visibility("hidden")))
#define WEFT_DECLARE_THREAD_WORD(name) extern "C" WEFT_THREAD_WORD_ATTRIBUTES constinit thread_local void* name
#define WEFT_DEFINE_THREAD_WORD(name)                                                                                            \
    extern "C" {                                                                                                                 \
    WEFT_THREAD_WORD_ATTRIBUTES __attribute__((used)) constinit thread_local void* name = nullptr;                               \
    }                                                                                                                            \
    static_assert(true)

#if defined(__x86_64__)
#define WEFT_READ_THREAD_WORD(result, name)                                                                                      \
    asm volatile("movq " #name "@gottpoff(%%rip), %0\n\tmovq %%fs:(%0), %0" : "=r"(result) : : "memory")
#elif defined(__aarch64__)
#define WEFT_READ_THREAD_WORD(result, name)                                                                                      \
    do {                                                                                                                         \
        void* weft_offset;                                                                                                       \
        asm volatile("adrp %1, :gottprel:" #name "\n\tldr %1, [%1, #:gottprel_lo12:" #name                                       \
                     "]\n\t"                                                                                                     \
                     "mrs %0, tpidr_el0\n\tldr %0, [%0, %1]"                                                                     \
                     : "=&r"(result), "=&r"(weft_offset)                                                                         \
                     :                                                                                                           \
                     : "memory");                                                                                                \
    } while (false)
#else
#error "weft runs on x86-64 and aarch64"
#endif
