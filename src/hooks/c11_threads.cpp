// c11_threads.cpp - the mutexes and conditions of C11.
//
// In the C library they are those of the threads library, and its functions for them call one another inside,
// where no hook stands.
#include <pthread.h>
#include <threads.h>

#include <cerrno>

#include "hooks/conditions.hpp"
#include "hooks/entry.hpp"
#include "hooks/mutexes.hpp"

namespace weft::hooks {
namespace {

pthread_mutex_t* inner(mtx_t* m) noexcept { return reinterpret_cast<pthread_mutex_t*>(m); }
pthread_cond_t* inner(cnd_t* c) noexcept { return reinterpret_cast<pthread_cond_t*>(c); }
static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t) && sizeof(cnd_t) == sizeof(pthread_cond_t));

int as_thrd(int error) noexcept {
    switch (error) {
        case 0: return thrd_success;
        case EBUSY: return thrd_busy;
        case ENOMEM: return thrd_nomem;
        case ETIMEDOUT: return thrd_timedout;
        default: return thrd_error;
    }
}

}  // namespace
}  // namespace weft::hooks

extern "C" {
#pragma GCC visibility push(default)
int mtx_lock(mtx_t* m) {
    using namespace weft::hooks;
    return as_thrd(lock(inner(m), time_limit::none(), "mtx_lock", WEFT_CALLER));
}
int mtx_timedlock(mtx_t* __restrict m, const timespec* __restrict at) {
    using namespace weft::hooks;
    return as_thrd(lock(inner(m), {CLOCK_REALTIME, at}, "mtx_timedlock", WEFT_CALLER));
}
int mtx_unlock(mtx_t* m) {
    using namespace weft::hooks;
    return as_thrd(unlock(inner(m)));
}
int cnd_wait(cnd_t* c, mtx_t* m) {
    using namespace weft::hooks;
    return as_thrd(wait(inner(c), inner(m), time_limit::none(), "cnd_wait", WEFT_CALLER));
}
int cnd_timedwait(cnd_t* __restrict c, mtx_t* __restrict m, const timespec* __restrict at) {
    using namespace weft::hooks;
    return as_thrd(wait(inner(c), inner(m), at, "cnd_timedwait", WEFT_CALLER));
}
int cnd_signal(cnd_t* c) {
    using namespace weft::hooks;
    return as_thrd(wake_one(inner(c)));
}
int cnd_broadcast(cnd_t* c) {
    using namespace weft::hooks;
    return as_thrd(wake_all(inner(c)));
}
#pragma GCC visibility pop
}
