# cython: language_level=3
# rows.pyx - the coroutines of test_seed_rows.py: each function runs some without the GIL, and returns what they have done.
cimport weft
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free
from weft.scheduler cimport *

cdef extern from *:
    """
    #include <malloc.h>
    #include <pthread.h>
    #include <time.h>
    #include <unistd.h>

    static void add_to(long *to, long n) { __atomic_fetch_add(to, n, __ATOMIC_SEQ_CST); }
    static long load(const long *from) { return __atomic_load_n(from, __ATOMIC_SEQ_CST); }
    static size_t bytes_in_use(void) { return mallinfo2().uordblks; }
    static long long now_ns(void) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return t.tv_sec * 1000000000LL + t.tv_nsec;
    }
    static long long cpu_ns(void) {
        struct timespec t;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        return t.tv_sec * 1000000000LL + t.tv_nsec;
    }
    static void compute(long steps) {
        volatile long n = 0;
        while (n < steps) ++n;
    }
    static long this_thread(void) { return (long)pthread_self(); }
    """
    void add_to(long *to, long n) noexcept nogil
    long load(const long *of) noexcept nogil
    size_t bytes_in_use() noexcept nogil
    long long now_ns() noexcept nogil
    long long cpu_ns() noexcept nogil
    void compute(long steps) noexcept nogil
    long this_thread() noexcept nogil
    int usleep(unsigned int us) noexcept nogil


# ---- L2, L3, L7: counters

cdef struct counters:
    long begun
    long ended
    long behind

cdef int counted(coro_t *self, void *arg) noexcept nogil:
    cdef counters *c = <counters *>arg
    cdef long local = 5
    add_to(&c.begun, 1)
    coro_yield(self, MAY_RESUME)
    local *= 2
    add_to(&c.ended, local)
    coro_yield(self, FINISHED)
    add_to(&c.behind, 1)
    return 0

def run_counted(unsigned int n, unsigned int workers, bint as_spawned=False):
    """(begun, sum of the doubled locals, how many went on behind FINISHED)"""
    cdef scheduler_t s
    cdef counters c = counters(0, 0, 0)
    cdef unsigned int i
    with nogil:
        weft.check(scheduler_init(&s, workers, AS_SPAWNED if as_spawned else BATCH))
        for i in range(n):
            weft.check(scheduler_coro_add(&s, counted, &c))
        weft.check(scheduler_run(&s))
        scheduler_destroy(&s)
    return c.begun, c.ended, c.behind


# ---- L4: the number of workers

cdef int count_workers(coro_t *self, void *arg) noexcept nogil:
    cdef weft.weft_stats stats
    weft.weft_stats_init(&stats)
    if weft.weft_runtime_stats(weft.weft_runtime_current(), &stats) == weft.WEFT_OK:
        (<long *>arg)[0] = stats.workers
    return 0

def workers(asked=None):
    cdef scheduler_t s
    cdef long found = 0
    cdef unsigned int n = asked or 0
    with nogil:
        weft.check(scheduler_init(&s) if n == 0 else scheduler_init(&s, n))
        weft.check(scheduler_coro_add(&s, count_workers, &found))
        weft.check(scheduler_run(&s))
        scheduler_destroy(&s)
    return found


# ---- L5: the order on one worker

cdef struct journal:
    long used
    long entries[64]

cdef struct numbered:
    journal *to
    long number

cdef int note_twice(coro_t *self, void *arg) noexcept nogil:
    cdef numbered *me = <numbered *>arg
    me.to.entries[me.to.used] = me.number
    me.to.used += 1
    coro_yield(self, MAY_RESUME)
    me.to.entries[me.to.used] = me.number
    me.to.used += 1
    return 0

def order_on_one_worker(int n):
    cdef scheduler_t s
    cdef journal notes
    cdef numbered coroutines[32]
    cdef int i
    notes.used = 0
    with nogil:
        weft.check(scheduler_init(&s, 1))
        for i in range(n):
            coroutines[i] = numbered(&notes, i)
            weft.check(scheduler_coro_add(&s, note_twice, &coroutines[i]))
        weft.check(scheduler_run(&s))
        scheduler_destroy(&s)
    return [notes.entries[i] for i in range(notes.used)]


