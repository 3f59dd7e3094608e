// thread_shape.hpp - what a thread of this C library looks like in memory, as far as identities must know it.
#pragma once

#include <pthread.h>

#include <cstddef>

#include "arch/context.hpp"

namespace weft::detail {

class stack_pool;
struct stack;

struct thread_shape {
    /// From the block of a thread, which pthread_self() points to, to the word that holds the kernel's number
    /// of the thread. no_number: it was not found.
    std::size_t number_at = no_number;
    /// What the C library puts on the stack of a thread before anything runs there: its block and the program's
    /// thread_local objects.
    std::size_t taken_bytes = 0;

    static constexpr std::size_t no_number = ~std::size_t{0};
};

/// Looks at some threads, which it makes for this.
/// \throws  std::system_error if the system refuses a thread, std::bad_alloc
thread_shape find_thread_shape(stack_pool& stacks);

/// Starts a thread on a stack of `bytes` or more; doubles the size while the C library refuses it as too small.
/// \returns  its stack, of which the thread may learn from `home` before this function returns.
/// \throws   std::system_error if the system refuses a thread, std::bad_alloc
stack* start_thread_on(stack_pool& stacks, std::size_t bytes, stack*& home, pthread_t& thread, void* (*begin)(void*),
                       void* argument);

}  // namespace weft::detail
