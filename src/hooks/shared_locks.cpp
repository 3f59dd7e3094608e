// shared_locks.cpp - how a fiber waits for a read-write lock of the threads library (pthread_rwlock_*).
//
// Fibers that want to read park by the lock's address, and those that want to write by the address after it.
// A release wakes one of each; a reader that gets the lock after it has parked wakes the next reader.
// A lock that prefers writers does not know of those that are parked, so readers pass them.
#include <pthread.h>

#include <cerrno>
#include <concepts>

#include "hooks/entry.hpp"
#include "hooks/mutexes.hpp"

namespace weft::hooks {
namespace {

// The two ways to take a lock.
struct to_read {
    static constexpr function_name lock = "pthread_rwlock_rdlock";
    static constexpr function_name trylock = "pthread_rwlock_tryrdlock";
    static constexpr function_name timedlock = "pthread_rwlock_timedrdlock";
    static constexpr function_name clocklock = "pthread_rwlock_clockrdlock";
};
struct to_write {
    static constexpr function_name lock = "pthread_rwlock_wrlock";
    static constexpr function_name trylock = "pthread_rwlock_trywrlock";
    static constexpr function_name timedlock = "pthread_rwlock_timedwrlock";
    static constexpr function_name clocklock = "pthread_rwlock_clockwrlock";
};

const void* place_of_writers(const pthread_rwlock_t* l) noexcept { return reinterpret_cast<const char*>(l) + 1; }

template <class Way>
int lock_plainly(pthread_rwlock_t* l, const time_limit& limit) noexcept {
    if (!limit.at) return call_real_only<Way::lock>(l);
    return limit.clock == CLOCK_REALTIME ? call_real_only<Way::timedlock>(l, limit.at)
                                         : call_real_only<Way::clocklock>(l, limit.clock, limit.at);
}

template <class Way>
int attempt_at(void* l) noexcept {
    return call_real_only<Way::trylock>(static_cast<pthread_rwlock_t*>(l));
}

template <class Way>
int lock_shared(pthread_rwlock_t* l, const time_limit& limit, const char* name, const void* caller) noexcept {
    constexpr bool writes = std::same_as<Way, to_write>;
    if (!table.load(detail::relaxed) || l->__data.__shared != 0 || !is_proper(limit)) return lock_plainly<Way>(l, limit);
    if (const int r = call_real_only<Way::trylock>(l); r != EBUSY) return r;
    const auto* const t = table_for(caller);
    if (!t) return lock_plainly<Way>(l, limit);
    if (l->__data.__cur_writer == number_of_caller()) return EDEADLK;
    const int r = fiber_call(*t, name, caller, -1, writes ? place_of_writers(l) : l, &l->__data.__cur_writer)
                      .lock_wait(attempt_at<Way>, l, until(limit, *t));
    if (r == 0 && !writes) tell_of_release(l);  // the next reader may read as well
    return r;
}

}  // namespace
}  // namespace weft::hooks

using weft::hooks::lock_shared;
using weft::hooks::time_limit;
using weft::hooks::to_read;
using weft::hooks::to_write;

extern "C" {
#pragma GCC visibility push(default)
int pthread_rwlock_rdlock(pthread_rwlock_t* l) noexcept {
    return lock_shared<to_read>(l, time_limit::none(), "pthread_rwlock_rdlock", WEFT_CALLER);
}
int pthread_rwlock_timedrdlock(pthread_rwlock_t* __restrict l, const timespec* __restrict at) noexcept {
    return lock_shared<to_read>(l, {CLOCK_REALTIME, at}, "pthread_rwlock_timedrdlock", WEFT_CALLER);
}
int pthread_rwlock_clockrdlock(pthread_rwlock_t* __restrict l, clockid_t clock, const timespec* __restrict at) noexcept {
    return lock_shared<to_read>(l, {clock, at}, "pthread_rwlock_clockrdlock", WEFT_CALLER);
}
int pthread_rwlock_wrlock(pthread_rwlock_t* l) noexcept {
    return lock_shared<to_write>(l, time_limit::none(), "pthread_rwlock_wrlock", WEFT_CALLER);
}
int pthread_rwlock_timedwrlock(pthread_rwlock_t* __restrict l, const timespec* __restrict at) noexcept {
    return lock_shared<to_write>(l, {CLOCK_REALTIME, at}, "pthread_rwlock_timedwrlock", WEFT_CALLER);
}
int pthread_rwlock_clockwrlock(pthread_rwlock_t* __restrict l, clockid_t clock, const timespec* __restrict at) noexcept {
    return lock_shared<to_write>(l, {clock, at}, "pthread_rwlock_clockwrlock", WEFT_CALLER);
}
int pthread_rwlock_unlock(pthread_rwlock_t* l) noexcept {
    const int r = weft::hooks::call_real_only<"pthread_rwlock_unlock">(l);
    if (r != 0) return r;
    weft::hooks::tell_of_release(l);
    weft::hooks::tell_of_release(weft::hooks::place_of_writers(l));
    return 0;
}
#pragma GCC visibility pop
}
