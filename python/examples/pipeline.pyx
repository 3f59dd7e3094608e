# cython: language_level=3
# pipeline.pyx - a fiber reads orders from a channel, with a limit of time for each, while a thread of Python sends them.
cimport weft
from libc.stdint cimport int64_t
from weft cimport typed

cdef struct work:
    weft.weft_channel *orders
    int64_t total
    int64_t pauses

cdef int add_up(void *arg) noexcept nogil:
    cdef work *w = <work *>arg
    cdef int64_t order = 0
    cdef int status
    while True:
        status = weft.weft_receive(w.orders, &order, 50 * 1000000)   # 50 ms
        if status == weft.WEFT_TIMEDOUT:
            w.pauses += 1
        elif status == weft.WEFT_OK:
            w.total += order
        elif status == weft.WEFT_CLOSED:
            return 0
        else:                                                        # stopped: clean up and return, which is no failure
            return weft.WEFT_CANCELED

cdef class Sum:
    """A sum that a fiber computes; add() may be called from any thread."""
    cdef weft.weft_runtime *rt
    cdef weft.weft_fiber *fiber
    cdef work w

    def __cinit__(self):
        cdef weft.weft_runtime_options options
        weft.weft_runtime_options_init(&options)
        options.workers = 1
        weft.check(typed.channel(<int64_t>0, 16, &self.w.orders))
        weft.check(weft.weft_runtime_create(&options, &self.rt))
        weft.check(weft.weft_spawn(self.rt, add_up, &self.w, NULL, &self.fiber))

    def add(self, int64_t order):
        with nogil:                                                  # it waits while 16 orders are stored
            weft.check(typed.send(self.w.orders, order, weft.WEFT_FOREVER))

    def finish(self):
        cdef weft.weft_fiber *fiber = self.fiber
        if fiber == NULL:
            raise RuntimeError("finish() was called before")
        self.fiber = NULL
        weft.weft_close(self.w.orders)
        with nogil:
            weft.check(weft.weft_join(fiber, weft.WEFT_FOREVER, NULL))
        return self.w.total

    def __dealloc__(self):
        if self.fiber != NULL:
            weft.weft_detach(self.fiber)
        with nogil:
            weft.weft_runtime_destroy(self.rt)                       # stops what still runs, and waits for it
        weft.weft_channel_release(self.w.orders)
