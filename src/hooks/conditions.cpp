#include "hooks/conditions.hpp"

#include <cerrno>

#include "hooks/entry.hpp"
#include "hooks/mutexes.hpp"

namespace weft::hooks {
namespace {

// glibc keeps functions for conditions of another shape under these names, for programs that were linked
// before 2003. Where it does not, there is no such version.
constexpr function_name version = "GLIBC_2.3.2";

// The C library's names for these bits are private. They are part of what processes share.
constexpr unsigned shared_bit = 1, monotonic_bit = 2;

bool is_shared(const pthread_cond_t* c) noexcept { return (c->__data.__wrefs & shared_bit) != 0; }
clockid_t clock_of(const pthread_cond_t* c) noexcept {
    return (c->__data.__wrefs & monotonic_bit) != 0 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
}

void give_up(void* mutex) noexcept { unlock(static_cast<pthread_mutex_t*>(mutex)); }

/// The table if the caller is a fiber that may park at this condition.
const hook_table* table_at(const pthread_cond_t* c, const pthread_mutex_t* m, const time_limit& limit,
                           const void* caller) noexcept {
    const auto* const t = table_for(caller);
    return t && !is_shared(c) && is_for_fibers(m) && is_proper(limit) ? t : nullptr;
}

int park_at(const hook_table& t, pthread_cond_t* c, pthread_mutex_t* m, const time_limit& limit, const char* name,
            const void* caller) noexcept {
    if (is_refused_to_caller(m)) return EPERM;
    const int r = fiber_call(t, name, caller, -1, c).condition_wait(give_up, m, until(limit, t));
    const int locked = lock(m, time_limit::none(), name, caller);
    return locked != 0 ? locked : r;
}

/// The system's function gives the mutex up without a word. The fiber that is woken before finds it taken
/// most likely; it looks again soon (PARKING_LOT-5).
void tell_of_release_to_come(const pthread_mutex_t* m) noexcept { tell_of_release(m); }

/// Called after the system's function: a thread that this has woken may have ended the condition.
void wake_fibers(const pthread_cond_t* c, bool all) noexcept {
    // Pairs with weft_take_hooks().
    const auto* const t = table.load(detail::acquire);
    // relaxed: the mutex orders the signal and the waits (PARKING_LOT-6)
    if (t && t->parked_for_conditions->load(detail::relaxed) != 0) t->condition_wake(c, all);
}

}  // namespace

int wait(pthread_cond_t* c, pthread_mutex_t* m, const time_limit& limit, const char* name, const void* caller) {
    if (const auto* const t = table_at(c, m, limit, caller)) return park_at(*t, c, m, limit, name, caller);
    tell_of_release_to_come(m);
    return limit.at ? call_real_only<"pthread_cond_clockwait">(c, m, limit.clock, limit.at)
                    : call_real_only<"pthread_cond_wait", version>(c, m);
}

int wait(pthread_cond_t* c, pthread_mutex_t* m, const timespec* at, const char* name, const void* caller) {
    const time_limit limit{clock_of(c), at};
    if (const auto* const t = table_at(c, m, limit, caller)) return park_at(*t, c, m, limit, name, caller);
    tell_of_release_to_come(m);
    return call_real_only<"pthread_cond_timedwait", version>(c, m, at);
}

int wake_one(pthread_cond_t* c) noexcept {
    const int r = call_real_only<"pthread_cond_signal", version>(c);
    wake_fibers(c, false);
    return r;
}

int wake_all(pthread_cond_t* c) noexcept {
    const int r = call_real_only<"pthread_cond_broadcast", version>(c);
    wake_fibers(c, true);
    return r;
}

}  // namespace weft::hooks

extern "C" {
#pragma GCC visibility push(default)
int pthread_cond_wait(pthread_cond_t* __restrict c, pthread_mutex_t* __restrict m) {
    return weft::hooks::wait(c, m, weft::hooks::time_limit::none(), "pthread_cond_wait", WEFT_CALLER);
}
int pthread_cond_timedwait(pthread_cond_t* __restrict c, pthread_mutex_t* __restrict m, const timespec* __restrict at) {
    return weft::hooks::wait(c, m, at, "pthread_cond_timedwait", WEFT_CALLER);
}
int pthread_cond_clockwait(pthread_cond_t* __restrict c, pthread_mutex_t* __restrict m, clockid_t clock,
                           const timespec* __restrict at) {
    return weft::hooks::wait(c, m, weft::hooks::time_limit{clock, at}, "pthread_cond_clockwait", WEFT_CALLER);
}
int pthread_cond_signal(pthread_cond_t* c) noexcept { return weft::hooks::wake_one(c); }
int pthread_cond_broadcast(pthread_cond_t* c) noexcept { return weft::hooks::wake_all(c); }
#pragma GCC visibility pop
}
