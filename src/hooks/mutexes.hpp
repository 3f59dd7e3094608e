// mutexes.hpp - how a fiber waits for a mutex of the threads library.
//
// Conditions and the mutexes of C11 use it, too.
//
// Plain threads call the system's functions, which sleep. A fiber tries, and parks by the mutex's address.
// Every release of a mutex looks whether fibers are parked.
//
// Not for fibers, whose call is plain: mutexes that other processes may share, and robust,
// priority-inheriting and priority-protected ones. The kernel, or another process, takes part in these.
#pragma once

#include <pthread.h>

#include "base/foreign_release.hpp"
#include "hooks/table.hpp"
#include "hooks/time_limit.hpp"

namespace weft::hooks {

/// What pthread_mutex_lock(), pthread_mutex_timedlock() and pthread_mutex_clocklock() do.
/// \param name  a constant: the function that was called.
int lock(pthread_mutex_t* m, const time_limit& limit, const char* name, const void* caller) noexcept;
/// What pthread_mutex_unlock() does.
int unlock(pthread_mutex_t* m) noexcept;

/// Whether fibers may park for such a mutex.
bool is_for_fibers(const pthread_mutex_t* m) noexcept;
/// Whether the mutex knows its owner, and the owner is another than the caller.
bool is_refused_to_caller(const pthread_mutex_t* m) noexcept;

/// The number by which the threads library knows the caller as an owner.
int number_of_caller() noexcept;

/// After what is at `address` was released.
[[gnu::always_inline]] inline void tell_of_release(const void* address) noexcept {
    // Pairs with weft_take_hooks().
    const auto* const t = table.load(detail::acquire);
    if (t && detail::is_counted_after_release(*t->parked_for_locks)) [[unlikely]]
        if (t->lock_wake(address) && t->in_fiber()) t->pause();
}

}  // namespace weft::hooks
