// locks.cpp - locks and counts in C: the objects of weft in opaque structs of the program.
//
// Zero bytes are the initial value of these objects (OPAQUE-2), and they need no
// destructor: theirs only checks that no fiber waits.
#include <weft/condition_variable.hpp>
#include <weft/detail/countdown.hpp>
#include <weft/event.hpp>
#include <weft/mutex.hpp>
#include <weft/semaphore.hpp>

#include <limits>
#include <mutex>
#include <new>

#include "capi/placed.hpp"
#include "capi/status.hpp"

namespace weft::capi {
namespace {

mutex& in(weft_mutex* m) noexcept { return placed_in<mutex>(m); }
condition_variable& in(weft_condition* c) noexcept { return placed_in<condition_variable>(c); }
event& in(weft_event* e) noexcept { return placed_in<event>(e); }
detail::countdown& in(weft_wait_group* g) noexcept { return placed_in<detail::countdown>(g); }
detail::semaphore_core& in(weft_semaphore* s) noexcept { return placed_in<detail::semaphore_core>(s); }

static_assert(static_cast<int>(event::manual) == 0 && static_cast<int>(detail::countdown::what::wait_group) == 0,
              "zeroed memory is such an object");

}  // namespace
}  // namespace weft::capi

using namespace weft::capi;

// Neither of these two is analysed: the mutex stays with the caller, or comes from it.

weft_status weft_mutex_lock(weft_mutex* m, int64_t timeout_ns) WEFT_NO_THREAD_SAFETY_ANALYSIS {
    if (!m) return refuse("weft_mutex_lock", "the mutex is null");
    if (timeout_ns == WEFT_FOREVER) {
        in(m).lock();
        return WEFT_OK;
    }
    const bool locked = timeout_ns <= 0 ? in(m).try_lock() : in(m).try_lock_for(std::chrono::nanoseconds(timeout_ns));
    return in_time(locked, timeout_ns);
}

weft_status weft_mutex_unlock(weft_mutex* m) WEFT_NO_THREAD_SAFETY_ANALYSIS {
    if (!m) return refuse("weft_mutex_unlock", "the mutex is null");
    if (!in(m).owned_by_caller()) return fail(WEFT_ESTATE, "weft_mutex_unlock: the mutex is not the caller's");
    in(m).unlock();
    return WEFT_OK;
}

weft_status weft_condition_wait(weft_condition* c, weft_mutex* m, int64_t timeout_ns) {
    if (!c) return refuse("weft_condition_wait", "the condition is null");
    if (!m) return refuse("weft_condition_wait", "the mutex is null");
    if (!in(m).owned_by_caller()) return fail(WEFT_ESTATE, "weft_condition_wait: the mutex is not the caller's");
    if (timeout_ns <= 0) return WEFT_BUSY;
    std::unique_lock lock(in(m), std::adopt_lock);
    const auto s = guarded([&]() -> weft_status {
        const auto ended = in(c).wait_until(lock, deadline_of(timeout_ns));
        return in_time(ended == std::cv_status::no_timeout, timeout_ns);
    });
    static_cast<void>(lock.release());  // locked again, for the caller
    return s;
}

void weft_condition_notify_one(weft_condition* c) {
    if (c) in(c).notify_one();
}

void weft_condition_notify_all(weft_condition* c) {
    if (c) in(c).notify_all();
}

weft_status weft_semaphore_init(weft_semaphore* s, ptrdiff_t permits) {
    if (!s) return refuse("weft_semaphore_init", "the semaphore is null");
    if (permits < 0) return refuse("weft_semaphore_init", "permits is negative");
    new (s) weft::detail::semaphore_core(permits, std::numeric_limits<ptrdiff_t>::max());
    return WEFT_OK;
}

weft_status weft_semaphore_acquire(weft_semaphore* s, int64_t timeout_ns) {
    if (!s) return refuse("weft_semaphore_acquire", "the semaphore is null");
    return guarded([&]() -> weft_status {
        const bool got = timeout_ns <= 0 ? in(s).try_acquire() : in(s).acquire(deadline_of(timeout_ns), nullptr);
        return in_time(got, timeout_ns);
    });
}

void weft_semaphore_release(weft_semaphore* s, ptrdiff_t n) {
    if (s) in(s).release(n);
}

weft_status weft_wait_group_init(weft_wait_group* g, ptrdiff_t n) {
    if (!g) return refuse("weft_wait_group_init", "the wait group is null");
    if (n < 0) return refuse("weft_wait_group_init", "n is negative");
    new (g) weft::detail::countdown(weft::detail::countdown::what::wait_group, n);
    return WEFT_OK;
}

void weft_wait_group_add(weft_wait_group* g, ptrdiff_t n) {
    if (g) in(g).add(n);
}

void weft_wait_group_done(weft_wait_group* g) {
    if (g) in(g).add(-1);
}

weft_status weft_wait_group_wait(weft_wait_group* g, int64_t timeout_ns) {
    if (!g) return refuse("weft_wait_group_wait", "the wait group is null");
    return guarded([&]() -> weft_status {
        const bool is_over = timeout_ns <= 0 ? in(g).is_zero() : in(g).wait(deadline_of(timeout_ns), nullptr);
        return in_time(is_over, timeout_ns);
    });
}

void weft_event_init(weft_event* e, bool automatic) {
    if (e) new (e) weft::event(automatic ? weft::event::automatic : weft::event::manual);
}

void weft_event_set(weft_event* e) {
    if (e) in(e).set();
}

void weft_event_reset(weft_event* e) {
    if (e) in(e).reset();
}

weft_status weft_event_wait(weft_event* e, int64_t timeout_ns) {
    if (!e) return refuse("weft_event_wait", "the event is null");
    return guarded([&]() -> weft_status {
        const bool is_set = timeout_ns <= 0 ? in(e).try_wait() : in(e).wait_until(deadline_of(timeout_ns));
        return in_time(is_set, timeout_ns);
    });
}
