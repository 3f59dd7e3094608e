// system_call.hpp - a system call without the C library's wrapper.
//
// Two reasons. A library that stands before the C library's blocking calls (docs/design/hooks.md) must
// never see those of the runtime: it would park a fiber in the midst of a visit to the scheduler. And
// the wrappers of calls that may block, recv() and send() among them, are cancellation points: they
// write and check the state of the thread before and after the call, which takes as many instructions
// as the rest of them. A thread that runs fibers is not cancelled, and what weft calls here does not
// block, or is the wait of such a thread.
//
// syscall() would go around as well, since nothing of weft's stands before it. Inline assembly takes
// fewer instructions, and keeps the error out of errno.
//
// The calls that have names are in direct.hpp.
#pragma once

#include <cerrno>
#include <cstddef>

#include "base/under_sanitizer.hpp"

namespace weft::detail {

// Sanitizers see what the wrappers do, and nothing else: TSan takes an order of two threads from it,
// ASan checks the buffers. So their builds call the wrappers.
#define WEFT_CALLS_DIRECTLY (!WEFT_UNDER_ASAN && !WEFT_UNDER_TSAN)

// The kernel does not keep the registers of SVE, and only a call tells the compiler.
#if defined(__ARM_FEATURE_SVE)
#define WEFT_SYSTEM_CALL_IS_CALLED [[gnu::noinline]]
#else
#define WEFT_SYSTEM_CALL_IS_CALLED
#endif

/// Arguments as the kernel takes them. It does not touch errno.
/// \returns  the result, or the negated error.
WEFT_SYSTEM_CALL_IS_CALLED inline long system_call(long number, long a, long b, long c, long d, long e, long f) noexcept {
#if defined(__x86_64__)
    register long r10 asm("r10") = d;
    register long r8 asm("r8") = e;
    register long r9 asm("r9") = f;
    long result;
    asm volatile("syscall"
                 : "=a"(result)
                 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                 : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 asm("x8") = number;
    register long x0 asm("x0") = a;
    register long x1 asm("x1") = b;
    register long x2 asm("x2") = c;
    register long x3 asm("x3") = d;
    register long x4 asm("x4") = e;
    register long x5 asm("x5") = f;
    asm volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
#else
#error "weft runs on x86-64 and aarch64"
#endif
}

template <class T>
long system_argument(T* pointer) noexcept {
    return reinterpret_cast<long>(pointer);
}

/// What a function of the C library returns, with its error in place of errno. After a park a fiber
/// may run on another thread, but compilers keep the address of errno across calls. So errno is read
/// in the one frame that made the call. Nothing is inlined into this frame, and it never parks.
/// \returns  the result of `call`, or -errno if the result is negative.
template <class Call>
[[gnu::noinline]] long system_result(Call&& call) noexcept {
    const long result = static_cast<long>(call());
    return result < 0 ? -static_cast<long>(errno) : result;
}

}  // namespace weft::detail
