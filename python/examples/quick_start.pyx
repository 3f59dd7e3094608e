# cython: language_level=3
from weft.scheduler cimport *

cdef int square(coro_t *self, void *arg) noexcept nogil:   # a coroutine
    cdef long *n = <long *>arg
    coro_yield(self, coro_yield_value.MAY_RESUME)          # others go first; n is still there afterwards
    n[0] *= n[0]
    return 0

def squares(int count):
    cdef scheduler_t s
    cdef long values[1000]
    cdef int i
    for i in range(count):
        values[i] = i
    with nogil:                                            # all CPUs, and Python goes on meanwhile
        scheduler_init(&s)
        for i in range(count):
            scheduler_coro_add(&s, square, &values[i])
        scheduler_run(&s)
        scheduler_destroy(&s)
    return [values[i] for i in range(count)]
