# cython: language_level=3
# _fibers.pyx - Python functions as fibers: spawn, run, channels, locks, timeouts, scopes.
#
# How a fiber carries Python stands in _pystate.h. A Fiber that has not begun is an object in a list. A runner, which
# is a fiber of weft with a thread state, takes the oldest, runs it, and takes the next. Before each body it sends one
# more runner to the gate if others are in the list: that one comes through if the body parks, blocks or computes. All
# variables of this module belong to the GIL (PYSTATE-4).
#
# This is one module, although it is long: Cython calls functions of another module through pointers, and a wait
# or a spawn would pay for that. Its last lines include select, the coroutines of asyncio, and dump.
cimport cython
from cpython.exc cimport PyErr_CheckSignals, PyErr_Clear, PyErr_SetObject, PyErr_WriteUnraisable
from cpython.ref cimport PyObject, Py_DECREF, Py_INCREF
from libc.stdint cimport INT64_MAX, SIZE_MAX, int64_t, uint64_t

from weft._core cimport check
from weft.c cimport *

import atexit as _atexit
import os as _os
import sys as _sys
import threading as _threading
from types import GenericAlias as _GenericAlias

from weft._core import Cancelled, Closed

cdef extern from "Python.h":
    object PyContext_CopyCurrent()
    int PyContext_Enter(object context) except -1
    int PyContext_Exit(object context) except -1
    void PyObject_GC_Track(object o)
    void PyObject_GC_UnTrack(object o)
    bint PyObject_IS_GC(object o)
    bint PyObject_GC_IsTracked(object o)
    unsigned long PyThread_get_thread_ident()
    void *PyInterpreterState_Get()
    void *PyInterpreterState_Main()
    Py_ssize_t PY_SSIZE_T_MAX

cdef extern from "_pystate.h":
    ctypedef struct pystate:
        weft_fiber *handle
        void *body
        void *frames
        int64_t deadline
        uint64_t serial
        int stops
        bint lent
        bint of_fiber
        uint64_t visitor
        void *host
        pystate *after
    ctypedef struct pystate_counts:
        uint64_t pystates, made, live, runners, queued
    ctypedef struct pystate_globals:
        pystate_counts counts
        int ended
        uint64_t bodies
        pystate *live
        weft_event none_left
    ctypedef struct gate_state:
        uint64_t escalations
    gate_state gate
    pystate_globals pystate_all
    const char *PYSTATE_REFUSES
    enum:
        PYSTATE_STACK_BYTES
        PYSTATE_SEND, PYSTATE_RECEIVE, PYSTATE_EVENT, PYSTATE_ACQUIRE, PYSTATE_SELECT, PYSTATE_SLEEP, PYSTATE_YIELD
    ctypedef struct pystate_cases:
        weft_case *all
        size_t n, chosen
    int pystate_init(void (*run)(pystate *me) noexcept)
    int pystate_start_watch()
    void pystate_after_fork()
    pystate *pystate_current()
    int pystate_start(weft_runtime *rt, size_t stack_bytes)
    void pystate_clean(pystate *me)
    void pystate_clean_thread()
    void pystate_delete_idle()
    int pystate_throw(object type, void *host)
    bint pystate_stop(pystate *p)
    void pystate_stop_all()
    int pystate_call(int what, void *object, void *element, int64_t ns)
    int pystate_park(pystate *me, int what, void *object, void *element, int64_t ns)
    int pystate_park_shielded(pystate *me, int what, void *object, void *element, int64_t ns)
    int pystate_block(int what, void *object, void *element, int64_t ns)
    int pystate_blocking(pystate *me, void (*call)(void *what) noexcept, void *what)
    int64_t pystate_now() nogil
    pystate *pystate_visit(size_t stack_bytes) nogil
    void pystate_end_visit(pystate *me) nogil
    void pystate_enter_visit(pystate *me) nogil
    void pystate_leave(pystate *me) nogil

cdef enum:
    LOOK_NS = 100000000        # how often a wait of the main thread looks for signals, and how long the end of a runtime is patient
    AT_EXIT_NS = 1000000000    # how long the end of the interpreter waits for fibers that do not end; chosen

# ---- fibers ------------------------------------------------------------------------------------------------

cdef Fiber _oldest = None, _newest = None
cdef bint _runner_comes = False


@cython.final
cdef class _Failure:
    """What a fiber raised that no one has asked for: its end, which is that of its fiber, reports it.

    It is an object of its own, so that fibers need no __del__, which would cost each of them and forbid the free list.
    """
    cdef object error, words

    def __del__(self):
        if self.error is not None:
            PyErr_SetObject(type(self.error), self.error)
            PyErr_WriteUnraisable(self.words)


