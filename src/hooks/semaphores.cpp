// semaphores.cpp - how a fiber waits for a semaphore (sem_wait).
//
// std::counting_semaphore does not come by here: it waits by a system call of its own.
//
// sem_post() may be called by a handler of a signal, which may have interrupted weft itself. So it looks for
// fibers only while some wait for a semaphore.
//
// Invariants
//   SEMAPHORES-1  A fiber counts itself in `waiting` before it is counted among the parked. So what holds
//                 of that count (PARKING_LOT-2) holds of this one.
#include <semaphore.h>

#include <cerrno>
#include <cstring>

#include "base/foreign_release.hpp"
#include "hooks/entry.hpp"
#include "hooks/time_limit.hpp"

namespace weft::hooks {
namespace {

template <function_name Name, class... Arguments>
[[gnu::always_inline]] inline int call_system(Arguments... arguments) {
    return call_real_or<Name, int(Arguments...)>([] { return give(-ENOSYS); }, arguments...);
}

constinit detail::atomic<std::uint32_t> waiting{0};

/// The number behind the count: whether other processes may share it. So it is with glibc on 64 bits.
bool is_shared(const sem_t* s) noexcept {
    std::int32_t shared;
    std::memcpy(&shared, reinterpret_cast<const char*>(s) + sizeof(std::uint64_t), sizeof shared);
    return shared != 0;
}

/// \returns 0 or an error; errno stays as it was.
int attempt(void* s) noexcept {
    const int before = errno;
    if (call_system<"sem_trywait">(static_cast<sem_t*>(s)) == 0) return 0;
    const int error = errno;
    errno = before;
    return error == EAGAIN ? EBUSY : error;
}

/// \returns 0 or an error
int park_for(const hook_table& t, sem_t* s, const time_limit& limit, const char* name, const void* caller) noexcept {
    waiting.fetch_add(1, detail::relaxed);  // SEMAPHORES-1: lock_wait() passes the fence
    const int r = fiber_call(t, name, caller, -1, s).lock_wait(attempt, s, until(limit, t));
    waiting.fetch_sub(1, detail::relaxed);  // a hint from now on
    return r;
}

/// \returns 0, an error, or -1: the call is plain.
int take_in_fiber(sem_t* s, const time_limit& limit, const char* name, const void* caller) noexcept {
    const auto* const t = table_for(caller);
    if (!t || is_shared(s) || !is_proper(limit)) return -1;
    const int r = attempt(s);
    return r == EBUSY ? park_for(*t, s, limit, name, caller) : r;
}

}  // namespace
}  // namespace weft::hooks

// The waits are cancellation points of plain threads, so they may throw.
extern "C" {
#pragma GCC visibility push(default)
int sem_wait(sem_t* s) {
    using namespace weft::hooks;
    const int r = take_in_fiber(s, time_limit::none(), "sem_wait", WEFT_CALLER);
    return r < 0 ? call_system<"sem_wait">(s) : static_cast<int>(give(-r));
}
int sem_timedwait(sem_t* __restrict s, const timespec* __restrict at) {
    using namespace weft::hooks;
    const int r = take_in_fiber(s, {CLOCK_REALTIME, at}, "sem_timedwait", WEFT_CALLER);
    return r < 0 ? call_system<"sem_timedwait">(s, at) : static_cast<int>(give(-r));
}
int sem_clockwait(sem_t* __restrict s, clockid_t clock, const timespec* __restrict at) {
    using namespace weft::hooks;
    const int r = take_in_fiber(s, {clock, at}, "sem_clockwait", WEFT_CALLER);
    return r < 0 ? call_system<"sem_clockwait">(s, clock, at) : static_cast<int>(give(-r));
}
int sem_post(sem_t* s) noexcept {
    using namespace weft::hooks;
    const int r = call_system<"sem_post">(s);
    if (r != 0) return r;
    // Pairs with weft_take_hooks().
    const auto* const t = table.load(weft::detail::acquire);
    if (t && weft::detail::is_counted_after_release(waiting)) t->semaphore_wake(s);
    return 0;
}
#pragma GCC visibility pop
}
