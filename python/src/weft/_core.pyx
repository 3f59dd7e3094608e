# cython: language_level=3
# _core.pyx - statuses of weft/c.h as exceptions of Python, and the check that no fiber waits with the GIL.
import os as _os

from weft.c cimport (WEFT_BUSY, WEFT_CANCELED, WEFT_CLOSED, WEFT_EINVAL, WEFT_ENOMEM, WEFT_ESYSTEM, WEFT_OK, WEFT_TIMEDOUT, weft_error,
                   weft_error_errno, weft_status_name, weft_version)
from weft.hooks cimport c_bool, weft_parking, weft_set_park_check

cdef extern from *:
    """
    #include <stdio.h>
    #include <stdlib.h>

    #include <stdbool.h>

    static bool weft_holds_gil(void) {
    #if PY_VERSION_HEX >= 0x030D0000
        return PyThreadState_GetUnchecked() != NULL; /* PyGILState_Check() is always true beside other interpreters */
    #else
        return PyGILState_Check();
    #endif
    }

    static void weft_refuse_to_park(const weft_parking *what) {
        fprintf(stderr, "weft: fatal: fiber %llu \\"%.*s\\" waits (%.*s) while it holds the GIL, so no Python code can run; "
                "release the GIL around calls that park\\n", (unsigned long long)what->fiber, (int)what->name_bytes, what->name,
                (int)what->reason_bytes, what->reason);
        fflush(stderr);
        abort();
    }
    """
    c_bool weft_holds_gil() noexcept nogil
    void weft_refuse_to_park(const weft_parking *what) noexcept nogil


class Error(Exception):
    """A call of weft failed. `status` is its weft_status."""

    def __init__(self, words, status):
        super().__init__(words)
        self.status = status


class Closed(Error):
    """The channel, listener or stream is closed (WEFT_CLOSED). If weft.select() raises it, `index` and `case` say of which case."""

    index = None
    case = None


class Cancelled(BaseException):
    """The fiber was asked to stop, or a deadline that encloses the call has passed (WEFT_CANCELED).

    Not an Exception, so that handlers of failures let it pass.
    """


cdef object _exception_of(int status):
    words = weft_error().decode("utf-8", "replace") if status >= WEFT_EINVAL else ""
    if status == WEFT_CANCELED:
        return Cancelled()
    if status == WEFT_CLOSED:
        return Closed("closed", status)
    if status == WEFT_TIMEDOUT:
        return TimeoutError("the timeout has passed")
    if status == WEFT_BUSY:
        return BlockingIOError("it would have had to wait")
    if status == WEFT_ENOMEM:
        return MemoryError(words)
    if status == WEFT_EINVAL:
        return ValueError(words)
    if status == WEFT_ESYSTEM:
        return OSError(weft_error_errno(), words)
    return Error(words or weft_status_name(status).decode(), status)


cdef int check(int status) except -1 nogil:
    if status == WEFT_OK:
        return 0
    with gil:
        raise _exception_of(status)


cdef unsigned int _version = weft_version()
version_info = (_version // 1000000, _version // 1000 % 1000, _version % 1000)

# A library that watches parks itself, such as the lock check, keeps the hook; then there is no check.
if _os.environ.get("WEFT_GIL_CHECK", "on") != "off":
    weft_set_park_check(weft_holds_gil, weft_refuse_to_park)