@cython.final
@cython.freelist(1024)
cdef class Fiber:
    """A function that runs as a fiber; weft.spawn() makes it."""
    cdef object f, args, kw, context, value, error
    cdef object given_name
    cdef set futures           # of asyncio, that wait for the end
    cdef Fiber next
    cdef scope owner
    cdef pystate *runner       # while the body runs
    cdef _Failure failure      # None: there was none, or it is taken
    cdef weft_event ended      # zeroed memory is such an event
    cdef uint64_t number
    cdef bint is_done, has_waiters

    def __init__(self):
        raise TypeError("weft.spawn() makes fibers")

    @classmethod
    def __class_getitem__(cls, item):
        return _GenericAlias(cls, item)

    def __repr__(self):
        state = "done" if self.is_done else "running" if self.runner != NULL else "not begun"
        return f"<weft.Fiber {self.name!r} {state}>"

    @property
    def name(self):
        return self.given_name if self.given_name is not None else f"fiber-{self.number}"

    @property
    def done(self):
        return self.is_done

    def join(self, timeout=None):
        """Waits for the end of the function. A failure of it is not raised here. TimeoutError: it goes on."""
        if not self.is_done:
            self.wait(_ns(timeout))

    def result(self, timeout=None):
        """Waits, and returns what the function returned, or raises what it raised."""
        if not self.is_done:
            self.wait(_ns(timeout))
        if self.error is not None:
            self.take_failure()
            raise self.error
        return self.value

    def cancel(self):
        """Asks the function to end: each further call in it that waits raises weft.Cancelled. One that has not begun never will.

        True: this was the first request, and the fiber had not ended.
        """
        if self.is_done:
            return False
        if self.runner != NULL:
            return bool(pystate_stop(self.runner))
        self.error = Cancelled()
        self.end()
        return True

    def __await__(self):
        """Waits in a coroutine of asyncio, and returns what the function returned, or raises what it raised."""
        return as_future(self).__await__()

    cdef int wait(self, int64_t ns) except -1:
        cdef pystate *me = pystate_current()
        if me != NULL and me.body == <void *>self:
            raise RuntimeError("a fiber cannot wait for its own end")
        self.has_waiters = True
        _wait(PYSTATE_EVENT, &self.ended, NULL, ns)
        return 0

    cdef void take_failure(self) noexcept:
        if self.failure is not None:
            self.failure.error = None
            self.failure = None

    cdef void end(self) noexcept:
        self.runner = NULL
        self.is_done = True
        if self.error is not None and not isinstance(self.error, Cancelled):
            self.failure = _Failure()
            self.failure.error = self.error
            self.failure.words = f"weft.Fiber {self.name!r}, which failed and whose result no one has asked for"
        if self.has_waiters:
            weft_event_set(&self.ended)
        if self.owner is not None:
            self.owner.child_has_ended(self)
            self.owner = None
        if self.context is not None:
            PyObject_GC_Track(self.context)  # what frees it expects that
        self.f = self.args = self.kw = self.context = None
        if (self.error is not None or PyObject_IS_GC(self.value)) and not PyObject_GC_IsTracked(self):
            PyObject_GC_Track(self)
        if self.futures is not None:
            _tell_futures(self)


cdef int _send_runner() noexcept:
    global _runner_comes
    cdef int s
    if _runner_comes or _oldest is None or _rt == NULL:
        return WEFT_OK
    s = pystate_start(_rt, _stack_bytes)
    if s == WEFT_OK:
        _runner_comes = True
    return s


cdef Fiber _take_oldest():
    global _oldest, _newest
    cdef Fiber f = _oldest
    _oldest = f.next
    f.next = None
    if _oldest is None:
        _newest = None
    return f


cdef void _run_all(pystate *me) noexcept:
    global _runner_comes
    cdef Fiber f
    _runner_comes = False
    while _oldest is not None:
        f = _take_oldest()
        if f.is_done:
            continue
        if _oldest is not None:
            _send_runner()
        _run_body(me, f)
        f = None
        pystate_clean(me)
        if me.stops:   # PYSTATE-6
            break
    f = None
    _send_runner()


cdef void _run_body(pystate *me, Fiber f) noexcept:
    pystate_all.bodies += 1
    me.serial = pystate_all.bodies
    me.body = <void *>f
    f.runner = me
    try:
        PyContext_Enter(f.context)
        try:
            if f.given_name is not None:
                weft_set_name(f.given_name.encode("utf-8", "replace"))
            if f.kw is None:
                f.value = f.f(*f.args)
            else:
                f.value = f.f(*f.args, **f.kw)
        finally:
            if me.frames != NULL and not _is_forked:
                _leave_frames(me, NULL)
            PyContext_Exit(f.context)
    except BaseException as e:
        f.error = e
    if _is_forked:
        _exit_child(f.error)
    if f.given_name is not None:
        weft_set_name(b"python")
    me.body = NULL
    f.end()


cdef size_t _others = 0          # interpreters that a server has, with which CPython cannot finish


cdef int count_interpreters(Py_ssize_t n) except -1:
    global _others
    _others += n
    return 0


cdef int _exit_now(int status) except -1:
    try:
        _sys.stdout.flush()
        _sys.stderr.flush()
    finally:
        _os._exit(status)


cdef void _exit_child(object error) noexcept:
    """Ends a child that was forked in a fiber, at the end of the fiber: there is nothing to go back to."""
    status = 0
    try:
        if isinstance(error, SystemExit):
            status = 0 if error.code is None else error.code if isinstance(error.code, int) else 1
            if not isinstance(error.code, (int, type(None))):
                print(error.code, file=_sys.stderr)
        elif error is not None:
            status = 1
            _sys.excepthook(type(error), error, error.__traceback__)
        _sys.stdout.flush()
        _sys.stderr.flush()
    except BaseException:
        status = status or 1
    _os._exit(status & 0xFF)


cdef Fiber _spawn(object f, tuple args, dict kw, object name, scope owner):
    global _oldest, _newest
    cdef Fiber self
    cdef int s
    if not callable(f):
        raise TypeError(f"weft.spawn: {f!r} is not callable")
    if name is not None and not isinstance(name, str):
        raise TypeError("weft.spawn: name is not a str")
    _need_runtime()
    self = Fiber.__new__(Fiber)
    # It is no garbage before its end, and the collector would look at 100,000 of them again and again.
    PyObject_GC_UnTrack(self)
    self.number = _next_number()
    self.f = f
    self.args = args
    self.kw = kw if kw else None
    self.given_name = name
    self.owner = owner
    self.context = PyContext_CopyCurrent()
    PyObject_GC_UnTrack(self.context)    # neither is that; end() gives it back to the collector
    if _newest is None:
        _oldest = self
    else:
        _newest.next = self
    _newest = self
    s = _send_runner()
    if s != WEFT_OK and pystate_all.counts.live == 0:   # no one will ever run it
        self.owner = None
        self.end()
        check(s)
    return self