# ---- L6: a stolen coroutine runs once

cdef struct counted_run:
    long runs
    long thread

cdef int run_once(coro_t *self, void *arg) noexcept nogil:
    cdef counted_run *me = <counted_run *>arg
    add_to(&me.runs, 1)
    me.thread = this_thread()
    compute(2000)
    return 0

def runs_of_each(unsigned int n, unsigned int on_workers):
    """(how often the coroutines ran, all the same number or -1; on how many threads)"""
    cdef scheduler_t s
    cdef unsigned int i
    cdef counted_run *each = <counted_run *>calloc(n, sizeof(counted_run))
    with nogil:
        weft.check(scheduler_init(&s, on_workers))
        for i in range(n):
            weft.check(scheduler_coro_add(&s, run_once, &each[i]))
        weft.check(scheduler_run(&s))
        scheduler_destroy(&s)
    found = {each[i].runs for i in range(n)}
    threads = {each[i].thread for i in range(n)}
    free(each)
    return (found.pop() if len(found) == 1 else -1), len(threads)


# ---- L8: how long a wake takes, and what an idle scheduler costs

cdef struct woken:
    weft.weft_event go
    weft.weft_event done
    long long set_at
    long long took
    long waits
    long rounds

cdef int wait_for_event(coro_t *self, void *arg) noexcept nogil:
    cdef woken *w = <woken *>arg
    cdef long i
    for i in range(w.rounds):
        add_to(&w.waits, 1)
        if weft.weft_event_wait(&w.go, weft.WEFT_FOREVER) != weft.WEFT_OK:
            return weft.WEFT_EFAILED
        w.took = now_ns() - w.set_at
        weft.weft_event_set(&w.done)
    return 0

def wake_latencies(long rounds, unsigned int pause_us):
    """(nanoseconds from a set on a plain thread to the coroutine that waits, while the scheduler sleeps; share of a CPU meanwhile)"""
    cdef scheduler_t s
    cdef long long began = 0
    cdef long long used = 0
    cdef woken w
    cdef long i
    w.waits = 0
    w.rounds = rounds
    weft.weft_event_init(&w.go, True)
    weft.weft_event_init(&w.done, True)
    found = []
    with nogil:
        weft.check(scheduler_init(&s, 1, AS_SPAWNED))
        weft.check(scheduler_coro_add(&s, wait_for_event, &w))
    for i in range(rounds):
        with nogil:
            if i == 1:   # it has started, and slept once
                began = now_ns()
                used = cpu_ns()
            while load(&w.waits) <= i:
                usleep(100)
            usleep(pause_us)
            w.set_at = now_ns()
            weft.weft_event_set(&w.go)
            weft.check(weft.weft_event_wait(&w.done, weft.WEFT_FOREVER))
        found.append(w.took)
    share = (cpu_ns() - used) / <double>(now_ns() - began)
    with nogil:
        weft.check(scheduler_run(&s))
        scheduler_destroy(&s)
    return found, share


# ---- L9, L10, L11: as spawned, batch, chunks

cdef int begin(coro_t *self, void *arg) noexcept nogil:
    add_to(<long *>arg, 1)
    return 0

def begins_while_adding(double seconds):
    """Whether a coroutine has begun before the last one is added."""
    cdef scheduler_t s
    cdef long begun = 0
    cdef long long until = now_ns() + <long long>(seconds * 1e9)
    cdef bint early = False
    with nogil:
        weft.check(scheduler_init(&s, 1, AS_SPAWNED))
        weft.check(scheduler_coro_add(&s, begin, &begun))
        while load(&begun) == 0 and now_ns() < until:
            usleep(100)
        early = load(&begun) != 0
        weft.check(scheduler_coro_add(&s, begin, &begun))
        weft.check(scheduler_run(&s))
        scheduler_destroy(&s)
    return early, begun

