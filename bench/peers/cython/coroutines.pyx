# cython: language_level=3
# coroutines.pyx - the workloads for coroutines of weft's package for Cython; peer.py calls them.
cimport weft
from weft.scheduler cimport *

cdef extern from *:
    """
    #include <time.h>
    static long long now_ns(void) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return t.tv_sec * 1000000000LL + t.tv_nsec;
    }
    """
    long long now_ns() noexcept nogil

cdef int empty(coro_t *self, void *arg) noexcept nogil:
    return 0

cdef int yields(coro_t *self, void *arg) noexcept nogil:
    cdef long i
    for i in range(<long>arg):
        if coro_yield(self, MAY_RESUME) != weft.WEFT_OK:
            return weft.WEFT_CANCELED
    return 0

cdef class Scheduler:
    """A warm scheduler: what it measures does not begin with its threads."""
    cdef scheduler_t s

    def __init__(self, unsigned int workers, bint as_spawned):
        with nogil:
            weft.check(scheduler_init(&self.s, workers, AS_SPAWNED if as_spawned else BATCH))

    def close(self):
        with nogil:
            scheduler_destroy(&self.s)

    def spawn(self, long n):
        """Nanoseconds to add n coroutines that do nothing, and to add and run them."""
        cdef long i
        cdef long long begin, added, ended
        with nogil:
            begin = now_ns()
            for i in range(n):
                weft.check(scheduler_coro_add(&self.s, empty))
            added = now_ns()
            weft.check(scheduler_run(&self.s))
            ended = now_ns()
        return added - begin, ended - begin

    def switch(self, long n):
        """Nanoseconds for two coroutines that yield to each other, n times in all."""
        cdef long long begin, ended
        with nogil:
            begin = now_ns()
            weft.check(scheduler_coro_add(&self.s, yields, <void *>(n // 2)))
            weft.check(scheduler_coro_add(&self.s, yields, <void *>(n // 2)))
            weft.check(scheduler_run(&self.s))
            ended = now_ns()
        return ended - begin