cdef uint64_t _numbers = 0

cdef inline uint64_t _next_number() noexcept:
    global _numbers
    _numbers += 1
    return _numbers


def spawn(f, /, *args, name=None, **kw):
    """Runs f(*args, **kw) as a fiber. Without weft.run(), the first spawn starts a runtime that lasts to the end of the program."""
    return _spawn(f, args, kw, name, None)

# ---- waits -------------------------------------------------------------------------------------------------


cdef int64_t _ns(object timeout) except? -1:
    """Seconds as nanoseconds; None: for ever."""
    cdef double s
    if timeout is None:
        return INT64_MAX
    s = timeout
    if s != s:
        raise ValueError("weft: a time is not a number")
    if s >= 9e9:
        return INT64_MAX
    return <int64_t>(s * 1e9) if s > 0 else 0


cdef class _ThreadPlace:
    """What a thread has in place of a pystate: its timeouts and scopes."""
    cdef pystate place

    def __cinit__(self):
        self.place.deadline = INT64_MAX


@cython.final
@cython.no_gc_clear
cdef class _EndOfThread:
    """A value of a threading.local: blocks that a generator holds open do not outlive their thread, as with a fiber."""
    cdef _ThreadPlace of

    def __dealloc__(self):
        _leave_frames(&self.of.place, NULL)


cdef object _thread_places = _threading.local()


cdef pystate *_place_of_thread() except NULL:
    cdef _EndOfThread end
    try:
        place = _thread_places.place
    except AttributeError:
        place = _thread_places.place = _ThreadPlace()
        end = _EndOfThread()
        end.of = place
        _thread_places.end = end
    return &(<_ThreadPlace>place).place


cdef pystate *_place() except NULL:
    cdef pystate *me = pystate_current()
    if me != NULL:
        return me
    if weft_self_id() != 0:
        raise RuntimeError("weft: a fiber of native code cannot wait in Python, where it has taken the GIL")
    return _place_of_thread()


cdef int _block(pystate *lent, int what, void *object, void *element, int64_t ns) except -1:
    """A wait of a thread. The main thread wakes up now and then, so that signals are handled, and that of a `lent` state to see stops."""
    cdef int64_t left = ns, end = 0
    cdef int s
    if ns <= LOOK_NS or (lent == NULL and PyThread_get_thread_ident() != _main_thread):
        return pystate_block(what, object, element, ns)
    if ns != INT64_MAX:
        end = pystate_now() + ns
    while True:
        s = pystate_block(what, object, element, left if left < LOOK_NS else LOOK_NS)
        if s != WEFT_TIMEDOUT and s != WEFT_BUSY:
            return s
        PyErr_CheckSignals()
        if lent != NULL and lent.stops:
            raise Cancelled()
        if ns != INT64_MAX:
            left = end - pystate_now()
            if left <= 0:
                return WEFT_TIMEDOUT


cdef int _wait(int what, void *object, void *element, int64_t ns) except -1:
    """One call that may wait, with the timeouts and stops of the caller. TimeoutError: `ns` have passed."""
    if _wait_for(what, object, element, ns) != WEFT_OK:
        raise TimeoutError("the timeout has passed")
    return 0


cdef int _wait_for(int what, void *object, void *element, int64_t ns) except -1:
    """The same, but that `ns` have passed is WEFT_TIMEDOUT."""
    cdef pystate *me = _place()
    cdef bint is_fiber = me.of_fiber and not me.lent
    cdef int64_t limit = ns, left
    cdef bint by_deadline = False
    cdef int s
    if me.stops:
        raise Cancelled()
    if me.deadline != INT64_MAX:
        left = me.deadline - pystate_now()
        if left <= 0:
            raise Cancelled()
        if left < limit:
            limit = left
            by_deadline = True
    if what < PYSTATE_SLEEP:
        s = pystate_call(what, object, element, 0)
        if s == WEFT_OK:
            return WEFT_OK
        if s != WEFT_BUSY and s != WEFT_TIMEDOUT:
            return check(s)
        if ns <= 0:
            return WEFT_TIMEDOUT
    if is_fiber:
        if _oldest is not None:
            _send_runner()
        s = pystate_park(me, what, object, element, limit)
    else:
        s = _block(me if me.lent else NULL, what, object, element, limit)
    if s == WEFT_OK:
        return WEFT_OK
    if s == WEFT_TIMEDOUT or s == WEFT_BUSY:
        if by_deadline:
            raise Cancelled()
        return WEFT_OK if what == PYSTATE_SLEEP else WEFT_TIMEDOUT
    return check(s)


def sleep(seconds):
    """Waits for so many seconds; 0: lets others go first."""
    cdef int64_t ns
    if seconds is None:
        raise TypeError("weft.sleep: how long?")
    ns = _ns(seconds)
    _wait(PYSTATE_SLEEP if ns > 0 else PYSTATE_YIELD, NULL, NULL, ns if ns > 0 else INT64_MAX)


def yield_now():
    """Lets other fibers go first that are ready."""
    _wait(PYSTATE_YIELD, NULL, NULL, INT64_MAX)

