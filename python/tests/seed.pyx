# cython: language_level=3
# The sample of seed row L1: its text is that of the seed, but for the import, `noexcept`, and the sum that the tests look at.
from weft.scheduler cimport *

cdef extern from *:
    """
    static long long sum_of_all;
    static void add_up(long long n) { __atomic_fetch_add(&sum_of_all, n, __ATOMIC_RELAXED); }
    static long long take_sum(void) { return __atomic_exchange_n(&sum_of_all, 0, __ATOMIC_RELAXED); }
    """
    void add_up(long long n) noexcept nogil
    long long take_sum() noexcept nogil

def main(int workers=0):
    cdef:
        scheduler_t s
        unsigned int i

    with nogil:
        if workers == 0:
            scheduler_init(&s)
        else:
            scheduler_init(&s, workers)

        for i in range(1000):
            scheduler_coro_add(&s, foo)

        scheduler_run(&s)
        scheduler_destroy(&s)
    return take_sum()

# Example task
cdef int foo(coro_t *coroutine, void *arg) noexcept nogil:
    cdef int foo = 5
    coro_yield(coroutine, coro_yield_value.MAY_RESUME)
    foo *= 2
    add_up(foo)
    coro_yield(coroutine, coro_yield_value.FINISHED)
    add_up(1000000)  # never runs
    return 0
