# cython: language_level=3, legacy_implicit_noexcept=True
# The sample's task without `noexcept`, as it was written for Cython 0.29.
from weft.scheduler cimport *

cdef int doubled = 0

cdef int foo(coro_t *coroutine, void *arg) nogil:
    global doubled
    cdef int foo = 5
    coro_yield(coroutine, coro_yield_value.MAY_RESUME)
    foo *= 2
    doubled = foo
    coro_yield(coroutine, coro_yield_value.FINISHED)
    doubled = -1
    return 0

def main():
    cdef scheduler_t s
    with nogil:
        scheduler_init(&s, 1)
        scheduler_coro_add(&s, foo)
        scheduler_run(&s)
        scheduler_destroy(&s)
    return doubled