# ---- timeouts and scopes: frames, which may be left in any order and by anyone -----------------------------


cdef class _Frame:
    cdef _Frame outer
    cdef object keeps          # the _ThreadPlace
    cdef pystate *place        # NULL: not entered, or left
    cdef int64_t at            # of a timeout

    cdef int enter(self) except -1:
        cdef pystate *me = _place()
        if self.place != NULL:
            raise RuntimeError("weft: the block has been entered already")
        if not me.of_fiber:
            self.keeps = _thread_places.place
        self.place = me
        self.outer = <_Frame>me.frames if me.frames != NULL else None
        if me.frames != NULL:
            Py_DECREF(<_Frame>me.frames)     # outer has it now
        Py_INCREF(self)
        me.frames = <void *>self
        if self.at < me.deadline:
            me.deadline = self.at
        return 0

    cdef void leave(self) noexcept:
        """Takes it out of the frames of its place."""
        cdef pystate *me = self.place
        cdef _Frame inner, f
        if me == NULL:        # code that ran at the end of a child has left it already
            return
        self.place = NULL
        if me.frames == <void *>self:
            me.frames = NULL
            if self.outer is not None:
                Py_INCREF(self.outer)
                me.frames = <void *>self.outer
            Py_DECREF(self)
        else:
            inner = <_Frame>me.frames
            while inner.outer is not self:
                inner = inner.outer
            inner.outer = self.outer
        self.outer = None
        me.deadline = INT64_MAX
        f = <_Frame>me.frames if me.frames != NULL else None
        while f is not None:
            if f.at < me.deadline:
                me.deadline = f.at
            f = f.outer
        self.keeps = None

    cdef void abandon(self) noexcept:
        """The body has ended, or an outer block has, and this one was left open."""
        self.leave()


cdef void _leave_frames(pystate *me, void *outer) noexcept:
    """Leaves what is inside of `outer`; NULL: all."""
    cdef _Frame f      # me.frames may have the last reference
    while me.frames != outer and me.frames != NULL:
        f = <_Frame>me.frames
        f.abandon()


@cython.final
cdef class timeout(_Frame):
    """with weft.timeout(seconds): calls that wait raise weft.Cancelled when the time is over, and the block then raises TimeoutError.

    Of nested blocks the earliest counts.
    """
    cdef int64_t ns

    def __init__(self, seconds):
        self.ns = _ns(seconds)
        self.at = INT64_MAX

    def __enter__(self):
        if self.place != NULL:
            raise RuntimeError("weft: the block has been entered already")
        self.at = INT64_MAX if self.ns == INT64_MAX else pystate_now() + self.ns
        self.enter()
        return self

    def __exit__(self, type, value, traceback):
        cdef pystate *me = self.place
        if me == NULL:
            return False
        self.leave()
        if value is None or not isinstance(value, Cancelled) or self.at > pystate_now():
            return False
        if me.deadline <= self.at or me.stops:   # an outer timeout, or a stop, was the cause
            return False
        raise TimeoutError("the time of weft.timeout is over") from value


cdef set _scopes_of_threads = set()     # the runtime ends after these


@cython.final
cdef class scope(_Frame):
    """with weft.scope() as s: fibers of s.spawn() end before the block does; the first failure stops the others, and is raised."""
    cdef weft_scope *handle    # without children of its own: it stops the opener; NULL: the opener is in weft.blocking()
    cdef set children
    cdef object error
    cdef weft_event empty
    cdef bint is_open, is_lent, is_waiting, is_stopped, is_own

    def __cinit__(self):
        self.children = set()
        self.at = INT64_MAX

    def __enter__(self):
        _need_runtime()
        self.enter()
        cdef int s = WEFT_OK
        self.is_lent = self.place.lent
        if not self.is_lent:       # else it might be open at the end of the call, which weft does not allow
            s = weft_scope_open(_rt, NULL, &self.handle)
        if s != WEFT_OK:
            self.leave()
            check(s)
        self.is_open = True
        self.is_stopped = self.is_own = False
        self.error = None
        if not self.place.of_fiber:
            _scopes_of_threads.add(self)
        return self

    def spawn(self, f, /, *args, name=None, **kw):
        """Runs f(*args, **kw) as a fiber that ends with the block."""
        cdef Fiber child
        if not self.is_open:
            raise RuntimeError("weft.scope: the block has not been entered, or has been left")
        child = _spawn(f, args, kw, name, self)
        if not child.is_done:
            self.children.add(child)
        if self.is_stopped:
            child.cancel()
        return child

    def cancel(self):
        """Stops the fibers of the scope, and the block, which ends without an exception."""
        self.stop()

    cdef void stop(self) noexcept:
        cdef Fiber child
        if not self.is_open:
            return
        if not self.is_stopped:
            self.place.stops += 1
            weft_scope_request_stop(self.handle)
        self.is_stopped = True
        for child in list(self.children):
            child.cancel()

    cdef void child_has_ended(self, Fiber child) noexcept:
        self.children.discard(child)
        if child.error is not None and not isinstance(child.error, Cancelled):
            child.take_failure()
            if self.error is None:
                self.error = child.error
                self.stop()
        if self.is_waiting and not self.children:
            weft_event_set(&self.empty)

    cdef void close(self) noexcept:
        cdef weft_scope *handle = self.handle
        self.handle = NULL
        if not self.is_open:
            return
        self.is_open = False
        if self.is_stopped:
            self.place.stops -= 1
        _scopes_of_threads.discard(self)
        if handle != NULL:
            weft_scope_close(handle)     # it has no children, so it does not wait

    cdef void abandon(self) noexcept:
        self.stop()
        self.close()
        self.leave()

    cdef int wait_for_children(self) except -1:
        """Waits for all, whatever happens; raises what interrupted it."""
        cdef pystate *me
        interrupted = None
        while self.children:
            self.is_waiting = True
            weft_event_reset(&self.empty)
            if interrupted is None:
                try:
                    _wait(PYSTATE_EVENT, &self.empty, NULL, INT64_MAX)
                except BaseException as e:
                    interrupted = e
                    self.is_own = self.is_stopped
                    self.stop()
            else:
                me = pystate_current()
                if _oldest is not None:
                    _send_runner()
                if me != NULL and not me.lent:
                    pystate_park_shielded(me, PYSTATE_EVENT, &self.empty, NULL, INT64_MAX)
                else:
                    pystate_block(PYSTATE_EVENT, &self.empty, NULL, LOOK_NS)
        if interrupted is not None:
            raise interrupted
        return 0

    def __exit__(self, type, value, traceback):
        cdef pystate *me
        if self.place == NULL or _is_forked:     # its fibers run in the parent
            return False
        if self.place != _place() or self.is_lent != self.place.lent:
            raise RuntimeError("weft.scope: the block is left by another fiber than entered it, or on another side of weft.blocking")
        _leave_frames(self.place, <void *>self)
        is_own = self.is_stopped     # so a Cancelled is of this scope, and ends here
        if value is not None:
            self.stop()
        interrupted = None
        try:
            self.wait_for_children()
        except BaseException as e:
            interrupted = e
        is_own = is_own or (value is None and self.is_own)
        me = self.place
        self.close()
        self.leave()
        error, self.error = self.error, None
        cause = value if value is not None else interrupted
        if cause is not None and not isinstance(cause, Cancelled):
            if value is None:
                raise cause
            return False                         # the block's own failure
        if error is not None and not me.stops:   # else the stop of an outer block counts more
            raise error
        if is_own and not me.stops and me.deadline > pystate_now():
            return True
        if value is None and interrupted is not None:
            raise interrupted
        return False

