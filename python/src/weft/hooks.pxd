# weft/hooks.pxd - declares weft/c_hooks.h for Cython.
from weft.c cimport weft_status
from libc.stdint cimport uint64_t

cdef extern from "<weft/c_hooks.h>" nogil:
    ctypedef bint c_bool "bool"
    ctypedef struct weft_parking:
        uint64_t fiber
        const char *name
        size_t name_bytes
        const char *reason
        size_t reason_bytes

    weft_status weft_set_park_check(c_bool (*concerns)() noexcept nogil, void (*about_to_park)(const weft_parking *what) noexcept nogil)
    weft_status weft_set_park_hook(void (*about_to_park)(const weft_parking *what) noexcept nogil)
