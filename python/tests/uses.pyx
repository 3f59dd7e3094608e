# cython: language_level=3
# uses.pyx - small uses of `cimport weft` for test_package.py.
cimport weft
from libc.stdint cimport int32_t, int64_t
from weft cimport typed

def check(int status):
    with nogil:
        weft.check(status)

def bad_argument():
    with nogil:
        weft.check(weft.weft_send(NULL, NULL, 0))

def system_error():
    cdef weft.weft_stream *s = NULL
    with nogil:
        weft.check(weft.weft_connect(b"127.0.0.1:1", 5000000000, &s))

def typed_round(double value):
    cdef weft.weft_channel *ch = NULL
    cdef double got = 0
    cdef int32_t small = 0
    cdef int64_t integer = 1
    weft.check(typed.channel(<double>0, 1, &ch))
    try:
        with nogil:
            weft.check(typed.send(ch, value, weft.WEFT_FOREVER))
            weft.check(typed.receive(ch, &got, weft.WEFT_FOREVER))
        same_size = typed.send(ch, integer, 0)   # cannot be told from a double
        other_size = typed.send(ch, small, 0), weft.weft_error()
        into_other_size = typed.receive(ch, &small, 0)
    finally:
        weft.weft_channel_release(ch)
    return got, same_size, other_size, into_other_size

cdef int sleep_with_gil(void *arg) noexcept nogil:
    with gil:
        weft.weft_sleep(1000000)
    return 0

cdef int sleep_between(void *arg) noexcept nogil:
    cdef int i
    for i in range(3):
        with gil:
            (<list>arg).append(i)
        if weft.weft_sleep(100000) != weft.WEFT_OK:
            return weft.WEFT_EFAILED
    return 5

cdef run(weft.weft_body body, void *arg):
    cdef weft.weft_runtime *rt = NULL
    cdef int result = -1
    with nogil:
        weft.check(weft.weft_runtime_create(NULL, &rt))
        weft.check(weft.weft_run(rt, body, arg, &result))
        weft.weft_runtime_destroy(rt)
    return result

def park_with_gil():
    return run(sleep_with_gil, NULL)

def take_gil_between_parks():
    found = []
    return run(sleep_between, <void *>found), found

cdef int call_with_gil(void *arg) noexcept nogil:
    with gil:
        call = <list>arg
        try:
            call.append(call[0]())
        except Exception as e:
            call.append(e)
    return 0

def call_in_native_fiber(f):
    """What f() returned, or the exception that it raised, on a fiber of native code."""
    call = [f]
    run(call_with_gil, <void *>call)
    return call[1]