# ---- channels, locks ---------------------------------------------------------------------------------------


@cython.final
cdef class Channel:
    """Objects from any fibers and threads to any others, in their order. capacity 0: a send waits until a receiver takes its object."""
    cdef weft_channel *ch

    def __cinit__(self, Py_ssize_t capacity=0):
        if capacity < 0:
            raise ValueError("weft.Channel: the capacity is negative")
        check(weft_channel_create(sizeof(void *), capacity, NULL, NULL, &self.ch))

    def __dealloc__(self):
        cdef PyObject *value = NULL
        if self.ch == NULL:
            return
        while weft_receive(self.ch, &value, 0) == WEFT_OK:
            Py_DECREF(<object>value)
        weft_channel_release(self.ch)

    @classmethod
    def __class_getitem__(cls, item):
        return _GenericAlias(cls, item)

    def send(self, value, timeout=None):
        """weft.Closed: the channel is closed. TimeoutError: no place was free, or no receiver came, in time."""
        cdef PyObject *v = <PyObject *>value
        Py_INCREF(value)
        try:
            _wait(PYSTATE_SEND, self.ch, &v, _ns(timeout))
        except BaseException:
            Py_DECREF(value)
            raise

    def receive(self, timeout=None):
        """weft.Closed: the channel is closed, and nothing is left in it."""
        cdef PyObject *v = NULL
        _wait(PYSTATE_RECEIVE, self.ch, &v, _ns(timeout))
        value = <object>v
        Py_DECREF(value)     # the reference of the channel
        return value

    def close(self):
        """Ends the channel: sends fail, and what is in it can still be received."""
        weft_close(self.ch)

    @property
    def closed(self):
        return bool(weft_channel_is_closed(self.ch))

    def __len__(self):
        return weft_channel_size(self.ch)

    def __bool__(self):
        return True

    def __iter__(self):
        return self

    def __next__(self):
        try:
            return self.receive()
        except Closed:
            raise StopIteration from None


@cython.final
cdef class Event:
    """Is set or not; wait() waits until it is set."""
    cdef weft_event e

    def set(self):
        weft_event_set(&self.e)

    def clear(self):
        weft_event_reset(&self.e)

    def is_set(self):
        return weft_event_wait(&self.e, 0) == WEFT_OK

    def wait(self, timeout=None):
        """TimeoutError: it was not set in time."""
        _wait(PYSTATE_EVENT, &self.e, NULL, _ns(timeout))


@cython.final
cdef class Semaphore:
    """A count of permits."""
    cdef weft_semaphore s
    cdef Py_ssize_t most       # permits that may be there: those of an acquire that is coming back are counted still

    def __cinit__(self, Py_ssize_t value=1):
        check(weft_semaphore_init(&self.s, value))
        self.most = value

    cdef int take(self, int64_t ns) except -1:
        _wait(PYSTATE_ACQUIRE, &self.s, NULL, ns)
        self.most -= 1
        return 0

    def acquire(self, timeout=None):
        """Takes a permit. TimeoutError: there was none in time."""
        self.take(_ns(timeout))

    def release(self, Py_ssize_t n=1):
        if n < 1:
            raise ValueError("weft.Semaphore.release: n is less than 1")
        if n > PY_SSIZE_T_MAX - self.most:     # which would stop the program
            raise OverflowError("weft.Semaphore.release: more permits than it can count")
        self.most += n
        weft_semaphore_release(&self.s, n)

    def __enter__(self):
        self.take(INT64_MAX)
        return self

    def __exit__(self, type, value, traceback):
        self.release()


