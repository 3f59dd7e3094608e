// conditions.hpp - how a fiber waits for a condition of the threads library; C11's conditions use it, too.
//
// A fiber parks by the condition's address. A signal is for both: the system's function wakes a thread that
// sleeps, and the hook wakes a fiber. One too many is allowed; a fiber or thread may wake for nothing.
#pragma once

#include <pthread.h>

#include "hooks/time_limit.hpp"

namespace weft::hooks {

// The waits are cancellation points of plain threads, so they may throw.

/// What pthread_cond_wait() and pthread_cond_clockwait() do.
int wait(pthread_cond_t* c, pthread_mutex_t* m, const time_limit& limit, const char* name, const void* caller);
/// What pthread_cond_timedwait() does: the condition knows the clock.
int wait(pthread_cond_t* c, pthread_mutex_t* m, const timespec* at, const char* name, const void* caller);
/// What pthread_cond_signal() and pthread_cond_broadcast() do.
int wake_one(pthread_cond_t* c) noexcept;
int wake_all(pthread_cond_t* c) noexcept;

}  // namespace weft::hooks
