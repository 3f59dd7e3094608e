// entries.cpp - replaces the pthread functions that take and release locks, to record what they do.
//
// Each function calls the system's own. pthread_cond_wait() needs no entry: it releases and takes
// its mutex inside the library, and a thread in it does not park.
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

#include <cerrno>

#include "lockcheck/held_locks.hpp"

namespace weft::lockcheck {
namespace {

/// The system's function of that name, which this library hides.
template <class F>
F* system_function(const char* name) noexcept {
    return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}

[[gnu::always_inline]] inline int noted(int result, const void* lock, kind what) noexcept {
    if (result == 0 || result == EOWNERDEAD) note_taken(lock, what);
    return result;
}

}  // namespace
}  // namespace weft::lockcheck

using weft::lockcheck::kind;

// The entries differ only in names and arguments, which only a macro can write once.
#define WEFT_TAKES(name, what, parameters, arguments)                                                                            \
    [[gnu::noinline]] int name parameters {                                                                                      \
        static const auto system = weft::lockcheck::system_function<int parameters>(#name);                                      \
        return weft::lockcheck::noted(system arguments, const_cast<const void*>(static_cast<const volatile void*>(l)), what);    \
    }
#define WEFT_RELEASES(name, type)                                                                                                \
    int name(type* l) {                                                                                                          \
        static const auto system = weft::lockcheck::system_function<int(type*)>(#name);                                          \
        weft::lockcheck::note_released(const_cast<const void*>(static_cast<const volatile void*>(l)));                           \
        return system(l);                                                                                                        \
    }

extern "C" {
#pragma GCC visibility push(default)
WEFT_TAKES(pthread_mutex_lock, kind::mutex, (pthread_mutex_t * l), (l))
WEFT_TAKES(pthread_mutex_trylock, kind::mutex, (pthread_mutex_t * l), (l))
WEFT_TAKES(pthread_mutex_timedlock, kind::mutex, (pthread_mutex_t * l, const timespec* t), (l, t))
WEFT_TAKES(pthread_mutex_clocklock, kind::mutex, (pthread_mutex_t * l, clockid_t c, const timespec* t), (l, c, t))
WEFT_RELEASES(pthread_mutex_unlock, pthread_mutex_t)
WEFT_TAKES(pthread_rwlock_rdlock, kind::shared, (pthread_rwlock_t * l), (l))
WEFT_TAKES(pthread_rwlock_tryrdlock, kind::shared, (pthread_rwlock_t * l), (l))
WEFT_TAKES(pthread_rwlock_timedrdlock, kind::shared, (pthread_rwlock_t * l, const timespec* t), (l, t))
WEFT_TAKES(pthread_rwlock_clockrdlock, kind::shared, (pthread_rwlock_t * l, clockid_t c, const timespec* t), (l, c, t))
WEFT_TAKES(pthread_rwlock_wrlock, kind::exclusive, (pthread_rwlock_t * l), (l))
WEFT_TAKES(pthread_rwlock_trywrlock, kind::exclusive, (pthread_rwlock_t * l), (l))
WEFT_TAKES(pthread_rwlock_timedwrlock, kind::exclusive, (pthread_rwlock_t * l, const timespec* t), (l, t))
WEFT_TAKES(pthread_rwlock_clockwrlock, kind::exclusive, (pthread_rwlock_t * l, clockid_t c, const timespec* t), (l, c, t))
WEFT_RELEASES(pthread_rwlock_unlock, pthread_rwlock_t)
WEFT_TAKES(pthread_spin_lock, kind::spin, (pthread_spinlock_t * l), (l))
WEFT_TAKES(pthread_spin_trylock, kind::spin, (pthread_spinlock_t * l), (l))
WEFT_RELEASES(pthread_spin_unlock, pthread_spinlock_t)
#pragma GCC visibility pop
}
