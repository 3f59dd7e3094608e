// shared_locks.cpp - how a fiber waits for a read-write lock of the threads library (pthread_rwlock_*).
//
// Fibers that want to read park by the lock's address, and those that want to write by the address after it. Who
// releases wakes one of each; a reader that gets the lock after it has parked wakes the next reader.
// A lock that prefers writers does not know of those that are parked, so readers pass them.
#include <pthread.h>

#include <cerrno>

#include "hooks/fiber_call.hpp"
#include "hooks/mutexes.hpp"
#include "hooks/system_function.hpp"

namespace weft::hooks {
namespace {

constinit system_function<int(pthread_rwlock_t*)> system_unlock_shared("pthread_rwlock_unlock");

// The system's functions for one of the two ways to take a lock.
struct way {
    system_function<int(pthread_rwlock_t*)> lock, trylock;
    system_function<int(pthread_rwlock_t*, const timespec*)> timedlock;
    system_function<int(pthread_rwlock_t*, clockid_t, const timespec*)> clocklock;
};

constinit way reading{system_function<int(pthread_rwlock_t*)>("pthread_rwlock_rdlock"),
                      system_function<int(pthread_rwlock_t*)>("pthread_rwlock_tryrdlock"),
                      system_function<int(pthread_rwlock_t*, const timespec*)>("pthread_rwlock_timedrdlock"),
                      system_function<int(pthread_rwlock_t*, clockid_t, const timespec*)>("pthread_rwlock_clockrdlock")};
constinit way writing{system_function<int(pthread_rwlock_t*)>("pthread_rwlock_wrlock"),
                      system_function<int(pthread_rwlock_t*)>("pthread_rwlock_trywrlock"),
                      system_function<int(pthread_rwlock_t*, const timespec*)>("pthread_rwlock_timedwrlock"),
                      system_function<int(pthread_rwlock_t*, clockid_t, const timespec*)>("pthread_rwlock_clockwrlock")};

const void* place_of_writers(const pthread_rwlock_t* l) noexcept { return reinterpret_cast<const char*>(l) + 1; }

int lock_plainly(way& w, pthread_rwlock_t* l, const time_limit& limit) noexcept {
    if (!limit.at) return w.lock(l);
    return limit.clock == CLOCK_REALTIME ? w.timedlock(l, limit.at) : w.clocklock(l, limit.clock, limit.at);
}

int attempt_to_read(void* l) noexcept { return reading.trylock(static_cast<pthread_rwlock_t*>(l)); }
int attempt_to_write(void* l) noexcept { return writing.trylock(static_cast<pthread_rwlock_t*>(l)); }

int lock_shared(way& w, pthread_rwlock_t* l, const time_limit& limit, const char* name, const void* caller) noexcept {
    if (!table.load(detail::relaxed) || l->__data.__shared != 0 || !is_proper(limit)) return lock_plainly(w, l, limit);
    if (const int r = w.trylock(l); r != EBUSY) return r;
    const auto* const t = table_for(caller);
    if (!t) return lock_plainly(w, l, limit);
    if (l->__data.__cur_writer == number_of_caller()) return EDEADLK;
    if (&w == &writing)
        return fiber_call(*t, name, caller, -1, place_of_writers(l)).lock_wait(attempt_to_write, l, until(limit, *t));
    const int r = fiber_call(*t, name, caller, -1, l).lock_wait(attempt_to_read, l, until(limit, *t));
    if (r == 0) tell_of_release(l);  // the next reader may read as well
    return r;
}

}  // namespace
}  // namespace weft::hooks

using weft::hooks::lock_shared;
using weft::hooks::reading;
using weft::hooks::time_limit;
using weft::hooks::writing;

extern "C" {
#pragma GCC visibility push(default)
int pthread_rwlock_rdlock(pthread_rwlock_t* l) noexcept {
    return lock_shared(reading, l, time_limit::none(), "pthread_rwlock_rdlock", __builtin_return_address(0));
}
int pthread_rwlock_timedrdlock(pthread_rwlock_t* __restrict l, const timespec* __restrict at) noexcept {
    return lock_shared(reading, l, {CLOCK_REALTIME, at}, "pthread_rwlock_timedrdlock", __builtin_return_address(0));
}
int pthread_rwlock_clockrdlock(pthread_rwlock_t* __restrict l, clockid_t clock, const timespec* __restrict at) noexcept {
    return lock_shared(reading, l, {clock, at}, "pthread_rwlock_clockrdlock", __builtin_return_address(0));
}
int pthread_rwlock_wrlock(pthread_rwlock_t* l) noexcept {
    return lock_shared(writing, l, time_limit::none(), "pthread_rwlock_wrlock", __builtin_return_address(0));
}
int pthread_rwlock_timedwrlock(pthread_rwlock_t* __restrict l, const timespec* __restrict at) noexcept {
    return lock_shared(writing, l, {CLOCK_REALTIME, at}, "pthread_rwlock_timedwrlock", __builtin_return_address(0));
}
int pthread_rwlock_clockwrlock(pthread_rwlock_t* __restrict l, clockid_t clock, const timespec* __restrict at) noexcept {
    return lock_shared(writing, l, {clock, at}, "pthread_rwlock_clockwrlock", __builtin_return_address(0));
}
int pthread_rwlock_unlock(pthread_rwlock_t* l) noexcept {
    const int r = weft::hooks::system_unlock_shared(l);
    if (r != 0) return r;
    weft::hooks::tell_of_release(l);
    weft::hooks::tell_of_release(weft::hooks::place_of_writers(l));
    return 0;
}
#pragma GCC visibility pop
}