def begins_in_run(long n, unsigned int pause_us):
    """(begun before the run, begun after it, bytes of memory for the coroutines that were added)"""
    cdef scheduler_t s
    cdef long begun = 0
    cdef long before = 0
    cdef long i
    cdef size_t bytes = 0
    with nogil:
        weft.check(scheduler_init(&s, 2, BATCH))
        weft.check(scheduler_coro_add(&s, begin, &begun))
        bytes = bytes_in_use()
        for i in range(n - 1):
            weft.check(scheduler_coro_add(&s, begin, &begun))
        bytes = bytes_in_use() - bytes
        usleep(pause_us)
        before = load(&begun)
        weft.check(scheduler_run(&s))
        scheduler_destroy(&s)
    return before, begun, bytes


# ---- L12: a call that blocks

cdef int nap(void *us) noexcept nogil:
    usleep(<unsigned int><size_t>us)
    return 7

cdef int nap_apart(coro_t *self, void *arg) noexcept nogil:
    cdef int result = 0
    if weft.weft_blocking(nap, <void *>100000, &result) == weft.WEFT_OK:
        add_to(<long *>arg, result)
    return 0

cdef int nap_in_place(coro_t *self, void *arg) noexcept nogil:
    add_to(<long *>arg, nap(<void *>100000))
    return 0

def nap_together(long n, bint apart):
    """(seconds for n naps of 0.1 s on one worker, sum of their results)"""
    cdef scheduler_t s
    cdef long total = 0
    cdef long i
    cdef long long began = now_ns()
    with nogil:
        weft.check(scheduler_init(&s, 1))
        for i in range(n):
            weft.check(scheduler_coro_add(&s, nap_apart if apart else nap_in_place, &total))
        weft.check(scheduler_run(&s))
        scheduler_destroy(&s)
    return (now_ns() - began) / 1e9, total


# ---- L13, L14: threads of Python beside coroutines

cdef struct crossing:
    weft.weft_channel *to_threads
    weft.weft_channel *to_coroutines
    weft.weft_semaphore permits
    weft.weft_event ended
    long inside
    long most_inside

cdef class Crossing:
    """A channel each way, a semaphore of two permits and an event, for threads and coroutines."""
    cdef crossing c
    cdef scheduler_t s

    def __cinit__(self):
        weft.check(weft.weft_channel_create(sizeof(int64_t), 4, NULL, NULL, &self.c.to_threads))
        weft.check(weft.weft_channel_create(sizeof(int64_t), 4, NULL, NULL, &self.c.to_coroutines))
        weft.check(weft.weft_semaphore_init(&self.c.permits, 2))
        weft.weft_event_init(&self.c.ended, False)
        weft.check(scheduler_init(&self.s, 2, AS_SPAWNED))

    def __dealloc__(self):
        with nogil:
            scheduler_destroy(&self.s)
        weft.weft_channel_release(self.c.to_threads)
        weft.weft_channel_release(self.c.to_coroutines)

    def start_coroutines(self, int n):
        for _ in range(n):
            weft.check(scheduler_coro_add(&self.s, pass_on, &self.c))

    def receive(self):
        """What the next coroutine sends to a thread; None once they have closed the channel."""
        cdef int64_t value = 0
        cdef int status
        with nogil:
            status = weft.weft_receive(self.c.to_threads, &value, weft.WEFT_FOREVER)
        if status == weft.WEFT_CLOSED:
            return None
        weft.check(status)
        return value

    def send(self, int64_t value):
        with nogil:
            weft.check(weft.weft_send(self.c.to_coroutines, &value, weft.WEFT_FOREVER))

    def close(self):
        weft.weft_close(self.c.to_coroutines)

    def take_permit(self):
        with nogil:
            enter_room(&self.c)

    def run(self):
        with nogil:
            weft.check(scheduler_run(&self.s))
        weft.weft_close(self.c.to_threads)
        weft.weft_event_set(&self.c.ended)

    def wait_for_end(self, double seconds):
        with nogil:
            weft.check(weft.weft_event_wait(&self.c.ended, <int64_t>(seconds * 1e9)))

    @property
    def most_inside(self):
        return self.c.most_inside