@cython.final
cdef class Lock:
    """One fiber or thread holds it at a time, and may wait meanwhile."""
    cdef weft_semaphore s
    cdef bint held

    def __cinit__(self):
        check(weft_semaphore_init(&self.s, 1))

    def acquire(self, timeout=None):
        """TimeoutError: it was not free in time."""
        _wait(PYSTATE_ACQUIRE, &self.s, NULL, _ns(timeout))
        self.held = True

    def release(self):
        if not self.held:
            raise RuntimeError("weft.Lock: it is not held")
        self.held = False
        weft_semaphore_release(&self.s, 1)

    def locked(self):
        return bool(self.held)

    def __enter__(self):
        self.acquire()
        return self

    def __exit__(self, type, value, traceback):
        self.release()

# ---- threading.RLock by fiber ------------------------------------------------------------------------------


cdef uint64_t _owner() noexcept:
    """A number of the calling fiber or thread."""
    cdef pystate *me = pystate_current()
    if me != NULL:
        return (<uint64_t>1 << 63) | me.serial
    if weft_self_id() != 0:
        return (<uint64_t>1 << 62) | weft_self_id()
    return PyThread_get_thread_ident()


@cython.final
cdef class _RLock:
    """threading.RLock() while there is a runtime: its owner is a fiber or a thread. Not interrupted by stops, as threading's is not."""
    cdef object __weakref__
    cdef weft_semaphore s
    cdef uint64_t owner
    cdef size_t count

    def __cinit__(self):
        check(weft_semaphore_init(&self.s, 1))

    def acquire(self, blocking=True, timeout=-1):
        cdef uint64_t mine = _owner()
        cdef int64_t ns
        cdef int s
        if not blocking and timeout != -1:
            raise ValueError("can't specify a timeout for a non-blocking call")
        if blocking and timeout < 0 and timeout != -1:
            raise ValueError("timeout value must be a non-negative number")
        if self.count and self.owner == mine:
            self.count += 1
            return True
        s = weft_semaphore_acquire(&self.s, 0)
        if s != WEFT_OK:
            ns = 0 if not blocking else INT64_MAX if timeout == -1 else _ns(timeout)
            if ns <= 0:
                return False
            s = self.wait(ns)
            if s == WEFT_TIMEDOUT:
                return False
            check(s)
        self.owner = mine
        self.count = 1
        return True

    cdef int wait(self, int64_t ns) except -1:
        cdef pystate *me = _place()
        if not me.of_fiber or me.lent:
            return _block(NULL, PYSTATE_ACQUIRE, &self.s, NULL, ns)
        if _oldest is not None:
            _send_runner()
        return pystate_park_shielded(me, PYSTATE_ACQUIRE, &self.s, NULL, ns)

    def release(self):
        if not self.count or self.owner != _owner():
            raise RuntimeError("cannot release un-acquired lock")
        self.count -= 1
        if self.count == 0:
            self.owner = 0
            weft_semaphore_release(&self.s, 1)

    def __enter__(self):
        return self.acquire()

    def __exit__(self, type, value, traceback):
        self.release()

    def __repr__(self):
        return f"<weft RLock owner={self.owner} count={self.count}>"

    # What threading.Condition asks of a lock.
    def _is_owned(self):
        return bool(self.count and self.owner == _owner())

    def _recursion_count(self):
        return self.count if self.owner == _owner() else 0

    def _release_save(self):
        if not self.count:
            raise RuntimeError("cannot release un-acquired lock")
        saved = (self.count, self.owner)
        self.count = 0
        self.owner = 0
        weft_semaphore_release(&self.s, 1)
        return saved

    def _acquire_restore(self, saved):
        self.acquire()
        self.count, self.owner = saved

    def _at_fork_reinit(self):
        self.count = 0
        self.owner = 0
        check(weft_semaphore_init(&self.s, 1))

# ---- calls that block --------------------------------------------------------------------------------------


cdef class _Call:
    cdef object f, args, kw, value, error
    cdef bint made


cdef void _make_call(void *what) noexcept:
    cdef _Call c = <_Call>what
    c.made = True
    try:
        c.value = c.f(*c.args, **c.kw)
    except BaseException as e:
        c.error = e
    if _is_forked:
        _exit_child(c.error)


def blocking(f, /, *args, **kw):
    """f(*args, **kw) on a thread that is kept for calls that block, while other fibers go on.

    A call that has begun is waited for, whatever happens. If a stop has come or a weft.timeout has passed by then,
    weft.Cancelled is raised in place of its result.
    """
    cdef pystate *me = _place()
    cdef _Call c
    cdef int s
    _check_stopped()
    if not me.of_fiber or me.lent:
        value = f(*args, **kw)
        _check_stopped()
        return value
    c = _Call()
    c.f, c.args, c.kw = f, args, kw
    if _oldest is not None:
        _send_runner()
    s = pystate_blocking(me, _make_call, <void *>c)
    if c.error is not None:
        raise c.error
    check(s)
    _check_stopped()     # the wait knows nothing of timeouts, and a stop may have come too early or late for it
    return c.value

# ---- the runtime -------------------------------------------------------------------------------------------

cdef weft_runtime *_rt = NULL
cdef size_t _stack_bytes = PYSTATE_STACK_BYTES
cdef bint _is_ending = False, _is_forked = False, _hooked = False
cdef unsigned long _main_thread = _threading.main_thread().ident
cdef uint64_t _runtimes = 0      # how many there were: the number of this one
cdef bint _has_ender = False     # a thread is in _end_runtime()
cdef bint _is_over = False       # the functions of atexit run
cdef str _FORKED = "weft: this process was forked from one with fibers, so it can have none; start it anew (multiprocessing: spawn)"
cdef object _threads_rlock = None
cdef bint _has_pystate = pystate_init(_run_all) == 0


