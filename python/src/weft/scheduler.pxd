# weft/scheduler.pxd - a scheduler of coroutines for Cython (weft/c_scheduler.h), under the names that seed row L1 asks for.
#
#     from weft.scheduler cimport *
#
# A coroutine is `cdef int body(coro_t *coroutine, void *arg) noexcept nogil`.
from weft.c cimport weft_runtime

cdef extern from "<weft/c_scheduler.h>" nogil:
    ctypedef struct coro_t "weft_coro":
        pass
    ctypedef int (*coro_function "weft_coro_function")(coro_t *self, void *arg) noexcept nogil
    ctypedef struct scheduler_t "weft_scheduler":
        pass
    cpdef enum coro_yield_value:
        MAY_RESUME "WEFT_MAY_RESUME"
        FINISHED "WEFT_FINISHED"
    enum:
        BATCH "WEFT_BATCH"
        AS_SPAWNED "WEFT_AS_SPAWNED"
    int weft_scheduler_init(scheduler_t *s, unsigned int workers, int when)
    int weft_scheduler_add(scheduler_t *s, coro_function f, void *arg)
    # Each returns a weft_status; 0 is well, and weft.check() raises for any other.
    int scheduler_run "weft_scheduler_run"(scheduler_t *s)
    void scheduler_destroy "weft_scheduler_destroy"(scheduler_t *s)
    weft_runtime *scheduler_runtime "weft_scheduler_runtime"(const scheduler_t *s)
    int coro_yield "weft_coro_yield"(coro_t *self, int value)

# workers 0: one for each CPU. BATCH: coroutines begin in scheduler_run(); AS_SPAWNED: when they are added.
cdef inline int scheduler_init(scheduler_t *s, unsigned int workers=0, int when=BATCH) noexcept nogil:
    return weft_scheduler_init(s, workers, when)

cdef inline int scheduler_coro_add(scheduler_t *s, coro_function f, void *arg=NULL) noexcept nogil:
    return weft_scheduler_add(s, f, arg)
