# _fibers.pxd - what weft._serve uses of weft._fibers: how a fiber of native code calls Python, and waits.
from libc.stdint cimport int64_t

from weft.c cimport weft_event, weft_runtime

# The calling fiber gets a thread state and the GIL; NULL: no memory. Then it leaves and enters Python as often as it likes, and ends the visit
# with the GIL, which is gone afterwards.
cdef void *visit_begin() noexcept nogil
cdef void visit_leave(void *visit) noexcept nogil
cdef void visit_enter(void *visit) noexcept nogil
cdef void visit_end(void *visit) noexcept nogil
# NULL: the caller is no fiber with a thread state, or on a thread of weft.blocking().
cdef void *visit_of_caller() noexcept
# Ends timeouts and scopes that were left open.
cdef void visit_leave_frames(void *visit) noexcept
# Ends scopes that were left open, and what is inside of them: native code may not return with these. Timeouts go on.
cdef void visit_leave_scopes(void *visit) noexcept
# In a process that was forked by a handler: ends it, since it has no connection to go back to. Else nothing.
cdef void end_if_forked(object error) noexcept

# For a runtime that others made and end. No fiber of Python may be left when it ends.
cdef int adopt_runtime(weft_runtime *rt) except -1
cdef int abandon_runtime() except -1
cdef bint python_is_quiet() noexcept nogil
# For one that goes on without this interpreter, on a plain thread: waits for all fibers of Python here, and deletes their thread states.
cdef int leave_runtime() except -1

# So many interpreters more, or less, run fibers in this one's runtime.
cdef int count_interpreters(Py_ssize_t n) except -1

cdef weft_runtime *runtime_of_caller() except NULL
cdef int wait_for(weft_event *e) except -1
cdef bint wait_a_while(weft_event *e, bint for_sure) except -1
cdef int64_t now() noexcept nogil

# Raises Cancelled in the visits that were made for that host, where they run Python now.
cdef void visit_for(void *visit, void *host) noexcept nogil
cdef void cancel_visits(void *host) noexcept