cdef int enter_room(crossing *c) noexcept nogil:
    cdef long now
    if weft.weft_semaphore_acquire(&c.permits, weft.WEFT_FOREVER) != weft.WEFT_OK:
        return weft.WEFT_EFAILED
    add_to(&c.inside, 1)
    now = load(&c.inside)
    if now > c.most_inside:
        c.most_inside = now
    usleep(200)
    add_to(&c.inside, -1)
    weft.weft_semaphore_release(&c.permits, 1)
    return 0

cdef int pass_on(coro_t *self, void *arg) noexcept nogil:
    """Sends to the threads what they have sent, doubled."""
    cdef crossing *c = <crossing *>arg
    cdef int64_t value = 0
    while weft.weft_receive(c.to_coroutines, &value, weft.WEFT_FOREVER) == weft.WEFT_OK:
        if enter_room(c) != 0:
            return weft.WEFT_EFAILED
        value *= 2
        if weft.weft_send(c.to_threads, &value, weft.WEFT_FOREVER) != weft.WEFT_OK:
            return weft.WEFT_EFAILED
    return 0


# ---- L15: the same source on one worker and on many

cdef struct line:
    weft.weft_channel *into
    weft.weft_channel *out
    uint64_t factor

cdef int multiply(coro_t *self, void *arg) noexcept nogil:
    cdef line *l = <line *>arg
    cdef uint64_t v = 0
    while weft.weft_receive(l.into, &v, weft.WEFT_FOREVER) == weft.WEFT_OK:
        v = v * l.factor + 1
        if weft.weft_send(l.out, &v, weft.WEFT_FOREVER) != weft.WEFT_OK:
            return weft.WEFT_EFAILED
    weft.weft_close(l.out)
    return 0

cdef struct ends:
    weft.weft_channel *first
    weft.weft_channel *last
    long n
    uint64_t total

cdef int feed(coro_t *self, void *arg) noexcept nogil:
    cdef ends *e = <ends *>arg
    cdef uint64_t v
    for i in range(e.n):
        v = i
        if weft.weft_send(e.first, &v, weft.WEFT_FOREVER) != weft.WEFT_OK:
            return weft.WEFT_EFAILED
    weft.weft_close(e.first)
    return 0

cdef int gather(coro_t *self, void *arg) noexcept nogil:
    cdef ends *e = <ends *>arg
    cdef uint64_t v = 0
    while weft.weft_receive(e.last, &v, weft.WEFT_FOREVER) == weft.WEFT_OK:
        e.total = e.total * 31 + v
    return 0

def pipeline(long n, unsigned int on_workers):
    """A number that depends on each value and on their order, after ten stages."""
    cdef scheduler_t s
    cdef weft.weft_channel *channels[11]
    cdef line lines[10]
    cdef ends e
    cdef int i
    for i in range(11):
        weft.check(weft.weft_channel_create(sizeof(uint64_t), i % 4, NULL, NULL, &channels[i]))
    e.first, e.last, e.n, e.total = channels[0], channels[10], n, 0
    with nogil:
        weft.check(scheduler_init(&s, on_workers))
        weft.check(scheduler_coro_add(&s, feed, &e))
        for i in range(10):
            lines[i] = line(channels[i], channels[i + 1], i + 3)
            weft.check(scheduler_coro_add(&s, multiply, &lines[i]))
        weft.check(scheduler_coro_add(&s, gather, &e))
        weft.check(scheduler_run(&s))
        scheduler_destroy(&s)
    for i in range(11):
        weft.weft_channel_release(channels[i])
    return e.total


# ---- failures

cdef int fails(coro_t *self, void *arg) noexcept nogil:
    return weft.weft_fail(b"no such account")

def run_failing():
    cdef scheduler_t s
    weft.check(scheduler_init(&s, 1))
    try:
        weft.check(scheduler_coro_add(&s, fails))
        with nogil:
            weft.check(scheduler_run(&s))
    finally:
        with nogil:
            scheduler_destroy(&s)