cdef void _no_hog(void *user, const weft_hog *hog) noexcept nogil:
    pass     # Python that computes is nothing to tell of


cdef int _need_runtime() except -1:
    if _rt == NULL or _is_ending or _is_forked:
        if _is_over or _sys.is_finalizing():
            raise RuntimeError("weft: the program is ending, and no one would end another runtime")
        _start_runtime(0, PYSTATE_STACK_BYTES)
    return 0


cdef int _start_runtime(unsigned workers, size_t stack_bytes) except -1:
    global _rt, _runtimes, _stack_bytes, _threads_rlock
    cdef weft_runtime_options o
    if PYSTATE_REFUSES != NULL:
        raise RuntimeError(f"weft: Python functions cannot be fibers here: {PYSTATE_REFUSES.decode()}")
    if _is_forked:
        raise RuntimeError(_FORKED)
    if _is_ending or pystate_all.ended:
        raise RuntimeError("weft: the runtime is ending")
    if not _has_pystate:
        raise RuntimeError("weft: Python functions cannot be fibers here: the thread that imported weft is none of Python's")
    if pystate_start_watch() != 0:
        raise MemoryError("weft: no thread can be started")
    weft_runtime_options_init(&o)
    o.workers = workers
    o.stack_bytes = stack_bytes
    o.on_hog = _no_hog
    check(weft_runtime_create(&o, &_rt))
    _runtimes += 1
    _stack_bytes = stack_bytes
    _hook()
    _threads_rlock, _threading.RLock = _threading.RLock, _RLock
    return 0


cdef int _hook() except -1:
    global _hooked
    if not _hooked:
        _hooked = True
        _atexit.register(_at_exit)
        _os.register_at_fork(after_in_child=_after_fork)
    return 0


