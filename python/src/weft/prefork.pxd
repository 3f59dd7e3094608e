# weft/prefork.pxd - declares weft/c_prefork.h for Cython, all of it callable without the GIL.
from libc.stdint cimport int64_t, uint32_t

from weft.c cimport weft_hog, weft_listener, weft_status

cdef extern from "<weft/c_prefork.h>" nogil:
    ctypedef bint c_bool "bool"
    ctypedef struct weft_prefork_worker
    ctypedef struct weft_prefork_options:
        size_t size
        const char *at
        uint32_t processes
        uint32_t workers
        size_t stack_bytes
        int64_t grace_ns
        int64_t ready_within_ns
        void (*on_ready)(const char *at, void *user) noexcept nogil
        void (*on_hog)(void *user, const weft_hog *hog) noexcept nogil
        void *user

    void weft_prefork_options_init(weft_prefork_options *o)
    weft_status weft_prefork_run(int argc, char **argv, const weft_prefork_options *o,
                                 int (*work)(weft_prefork_worker *w, void *arg) noexcept nogil, void *arg, int *code)
    bint weft_prefork_is_worker()
    weft_status weft_prefork_listener(weft_prefork_worker *w, weft_listener **out)
    weft_status weft_prefork_descriptor(weft_prefork_worker *w, int *out)
    int64_t weft_prefork_grace(const weft_prefork_worker *w)
    weft_status weft_prefork_serve(weft_prefork_worker *w, int (*serve)(void *arg) noexcept nogil,
                                   void (*stop)(c_bool program_ends, void *arg) noexcept nogil, void *arg, int *result)
