// kernel_thread.hpp - ends the kernel's part of a thread and gives it another one.
//
// To the C library a thread is a block of memory, with its thread_local objects, and a stack. To the kernel
// it is a task that executes. The first can exist without the second.
#pragma once

#include <cstdint>

namespace weft::detail {

extern "C" {
/// Ends the kernel thread of the caller, a thread of the C library, and leaves all else of that thread
/// as it is. Stores the stack pointer in `*save_sp`. When the kernel thread has stopped using the stack,
/// the kernel stores 0 in `*running` and wakes one thread that waits there on a futex that is not
/// private. Returns later, in the kernel thread that weft_revive_thread() makes.
[[gnu::visibility("hidden")]] void weft_rest_thread(void** save_sp, void* running) noexcept;
/// Makes a kernel thread that returns from weft_rest_thread(). `number` is where the C library keeps the
/// kernel's number of the thread, and `base` the thread pointer.
/// \returns  the kernel's number of the new thread, or a negated error.
[[gnu::visibility("hidden")]] long weft_revive_thread(void* saved_sp, void* number, std::uintptr_t base) noexcept;
}

}  // namespace weft::detail