cdef bint _end_runtime(uint64_t number, int64_t limit) except -1:
    """Ends that runtime, if no one has. \\returns False if fibers go on after `limit`."""
    global _has_ender
    cdef int64_t begin = pystate_now()
    # At the end of the program a thread may be in weft.run(): only one of the two ends the runtime.
    while _has_ender:
        if pystate_now() - begin > limit:
            return False
        pystate_block(PYSTATE_SLEEP, NULL, NULL, LOOK_NS // 100)
        PyErr_CheckSignals()
    if _rt == NULL or _runtimes != number:
        return True
    _has_ender = True
    try:
        return _stop_and_destroy(begin, limit)
    finally:
        _has_ender = False


cdef bint _stop_fibers(int64_t begin, int64_t limit) except -1:
    """Stops all fibers and waits for their end. \\returns False if some go on after `limit`."""
    global _is_ending
    cdef Fiber f
    cdef int64_t throw_at = begin + LOOK_NS
    _is_ending = True
    while _oldest is not None:
        f = _take_oldest()
        f.cancel()
    f = None
    for open_scope in list(_scopes_of_threads):
        (<scope>open_scope).stop()
    while pystate_all.counts.live != 0 or _scopes_of_threads:
        weft_event_reset(&pystate_all.none_left)
        pystate_stop_all()
        pystate_block(PYSTATE_EVENT, &pystate_all.none_left, NULL, LOOK_NS // 10)
        PyErr_CheckSignals()
        if pystate_now() - begin > limit:
            return False
        if pystate_now() > throw_at:     # fibers that compute learn of the stop at their next line
            pystate_throw(Cancelled, NULL)
            throw_at = pystate_now() + 10 * LOOK_NS
    return True


cdef bint _stop_and_destroy(int64_t begin, int64_t limit) except -1:
    global _rt, _is_ending
    cdef weft_runtime *rt = _rt
    if not _stop_fibers(begin, limit):
        return False
    _rt = NULL
    with nogil:
        weft_runtime_destroy(rt)
    _end_loop(limit)
    pystate_delete_idle()
    if _threading.RLock is _RLock:
        _threading.RLock = _threads_rlock
    _is_ending = False
    return True


def run(main, /, *args, workers=None, stack_bytes=None):
    """Starts a runtime, runs main(*args) as a fiber, stops the fibers that it has left, and returns its result.

    stack_bytes: address space for each fiber; None: 1 MiB, and 4 MiB on Python 3.11.
    """
    cdef Fiber f
    cdef Py_ssize_t count = 0 if workers is None else workers
    cdef Py_ssize_t bytes_ = PYSTATE_STACK_BYTES if stack_bytes is None else stack_bytes
    cdef uint64_t number
    if pystate_current() != NULL or weft_self_id() != 0:
        raise RuntimeError("weft.run: a fiber cannot start a runtime; weft.spawn uses its own")
    if _rt != NULL and not _is_forked:
        raise RuntimeError("weft.run: there is a runtime already, of another weft.run or of an earlier weft.spawn")
    if workers is not None and not 0 < count < 1 << 31:
        raise ValueError("weft.run: workers is less than 1, or too large")
    if bytes_ < 1:
        raise ValueError("weft.run: stack_bytes is less than 1")
    _start_runtime(count, bytes_)
    number = _runtimes
    try:
        f = _spawn(main, args, None, "main", None)
        f.join()
    finally:
        _end_runtime(number, INT64_MAX)
    return f.result()


def _at_exit():
    global _is_over
    _is_over = True
    if _is_forked or (_rt == NULL and not _has_ender):
        return
    if not _end_runtime(_runtimes, AT_EXIT_NS):
        pystate_all.ended = True     # what goes on hangs when it asks for the GIL
        if _others:
            print("weft: the program ends at once, with status 1: an interpreter runs code that does not end", file=_sys.stderr)
            _exit_now(1)


def _after_fork():
    global _is_forked
    pystate_after_fork()
    if _rt != NULL or _is_ending:
        _is_forked = True
        if _threading.RLock is _RLock:
            _threading.RLock = _threads_rlock


# ---- for weft._serve: fibers of native code that call Python (_fibers.pxd) ------------------------------------


cdef void *visit_begin() noexcept nogil:
    return pystate_visit(_stack_bytes)


cdef void visit_leave(void *visit) noexcept nogil:
    pystate_leave(<pystate *>visit)


cdef void visit_enter(void *visit) noexcept nogil:
    pystate_enter_visit(<pystate *>visit)


cdef void visit_end(void *visit) noexcept nogil:
    pystate_end_visit(<pystate *>visit)


cdef void *visit_of_caller() noexcept:
    cdef pystate *me = pystate_current()
    return me if me != NULL and not me.lent else NULL


cdef void visit_leave_frames(void *visit) noexcept:
    if (<pystate *>visit).frames != NULL and not _is_forked:
        _leave_frames(<pystate *>visit, NULL)


cdef void visit_leave_scopes(void *visit) noexcept:
    cdef pystate *me = <pystate *>visit
    cdef _Frame f = <_Frame>me.frames if me.frames != NULL and not _is_forked else None
    cdef _Frame outermost = None
    while f is not None:
        if isinstance(f, scope):
            outermost = f
        f = f.outer
    if outermost is not None:
        _leave_frames(me, <void *>outermost.outer if outermost.outer is not None else NULL)


cdef void end_if_forked(object error) noexcept:
    if _is_forked:
        _exit_child(error)


cdef int adopt_runtime(weft_runtime *rt) except -1:
    """Fibers of Python run in a runtime that another made. abandon_runtime() ends them."""
    global _rt, _threads_rlock
    if PYSTATE_REFUSES != NULL:
        raise RuntimeError(f"weft: Python functions cannot be fibers here: {PYSTATE_REFUSES.decode()}")
    if _rt != NULL:
        raise RuntimeError("weft: there is a runtime already, of another weft.run or of an earlier weft.spawn")
    if not _has_pystate or pystate_start_watch() != 0:
        raise MemoryError("weft: no thread can be started")
    _hook()
    _rt = rt
    _threads_rlock, _threading.RLock = _threading.RLock, _RLock
    return 0


cdef int abandon_runtime() except -1:
    """Stops the fibers of Python, and does not wait for their end: see python_is_quiet()."""
    global _rt, _is_ending
    cdef Fiber f
    _is_ending = True
    while _oldest is not None:
        f = _take_oldest()
        f.cancel()
    f = None
    pystate_stop_all()
    _threading.RLock = _threads_rlock
    return 0


cdef int leave_runtime() except -1:
    abandon_runtime()
    _stop_fibers(pystate_now(), INT64_MAX)
    _end_loop(INT64_MAX)
    while pystate_all.counts.made != 0:      # a fiber that has left the live list has its thread state for a moment more
        pystate_delete_idle()
        pystate_block(PYSTATE_SLEEP, NULL, NULL, LOOK_NS // 100)
    pystate_clean_thread()
    _forget_runtime()
    return 0


cdef bint python_is_quiet() noexcept nogil:
    return pystate_all.counts.live == 0


cdef weft_runtime *runtime_of_caller() except NULL:
    _need_runtime()
    return _rt


cdef int wait_for(weft_event *e) except -1:
    return _wait(PYSTATE_EVENT, e, NULL, INT64_MAX)


cdef bint wait_a_while(weft_event *e, bint for_sure) except -1:
    """Waits for LOOK_NS. for_sure: also if the caller is stopped, or interrupted by a signal. \\returns whether it is set."""
    cdef pystate *me
    if not for_sure:
        return _wait_for(PYSTATE_EVENT, e, NULL, LOOK_NS) == WEFT_OK
    me = _place()
    if me.of_fiber and not me.lent:
        return pystate_park_shielded(me, PYSTATE_EVENT, e, NULL, LOOK_NS) == WEFT_OK
    return pystate_block(PYSTATE_EVENT, e, NULL, LOOK_NS) == WEFT_OK


cdef void visit_for(void *visit, void *host) noexcept nogil:
    (<pystate *>visit).host = host


cdef void cancel_visits(void *host) noexcept:
    pystate_throw(Cancelled, host)


cdef int64_t now() noexcept nogil:
    return pystate_now()


def _stack_bytes_of_python():
    return PYSTATE_STACK_BYTES


def _forget_runtime():
    """A runtime that was adopted has ended."""
    global _rt, _is_ending
    _rt = NULL
    _is_ending = False


def _may_have_daemons():
    """Interpreters with a GIL of their own may have no threads that are."""
    return PyInterpreterState_Get() == PyInterpreterState_Main()


def _runs_on_fiber():
    return pystate_current() != NULL


def _has_runtime():
    return _rt != NULL and not _is_forked


def _counts():
    """For tests."""
    c = pystate_all.counts
    return {"pystates": c.pystates, "thread_states": c.made, "runners_now": c.live, "runners": c.runners, "queued": c.queued,
            "escalations": gate.escalations}

include "_select.pxi"
include "_coroutines.pxi"
include "_dump.pxi"
