#include "hooks/mutexes.hpp"

#include <cerrno>
#include <cstdio>

#include "hooks/entry.hpp"

namespace weft::hooks {
namespace {

// The C library's names for these bits of the kind are private. It may change none of them, since programs
// contain them in their initializers of mutexes, and processes share mutexes.
constexpr int type_bits = 3, robust_bit = 16, inherits_bit = 32, protects_bit = 64, shared_bit = 128;

int kind_of(const pthread_mutex_t* m) noexcept { return m->__data.__kind; }
int type_of(const pthread_mutex_t* m) noexcept { return kind_of(m) & type_bits; }

bool is_owned_by_caller(const pthread_mutex_t* m) noexcept { return m->__data.__owner == number_of_caller(); }

constinit detail::atomic<bool> has_told{false};

/// The kernel looks for the owner of such a mutex, and there is no thread of an identity's number.
void tell_of_inheriting() noexcept {
    if (has_told.exchange(true, detail::relaxed)) return;  // only one is to tell
    std::fputs(
        "weft: a fiber with an identity (as_thread) locks a priority-inheriting mutex; a thread that waits for it may wait for "
        "ever (hooks)\n",
        stderr);
}

int lock_plainly(pthread_mutex_t* m, const time_limit& limit) noexcept {
    if (!limit.at) return call_real_only<"pthread_mutex_lock">(m);
    return limit.clock == CLOCK_REALTIME ? call_real_only<"pthread_mutex_timedlock">(m, limit.at)
                                         : call_real_only<"pthread_mutex_clocklock">(m, limit.clock, limit.at);
}

int attempt(void* m) noexcept { return call_real_only<"pthread_mutex_trylock">(static_cast<pthread_mutex_t*>(m)); }

}  // namespace

bool is_for_fibers(const pthread_mutex_t* m) noexcept {
    return (kind_of(m) & (robust_bit | inherits_bit | protects_bit | shared_bit)) == 0;
}

int number_of_caller() noexcept {
    pthread_mutex_t mine = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    call_real_only<"pthread_mutex_lock">(&mine);
    const int number = mine.__data.__owner;
    call_real_only<"pthread_mutex_unlock">(&mine);
    return number;
}

bool is_refused_to_caller(const pthread_mutex_t* m) noexcept {
    const int type = type_of(m);
    return (type == PTHREAD_MUTEX_RECURSIVE || type == PTHREAD_MUTEX_ERRORCHECK) && !is_owned_by_caller(m);
}

int lock(pthread_mutex_t* m, const time_limit& limit, const char* name, const void* caller) noexcept {
    if (!is_for_fibers(m) || !is_proper(limit)) {
        if ((kind_of(m) & inherits_bit) != 0 && table_for(caller)) tell_of_inheriting();
        return lock_plainly(m, limit);
    }
    // If the mutex is free, it does not matter whether a fiber calls.
    if (const int r = call_real_only<"pthread_mutex_trylock">(m); r != EBUSY) return r;
    const auto* const t = table_for(caller);
    if (!t) return lock_plainly(m, limit);
    if (type_of(m) == PTHREAD_MUTEX_ERRORCHECK && is_owned_by_caller(m)) return EDEADLK;
    return fiber_call(*t, name, caller, -1, m, &m->__data.__owner).lock_wait(attempt, m, until(limit, *t));
}

int unlock(pthread_mutex_t* m) noexcept {
    const int r = call_real_only<"pthread_mutex_unlock">(m);
    if (r == 0) tell_of_release(m);  // by its address only: the mutex may be gone
    return r;
}

}  // namespace weft::hooks

using weft::hooks::time_limit;

/// Apart, so that the function that nearly everybody calls needs no frame.
[[gnu::noinline]] static int lock_beside_runtime(pthread_mutex_t* m, const void* caller) noexcept {
    return weft::hooks::lock(m, time_limit::none(), "pthread_mutex_lock", caller);
}

extern "C" {
#pragma GCC visibility push(default)
int pthread_mutex_lock(pthread_mutex_t* m) noexcept {
    // relaxed: it is looked at again
    if (!weft::hooks::table.load(weft::detail::relaxed)) return weft::hooks::call_real_only<"pthread_mutex_lock">(m);
    return lock_beside_runtime(m, WEFT_CALLER);
}
int pthread_mutex_timedlock(pthread_mutex_t* __restrict m, const timespec* __restrict at) noexcept {
    return weft::hooks::lock(m, {CLOCK_REALTIME, at}, "pthread_mutex_timedlock", WEFT_CALLER);
}
int pthread_mutex_clocklock(pthread_mutex_t* __restrict m, clockid_t clock, const timespec* __restrict at) noexcept {
    return weft::hooks::lock(m, {clock, at}, "pthread_mutex_clocklock", WEFT_CALLER);
}
int pthread_mutex_unlock(pthread_mutex_t* m) noexcept { return weft::hooks::unlock(m); }
#pragma GCC visibility pop
}
