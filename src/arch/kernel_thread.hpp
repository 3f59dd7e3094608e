// kernel_thread.hpp - ends the kernel's part of a thread and gives it another one.
//
// To the C library a thread is a block of memory, with its thread_local objects, and a stack. To the kernel it
// is a task that executes. The first can exist without the second.
#pragma once

#include <cstdint>

namespace weft::detail {

extern "C" {
/// Ends the kernel thread of the caller, a thread of the C library, and leaves all else of the thread as it
/// is: `*save_sp` is the stack pointer, `*number` becomes 0, and a futex_wait() of other threads on `number`
/// that is not private ends, when the kernel thread uses neither any more. Returns in the kernel thread that
/// weft_revive_thread() makes.
[[gnu::visibility("hidden")]] void weft_rest_thread(void** save_sp, void* number) noexcept;
/// Makes a kernel thread that returns from weft_rest_thread(). `number` is where the C library keeps the
/// kernel's number of the thread, and `base` the thread pointer.
/// \returns  the kernel's number of the new thread, or a negated error.
[[gnu::visibility("hidden")]] long weft_revive_thread(void* saved_sp, void* number, std::uintptr_t base) noexcept;
}

}  // namespace weft::detail
