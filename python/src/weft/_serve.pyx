# cython: language_level=3
# _serve.pyx - HTTP for Python: the server, and how a request of it reaches a function of Python.
#
# The server of weft/c_http.h reads, parses, limits and writes on all cores, without the GIL. A connection's fiber gets a thread state for
# the time of a handler (weft._fibers), calls it, and gives it up before it sends. What a handler sees of a request, and how its result
# becomes an answer, stands in _request.pxi (functions of a request) and _wsgi.pxi (PEP 3333); that of ASGI in _asgi.py. How a request
# reaches a function of another interpreter stands in _interpreters.pxi.
#
# A request lives as long as its exchange: the handler, and for a streamed answer the pieces. Objects of Python that outlive it find `q` NULL, and
# so do those that others look at between the two, where there is no weft_http_request.
cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_Check, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_Copy, PyDict_SetItem
from cpython.exc cimport PyErr_WriteUnraisable
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from cpython.unicode cimport PyUnicode_DecodeLatin1
from libc.stdint cimport INT64_MAX, SIZE_MAX, int64_t, uint64_t
from posix.strings cimport strncasecmp
from libc.stdlib cimport getenv
from libc.string cimport memchr, memcmp, memcpy, strncmp

from weft._fibers cimport (abandon_runtime, adopt_runtime, cancel_visits, count_interpreters, end_if_forked, leave_runtime, now,
                           python_is_quiet, runtime_of_caller, visit_begin, visit_end, visit_enter, visit_for, visit_leave,
                           visit_leave_frames, visit_leave_scopes, visit_of_caller, wait_a_while, wait_for)
from weft.c cimport *
from weft.http cimport *
from weft.prefork cimport *

import io as _io
import os as _os
import signal as _signal
import stat as _stat
import sys as _sys
import threading as _threading
import traceback as _traceback
from urllib.parse import parse_qsl as _parse_qsl, unquote as _unquote, unquote_to_bytes as _unquote_to_bytes

from weft import _fibers
from weft._core import Cancelled

cdef extern from *:
    """
    #include <unistd.h>

    /* PYSTATE-7: a thread that CPython ends here, because the interpreter has ended, hangs in place of that. */
    static void weft_left_call(int* in_python) {
        while (*in_python) pause();
    }
    /* A call of Python from code that has no GIL by its type, but has it in fact. */
    static int weft_call(int (*f)(void*, void*, void*), void* a, void* b, void* c) {
        int in_python __attribute__((cleanup(weft_left_call))) = 1;
        const int result = f(a, b, c);
        in_python = 0;
        return result;
    }
    """
    int weft_call(int (*f)(void *a, void *b, void *c) noexcept, void *a, void *b, void *c) noexcept nogil

cdef extern from "Python.h":
    object PyContext_CopyCurrent()
    object PyContext_Copy(object context)
    int PyContext_Enter(object context) except -1
    int PyContext_Exit(object context) except -1
    int PyUnicode_KIND(object o)
    void *PyUnicode_DATA(object o)
    Py_ssize_t PyUnicode_GET_LENGTH(object o)
    object PyUnicode_InternFromString(const char *s)
    int PyUnicode_1BYTE_KIND
    Py_ssize_t PyTuple_GET_SIZE(object o)
    PyObject *PyTuple_GET_ITEM(object o, Py_ssize_t i)
    PyObject *PyDict_SetDefault(object d, object key, object value) except NULL
    Py_ssize_t Py_REFCNT(object o)

cdef enum:
    MOST_FIELDS = 32           # of an answer on the stack; more are allocated
    COPIED_BYTES = 262144      # a body up to this is copied for sending, one that is larger is kept; chosen
    READ_BYTES = 65536         # of a body at once
    MOST_READ_BYTES = 1048576  # whatever is asked for: memory is taken for that before anything has come; chosen
    MOST_WORDS = 256           # of a command line
    THROW_NS = 500000000       # how often a handler that computes beyond the grace is told so; chosen

# ---- texts ---------------------------------------------------------------------------------------------------


cdef inline object latin1(weft_piece text):
    return PyUnicode_DecodeLatin1(<const char *>text.data, <Py_ssize_t>text.size, NULL)


cdef inline object bytes_of(weft_piece text):
    return PyBytes_FromStringAndSize(<const char *>text.data, <Py_ssize_t>text.size)


# The methods that nearly all requests have.
cdef object _get = PyUnicode_InternFromString(b"GET"), _post = PyUnicode_InternFromString(b"POST"), _head = PyUnicode_InternFromString(b"HEAD")
cdef object _empty = "", _content_type = "Content-Type"


cdef inline object method_of(weft_http_request *q):
    cdef weft_piece m = weft_http_method(q)
    if m.size == 3 and memcmp(m.data, b"GET", 3) == 0:
        return _get
    if m.size == 4 and memcmp(m.data, b"POST", 4) == 0:
        return _post
    if m.size == 4 and memcmp(m.data, b"HEAD", 4) == 0:
        return _head
    return latin1(m)


cdef inline bint is_head(weft_http_request *q) noexcept:
    cdef weft_piece m = weft_http_method(q)
    return m.size == 4 and memcmp(m.data, b"HEAD", 4) == 0

# ---- exchanges -----------------------------------------------------------------------------------------------


class BodyError(OSError):
    """The body of a request cannot be read to its end: it is malformed, too slow or too large, or the client has gone.

    A handler should let it out. The answer says what was wrong, whatever the handler returns.
    """
    _is_of_server = False      # else a program has made it, and the server knows nothing of it


@cython.freelist(64)
cdef class Exchange:
    """A request and its answer, while they last."""
    cdef weft_http_request *q      # NULL: it is over
    cdef void *visit

    cdef weft_http_request *here(self) except NULL:
        if self.q == NULL:
            raise RuntimeError("weft: the request is over")
        return self.q

    cdef void end(self, Py_ssize_t references) noexcept:
        """The handler has returned, or the exchange is over. references: those that the caller knows of."""
        self.q = NULL

    cdef bytes read_some(self, size_t most):
        """What is there of the body; b"": its end."""
        cdef size_t got = 0
        cdef int s
        cdef void *visit = self.visit
        cdef weft_http_request *q = self.here()
        cdef bytes piece
        if visit_of_caller() != visit:
            raise RuntimeError("weft: the fiber of a handler reads the body of its request, and not inside of weft.blocking()")
        if weft_http_body_left(q) == 0:
            return b""
        piece = PyBytes_FromStringAndSize(NULL, most)
        visit_leave(visit)
        s = weft_http_read(q, PyBytes_AS_STRING(piece), most, &got)
        visit_enter(visit)
        if s == WEFT_CANCELED:
            raise Cancelled()
        if s != WEFT_OK:
            error = BodyError(weft_error().decode("utf-8", "replace"))
            error._is_of_server = True
            raise error
        return piece if got == most else piece[:got]

    cdef bytes read_all(self):
        cdef list pieces = []
        cdef int64_t left
        cdef bytes piece
        while True:
            left = weft_http_body_left(self.here())
            piece = self.read_some(left if 0 < left < READ_BYTES else READ_BYTES)
            if not piece:
                return pieces[0] if len(pieces) == 1 else b"".join(pieces)
            pieces.append(piece)


@cython.final
cdef class Answer:
    """A streamed body: an iterator of pieces, which goes on in the context of its handler, on its thread state."""
    cdef Route route
    cdef Exchange exchange
    cdef object context
    cdef object pieces         # an iterator; or
    cdef int descriptor        # a file, and
    cdef int64_t offset, length
    cdef object ends           # its close() is called at the end, if it has one
    cdef object first          # a piece that was taken before
    cdef bint flushes          # at a piece that is empty: the head goes out then, if it has not yet

    cdef int write(self, weft_http_body *out) except -1:
        cdef int s
        if self.pieces is None:
            visit_leave(self.exchange.visit)
            s = weft_http_write_file(out, self.descriptor, self.offset, self.length)
            visit_enter(self.exchange.visit)
            return s
        if self.first is not None:
            s = self.write_piece(out, self.first)
            self.first = None
            if s != WEFT_OK:
                return s
        for piece in self.pieces:
            s = self.write_piece(out, piece)
            if s != WEFT_OK:
                return s
        return WEFT_OK

    cdef int write_piece(self, weft_http_body *out, object piece) except -1:
        cdef int s
        cdef bytes data
        end_if_forked(None)
        if self.route.is_wsgi and not PyBytes_Check(piece):
            raise TypeError(f"weft: a piece of an answer is bytes, not {type(piece).__name__}")
        data = bytes_of_piece(piece)
        if not data and not self.flushes:
            return WEFT_OK
        visit_leave(self.exchange.visit)
        s = weft_http_write(out, PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))
        if s == WEFT_OK:
            s = weft_http_flush(out)   # the next piece may take its time
        visit_enter(self.exchange.visit)
        return s

    cdef int end(self) except -1:
        close = getattr(self.ends, "close", None)
        if close is not None:
            close()
        return 0


cdef inline bytes bytes_of_piece(object piece):
    if PyBytes_Check(piece):
        return <bytes>piece
    if isinstance(piece, str):
        return (<str>piece).encode()
    if isinstance(piece, (bytearray, memoryview)):
        return bytes(piece)
    raise TypeError(f"weft: a piece of an answer is bytes or str, not {type(piece).__name__}")


cdef struct kept:
    void *visit
    void *answer               # an Answer, with a reference
    interpreter *here          # of that Answer; NULL: the main one


cdef int write_answer(void *answer, void *out, void *unused) noexcept:
    cdef Answer a = <Answer>answer
    cdef int s
    a.exchange.q = weft_http_request_of(<weft_http_body *>out)
    try:
        PyContext_Enter(a.context)
        try:
            s = a.write(<weft_http_body *>out)
        finally:
            visit_leave_frames(a.exchange.visit)
            PyContext_Exit(a.context)
        end_if_forked(None)
        return s
    except BaseException as e:
        end_if_forked(e)
        if isinstance(e, Cancelled):
            return WEFT_CANCELED
        return a.route.server.fail(a.exchange.q, e)


cdef int end_answer(void *answer, void *unused, void *unused2) noexcept:
    cdef Answer a = <Answer>answer
    try:
        PyContext_Enter(a.context)
        try:
            a.end()
        finally:
            visit_leave_frames(a.exchange.visit)
            PyContext_Exit(a.context)
    except BaseException as e:
        end_if_forked(e)
        a.route.server.fail(NULL, e)
    end_if_forked(None)
    a.exchange.end(1)
    Py_DECREF(a)
    return 0


cdef int on_write(weft_http_body *out, void *user) noexcept nogil:
    cdef kept *k = <kept *>user
    cdef int s
    visit_enter(k.visit)
    s = weft_call(write_answer, k.answer, out, NULL)
    visit_leave(k.visit)
    return s


cdef void on_end(void *user) noexcept nogil:
    cdef kept *k = <kept *>user
    visit_enter(k.visit)
    weft_call(end_answer, k.answer, NULL, NULL)
    visit_end(k.visit)
    if k.here != NULL:
        interpreters_give(k.here)
    PyMem_RawFree(k)


cdef const char *latin1_of(object text, size_t *n) except NULL:
    """The bytes of a str that is Latin-1, in its own memory."""
    if not isinstance(text, str):
        raise TypeError(f"weft: a header of an answer is made of str, not {type(text).__name__}: {text!r}")
    if PyUnicode_KIND(text) != PyUnicode_1BYTE_KIND:
        raise ValueError(f"weft: a header of an answer has a character beyond Latin-1: {text!r}")
    n[0] = PyUnicode_GET_LENGTH(text)
    return <const char *>PyUnicode_DATA(text)


cdef enum:
    STREAMS = -1               # the result of a handler whose answer keeps the visit


cdef int give_answer(weft_http_request *q, int status, list headers, object content_type, bytes body, Answer streamed,
                     int64_t length) except -2:
    """Answers with a body, or if that is None with one that is streamed. content_type: None if the headers have it, or there is none."""
    cdef weft_http_field few[MOST_FIELDS]
    cdef weft_http_field *fields = few
    cdef size_t count = len(headers), n = 0, i
    cdef kept *k
    cdef object pair
    cdef int s
    if count >= MOST_FIELDS:
        fields = <weft_http_field *>PyMem_RawMalloc((count + 1) * sizeof(weft_http_field))
        if fields == NULL:
            raise MemoryError()
    try:
        for i in range(count):
            pair = headers[i]
            if not isinstance(pair, tuple) or PyTuple_GET_SIZE(pair) != 2:
                raise TypeError(f"weft: a header of an answer is a tuple of name and value, not {pair!r}")
            fields[n].name = latin1_of(<object>PyTuple_GET_ITEM(pair, 0), &fields[n].name_size)
            fields[n].value = latin1_of(<object>PyTuple_GET_ITEM(pair, 1), &fields[n].value_size)
            if fields[n].name_size != 14 or strncasecmp(fields[n].name, b"Content-Length", 14) != 0:     # the server's
                n += 1
        if content_type is not None:
            fields[n].name = latin1_of(_content_type, &fields[n].name_size)
            fields[n].value = latin1_of(content_type, &fields[n].value_size)
            n += 1
        if body is not None:
            _check(weft_http_answer(q, status, fields, n, PyBytes_AS_STRING(body), PyBytes_GET_SIZE(body)))
            return WEFT_OK
        k = <kept *>PyMem_RawMalloc(sizeof(kept))
        if k == NULL:
            raise MemoryError()
        k.visit = streamed.exchange.visit
        k.answer = <void *>streamed
        k.here = streamed.route.here
        Py_INCREF(streamed)
        s = weft_http_stream(q, status, fields, n, length, on_write, on_end, k)
        if s != WEFT_OK:
            Py_DECREF(streamed)
            PyMem_RawFree(k)
            _check(s)
        return STREAMS
    finally:
        if fields != few:
            PyMem_RawFree(fields)


cdef Answer streamed_by(Route r, Exchange exchange, object context):
    cdef Answer a = Answer.__new__(Answer)
    a.route = r
    a.exchange = exchange
    a.context = context
    return a


include "_request.pxi"
include "_wsgi.pxi"
include "_asgi.pxi"
include "_interpreters.pxi"

# ---- handlers ------------------------------------------------------------------------------------------------


@cython.final
cdef class Route:
    """A function of Python that answers requests."""
    cdef Server server
    cdef object app
    cdef bint is_wsgi
    cdef interpreter *here     # whose it is; NULL: of the main one


cdef int call_app(void *q, void *route, void *visit) noexcept:
    cdef Route r = <Route>route
    cdef int s = WEFT_OK
    visit_for(visit, <void *>r.server)
    try:
        context = PyContext_Copy(r.server.context)
        PyContext_Enter(context)
        try:
            if r.is_wsgi:
                s = call_wsgi(r, <weft_http_request *>q, visit, context)
            else:
                s = call_function(r, <weft_http_request *>q, visit, context)
        finally:
            if s == STREAMS:       # its first piece may come out of the middle of a block
                visit_leave_scopes(visit)
            else:
                visit_leave_frames(visit)
            PyContext_Exit(context)
        end_if_forked(None)
        return s
    except BaseException as e:
        end_if_forked(e)
        if isinstance(e, Cancelled):
            return WEFT_CANCELED
        return r.server.fail(<weft_http_request *>q, e)


cdef int answer_by(weft_http_request *q, void *route) noexcept nogil:
    """STREAMS: the answer goes on, and on_end() will be called."""
    cdef void *visit = visit_begin()
    cdef int s
    if visit == NULL:
        return WEFT_ENOMEM
    s = weft_call(call_app, q, route, visit)
    if s == STREAMS:
        visit_leave(visit)
    else:
        visit_end(visit)
    return s


cdef int on_request(weft_http_request *q, void *route) noexcept nogil:
    cdef int s = answer_by(q, route)
    return WEFT_OK if s == STREAMS else s


cdef void on_error_hook(const weft_http_failure *f, void *user) noexcept nogil:
    """What handlers raise was reported when they did, with its traceback; so this is for the rest."""
    cdef void *visit
    if strncmp(f.words, b"weft: http: the handler returned WEFT_EFAILED", 45) == 0:
        return
    visit = visit_begin()
    if visit == NULL:
        return
    weft_call(tell_of_failure, <void *>f, user, NULL)
    visit_end(visit)


cdef int tell_of_failure(void *failure, void *server, void *unused) noexcept:
    cdef const weft_http_failure *f = <const weft_http_failure *>failure
    try:
        (<Server>server).tell(f.method.decode("latin-1"), f.target.decode("latin-1"), RuntimeError(f.words.decode("utf-8", "replace")))
    except BaseException:
        pass     # nothing is left to tell
    return 0

# ---- the server ----------------------------------------------------------------------------------------------


cdef struct life:
    weft_http_server *server
    void *python                   # the Server
    int64_t grace                  # of a process that is one of several
    const char *asked
    char at[256]
    weft_event stops               # stop() was called, or it has ended
    weft_event listening, ended    # both are set with the GIL, so the waiter finds them done with
    int status, error
    char words[512]
    interpreters *spread           # NULL: there are none but the main one


cdef int set_event(void *event, void *unused, void *unused2) noexcept:
    weft_event_set(<weft_event *>event)
    return 0


cdef int begin_on_fiber(void *server, void *unused, void *unused2) noexcept:
    cdef Server s = <Server>server
    try:
        s.begin(s.l.at.decode())
        weft_event_set(&s.l.listening)
        return WEFT_OK
    except BaseException as e:
        s.fail(NULL, e)
        return WEFT_EFAILED


cdef void set_with_gil(weft_event *e) noexcept nogil:
    cdef void *visit = visit_begin()
    if visit == NULL:
        weft_event_set(e)
        return
    weft_call(set_event, e, NULL, NULL)
    visit_end(visit)


cdef int serve_on_fiber(void *arg) noexcept nogil:
    cdef life *l = <life *>arg
    cdef size_t n = 0
    cdef void *visit
    l.status = weft_http_listen(l.server, l.asked)
    if l.status == WEFT_OK:
        l.status = weft_http_local(l.server, l.at, sizeof(l.at))
    if l.status == WEFT_OK:
        visit = visit_begin()
        if visit == NULL:
            l.status = WEFT_ENOMEM
        else:
            l.status = weft_call(begin_on_fiber, l.python, NULL, NULL)
            visit_end(visit)
    if l.status == WEFT_OK and l.spread != NULL:
        interpreters_go(l.spread, l.at)
    if l.status == WEFT_OK:
        l.status = weft_http_serve(l.server)
    if l.status != WEFT_OK:
        l.error = weft_error_errno()
        while weft_error()[n] != 0 and n < sizeof(l.words) - 1:
            l.words[n] = weft_error()[n]
            n += 1
        l.words[n] = 0
        set_with_gil(&l.listening)
    if l.spread != NULL:
        interpreters_end(l.spread)
    weft_event_set(&l.stops)
    set_with_gil(&l.ended)
    return 0


# As one of several processes: weft.prefork starts this program again for each, and ends it.


cdef int forget_variables() except -1:
    """Those of a worker are no longer in the environment, but in os.environ, from which programs that this one starts may get them."""
    for name in list(_os.environb):
        if getenv(name) == NULL:
            del _os.environb[name]
    return 0


cdef int begin_as_worker(void *server, void *unused, void *unused2) noexcept:
    cdef Server s = <Server>server
    try:
        adopt_runtime(weft_runtime_current())
        s.begun = True
        s.context = PyContext_CopyCurrent()
        s.begin(s.l.at.decode())
        forget_variables()
        return WEFT_OK if s.application is None or s.application.__enter__() else WEFT_CANCELED
    except BaseException as e:
        s.fail(NULL, e)
        return WEFT_EFAILED


cdef int end_as_worker(void *server, void *unused, void *unused2) noexcept:
    cdef Server s = <Server>server
    try:
        if s.application is not None:
            s.application.__exit__(None, None, None)
        abandon_runtime()
    except BaseException as e:
        s.fail(NULL, e)
    return 0


cdef int tell_of_stop(void *server, void *grace, void *unused) noexcept:
    cdef Server s = <Server>server
    try:
        if s.application is not None:
            s.application.stopping((<int64_t *>grace)[0] / 1e9)
    except BaseException as e:
        s.fail(NULL, e)
    return 0


cdef int serve_as_worker(void *life_of_server) noexcept nogil:
    return weft_http_serve((<life *>life_of_server).server)


cdef void stop_as_worker(c_bool program_ends, void *life_of_server) noexcept nogil:
    cdef life *l = <life *>life_of_server
    cdef void *visit = visit_begin()
    if visit != NULL:
        weft_call(tell_of_stop, l.python, &l.grace, NULL)
        visit_end(visit)
    if program_ends:
        weft_http_stop(l.server, l.grace)
    else:
        weft_http_drain(l.server, l.grace)


cdef int work_as_worker(weft_prefork_worker *w, void *life_of_server) noexcept nogil:
    cdef life *l = <life *>life_of_server
    cdef int port
    cdef void *visit
    cdef int s = weft_prefork_descriptor(w, &port)
    l.grace = weft_prefork_grace(w)
    if s == WEFT_OK:
        s = weft_http_listen_descriptor(l.server, port)
    if s == WEFT_OK:
        s = weft_http_local(l.server, l.at, sizeof(l.at))
    if s != WEFT_OK:
        return s
    visit = visit_begin()
    if visit == NULL:
        return WEFT_ENOMEM
    s = weft_call(begin_as_worker, l.python, NULL, NULL)
    visit_end(visit)
    if s == WEFT_OK:
        s = weft_prefork_serve(w, serve_as_worker, stop_as_worker, l, NULL)
        visit = visit_begin()
        if visit != NULL:
            weft_call(end_as_worker, l.python, NULL, NULL)
            visit_end(visit)
        while not python_is_quiet() and weft_sleep(1000000) == WEFT_OK:
            pass
    return s


cdef int tell_of_ready(void *at, void *server, void *unused) noexcept:
    cdef Server s = <Server>server
    try:
        s.address = (<const char *>at).decode()
        s.on_ready(s.address)
    except BaseException as e:
        s.fail(NULL, e)
    return 0


cdef void on_processes_ready(const char *at, void *server) noexcept nogil:
    cdef void *visit = visit_begin()
    if visit != NULL:
        weft_call(tell_of_ready, <void *>at, server, NULL)
        visit_end(visit)


cdef void no_hog(void *user, const weft_hog *hog) noexcept nogil:
    pass     # Python that computes is nothing to tell of


# The names of limits, which are options of the command, too.
SIZES = ("max_header_bytes", "max_body_bytes", "max_header_fields", "max_query_parameters", "max_connections", "min_rate")
TIMES = ("header_timeout", "idle_timeout", "body_timeout", "write_timeout", "request_timeout", "cold_after")
cdef dict _formats = {"common": WEFT_HTTP_LOG_COMMON, "combined": WEFT_HTTP_LOG_COMBINED, "json": WEFT_HTTP_LOG_JSON}


cdef size_t size_limit(str name, object value) except? 0:
    if value is None:
        return WEFT_HTTP_NO_LIMIT
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"weft: {name} is an int or None, not {value!r}")
    if value < 1:
        raise ValueError(f"weft: {name} is less than 1")
    return value


cdef int64_t time_limit(str name, object value) except? 0:
    if value is None:
        return WEFT_FOREVER
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"weft: {name} is a number of seconds or None, not {value!r}")
    if not value > 0:
        raise ValueError(f"weft: {name} is not more than 0 seconds")
    return (<int64_t>(value * 1e9) or 1) if value < 9e9 else WEFT_FOREVER


cdef int64_t grace_of(object value) except? 0:
    return time_limit("grace", value) if value is None or value != 0 else 0


cdef bytes without_zero(str what, str text):
    if "\0" in text:
        raise ValueError(f"weft: {what} has a zero byte: {text!r}")
    return text.encode()


cdef uint64_t _servers = 0


@cython.final
cdef class Server:
    """An HTTP server, which serves once. weft.serve() makes and runs one in one call.

    app: answers what no route does; None: that is 404. interface: "plain", a function of a Request, "wsgi" (PEP 3333), or
    "asgi" (ASGI 3; HTTP and lifespan). loop: for ASGI, a function that makes the event loop.
    interpreters: from CPython 3.13 on, so many interpreters with a GIL of their own run the app, which is named then, as "module:app"
    (factory=True: as a function that makes it), and so are the function of a route and the loop.
    static: {path prefix: folder}, served without Python. access_log: True (standard output), a path, a file or a descriptor, which gets a
    line for each answer in the access_log_format "common", "combined" or "json". on_error(method, target, exception) is called for a request
    that failed; by default its traceback goes to standard error.

    limits, sizes (None: no limit): max_header_bytes=16384, max_body_bytes=1048576, max_header_fields=128, max_query_parameters=1000,
    max_connections=100000, min_rate=1024 (bytes per second of a body or an answer).
    limits, seconds (None: no limit): header_timeout=10, idle_timeout=60, body_timeout=30, write_timeout=30, request_timeout=None,
    cold_after=1 (a connection that is idle for so long gives up its fiber).
    """
    cdef weft_http_server *handle
    cdef list routes
    cdef object context, base, teller, log_file, on_ready
    cdef object application           # of ASGI; else None
    cdef Spread spread                # None: no interpreters but this one
    cdef bint is_factory
    cdef life l
    cdef uint64_t number           # no other server of this process has it
    cdef bint begun
    cdef int64_t ends_at           # when the grace is over
    cdef readonly object address      # "host:port" or "unix:/path" at which it listens; None before that

    def __cinit__(self, *args, **kw):
        global _servers
        _servers += 1
        self.number = _servers

    def __init__(self, app=None, *, interface="plain", interpreters=None, factory=False, loop=None, static=None, access_log=None,
                 access_log_format="combined", on_error=None, **limits):
        cdef weft_http_options o
        if self.handle != NULL:
            raise RuntimeError("weft.Server: it was made already")
        if interface not in ("plain", "wsgi", "asgi"):
            raise ValueError(f'weft: the interface is "plain", "wsgi" or "asgi", not {interface!r}')
        if loop is not None and interface != "asgi":
            raise ValueError('weft: loop is for the interface "asgi"')
        if access_log_format not in _formats:
            raise ValueError(f'weft: the access_log_format is "common", "combined" or "json", not {access_log_format!r}')
        if on_error is not None and not callable(on_error):
            raise TypeError("weft: on_error is not callable")
        if interpreters is not None:
            self.spread_over(interpreters, on_error, loop)
        elif factory:
            raise ValueError("weft: factory is for interpreters=N; elsewhere the app is what the factory returns")
        weft_http_options_init(&o)
        for name, value in limits.items():
            if name not in SIZES and name not in TIMES:
                raise TypeError(f"weft: there is no option {name}; limits are {', '.join(SIZES + TIMES)}")
        o.max_header_bytes = size_limit("max_header_bytes", limits.get("max_header_bytes", 16384))
        o.max_body_bytes = size_limit("max_body_bytes", limits.get("max_body_bytes", 1048576))
        o.max_header_fields = size_limit("max_header_fields", limits.get("max_header_fields", 128))
        o.max_query_parameters = size_limit("max_query_parameters", limits.get("max_query_parameters", 1000))
        o.max_connections = size_limit("max_connections", limits.get("max_connections", 100000))
        o.min_rate = size_limit("min_rate", limits.get("min_rate", 1024))
        o.header_timeout_ns = time_limit("header_timeout", limits.get("header_timeout", 10))
        o.idle_timeout_ns = time_limit("idle_timeout", limits.get("idle_timeout", 60))
        o.body_timeout_ns = time_limit("body_timeout", limits.get("body_timeout", 30))
        o.write_timeout_ns = time_limit("write_timeout", limits.get("write_timeout", 30))
        o.request_timeout_ns = time_limit("request_timeout", limits.get("request_timeout"))
        o.cold_after_ns = time_limit("cold_after", limits.get("cold_after", 1))
        o.on_error = on_error_hook
        o.user = <void *>self
        self.teller = on_error
        self.routes = []
        self.ends_at = INT64_MAX
        _check(weft_http_create(&o, &self.handle))
        self.l.server = self.handle
        self.l.python = <void *>self
        self.l.spread = self.spread.all if self.spread is not None else NULL
        self.set_log(access_log, access_log_format)
        for prefix, folder in (static or {}).items():
            self.files(prefix, folder)
        if interface == "asgi" and app is not None and self.spread is None:
            from weft._asgi import Application
            app = self.application = Application(app, self, loop)
        if app is not None:
            self.add(None, "/", app, interface, factory, loop)
            self.add(None, "/{path...}", app, interface, factory, loop)

    def __dealloc__(self):
        weft_http_destroy(self.handle)

    cdef int spread_over(self, object n, object on_error, object loop) except -1:
        from weft._interpreters import refusal
        if isinstance(n, bool) or not isinstance(n, int):
            raise TypeError(f"weft: interpreters is an int or None, not {n!r}")
        if n < 1:
            raise ValueError("weft: interpreters is less than 1")
        if loop is not None and not isinstance(loop, str):
            raise TypeError(f'weft: with interpreters=N the loop is named, as "module:function"; this is {loop!r}')
        if on_error is not None:
            raise ValueError("weft: on_error cannot be given to another interpreter; with interpreters=N failures are printed")
        if refusal() is not None:
            raise ValueError(refusal())
        self.spread = Spread(n)
        return 0

    cdef int set_log(self, object log, str format) except -1:
        if log is None or log is False:
            return 0
        if log is True:
            log = _sys.stdout
        if isinstance(log, (str, bytes, _os.PathLike)):
            log = open(log, "ab", buffering=0)
        descriptor = log if isinstance(log, int) else log.fileno()
        self.log_file = log        # keeps it open
        return _check(weft_http_log_access(self.handle, descriptor, _formats[format]))

    cdef int not_begun(self) except -1:
        """The server looks at its routes without a lock."""
        if self.begun:
            raise RuntimeError("weft.Server: routes are added before it serves")
        return 0

    cdef int add(self, object method, object pattern, object app, str interface, bint is_factory=False, object loop=None) except -1:
        cdef Route r
        cdef weft_http_handler handler = on_request
        cdef void *user
        if self.spread is None and not callable(app):
            raise TypeError(f"weft: {app!r} is not callable, so it cannot answer requests")
        self.not_begun()
        if self.spread is not None:
            handler, user = on_spread_request, self.spread.user_of(app, is_factory, interface, loop)
        else:
            r = Route()
            r.server = self
            r.app = app
            r.is_wsgi = interface == "wsgi"
            user = <void *>r
        pattern_bytes = without_zero("a pattern", pattern)
        method_bytes = without_zero("a method", method) if method is not None else None
        _check(weft_http_route(self.handle, <const char *>method_bytes if method is not None else NULL, pattern_bytes, handler, user))
        if self.spread is None:
            self.routes.append(r)
        return 0

    def route(self, method, pattern, function):
        """function(request) answers requests of that method (None: of all), whose path fits the pattern, such as "/users/{id}"."""
        self.add(method, pattern, function, "plain")

    def constant(self, pattern, body, content_type="text/plain; charset=utf-8"):
        """GET of this pattern is always answered by these bytes, without Python."""
        self.not_begun()
        data = body.encode() if isinstance(body, str) else bytes(body)
        pattern_bytes, type_bytes = without_zero("a pattern", pattern), without_zero("a content type", content_type)
        _check(weft_http_constant(self.handle, pattern_bytes, type_bytes, PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data)))

    def files(self, prefix, folder, *, index="index.html", cache=0, hidden=False):
        """Serves the files of a folder below the path prefix, without Python. cache: seconds for which a client need not ask again."""
        cdef weft_http_files_options o
        self.not_begun()
        weft_http_files_options_init(&o)
        prefix_bytes, folder_bytes, index_bytes = prefix.rstrip("/").encode(), _os.fsencode(folder), index.encode()
        o.index = index_bytes
        o.cache_ns = time_limit("cache", cache) if cache else 0
        o.hidden = hidden
        _check(weft_http_files(self.handle, prefix_bytes, folder_bytes, &o))

    def serve(self, at="127.0.0.1:8080", *, workers=None, processes=1, grace=10.0, on_ready=None):
        """Listens at "host:port" or "unix:/path" and serves until stop(), and on the main thread until SIGTERM or SIGINT.

        workers: threads that run fibers; None: one for each CPU. grace: how many seconds requests under way may take after a signal.
        on_ready(address) is called when it listens. Without weft.run() around it, it runs a runtime of its own.
        processes: more than one, or None for one for each CPU, run the program that many times, up to this call, each with a GIL of its own.
        The process that was started watches the others: SIGHUP replaces them, one that fails is started again. It is the only one for
        which this call returns.
        """
        if self.begun:
            raise RuntimeError("weft.Server: it serves once")
        if workers is not None and workers < 1:
            raise ValueError("weft: workers is less than 1")
        if processes is not None and processes < 1:
            raise ValueError("weft: processes is less than 1")
        grace_of(grace)
        if self.spread is not None and processes != 1:
            raise ValueError("weft: interpreters are those of one process; leave out interpreters, or processes")
        if processes != 1:
            return self.serve_as_processes(at, processes or 0, workers or 0, grace, on_ready)
        if _fibers._runs_on_fiber():
            return self._serve(at, on_ready)
        before = {}
        if _threading.current_thread() is _threading.main_thread():
            for number in (_signal.SIGTERM, _signal.SIGINT):
                before[number] = _signal.signal(number, _Ending(self, grace))
        try:
            if _fibers._has_runtime():
                fiber = _fibers.spawn(self._serve, at, on_ready, name="weft.serve")
                try:
                    fiber.result()
                finally:
                    fiber.cancel()     # if something else has ended the wait, such as the handler of a signal
                    fiber.join()
            else:
                _fibers.run(self._serve, at, on_ready, workers=workers)
        finally:
            set_signals(before)

    cdef int begin(self, str address) except -1:
        self.address = address
        self.base = environ_of_server(address)
        return 0

    cdef int serve_as_processes(self, at, processes, workers, grace, on_ready) except -1:
        cdef weft_prefork_options o
        cdef char *argv[MOST_WORDS]
        cdef int argc = 0, s, code = 0
        cdef bint is_worker = weft_prefork_is_worker()
        if _threading.current_thread() is not _threading.main_thread() or _fibers._has_runtime():
            raise RuntimeError("weft: processes are started by the main thread, before there are fibers")
        weft_prefork_options_init(&o)
        asked = at.encode()
        o.at = asked
        o.processes = processes
        o.workers = workers
        o.stack_bytes = _fibers._stack_bytes_of_python()
        o.grace_ns = grace_of(grace) or 1
        o.on_hog = no_hog
        o.user = <void *>self
        if on_ready is not None:
            self.on_ready = on_ready
            o.on_ready = on_processes_ready
        words = [_os.fsencode(w) for w in (_sys.executable, *_sys.orig_argv[1:])]
        if len(words) >= MOST_WORDS:
            raise ValueError("weft: the program has too many arguments")
        for word in words:
            argv[argc] = <char *>PyBytes_AS_STRING(word)
            argc += 1
        argv[argc] = NULL
        before = {}
        for number in (_signal.SIGTERM, _signal.SIGINT, _signal.SIGHUP, _signal.SIGUSR2):
            before[number] = _signal.signal(number, _signal.SIG_DFL)     # that of Python would wait for this thread
        with nogil:
            s = weft_prefork_run(argc, argv, &o, work_as_worker, &self.l, &code)
        self.routes.clear()
        forget_clients(self.number)
        _fibers._forget_runtime()
        if not is_worker:
            set_signals(before)
        _check(s)
        if is_worker or code != 0:
            raise SystemExit(code)
        return 0

    def _serve(self, at, on_ready):
        if self.application is None:
            return self._serve_requests(at, on_ready)
        if self.begun:
            raise RuntimeError("weft.Server: it serves once")
        with self.application as starts:
            if starts:
                self._serve_requests(at, self.application.when_ready(on_ready))

    def _serve_requests(self, at, on_ready):
        cdef weft_runtime *rt = runtime_of_caller()
        if self.begun:
            raise RuntimeError("weft.Server: it serves once")
        self.begun = True
        self.context = PyContext_CopyCurrent()
        if self.spread is None:
            return self._listen(rt, at, on_ready)
        try:
            self.spread.begin(self.handle)
            self._listen(rt, at, on_ready)
        finally:
            self.spread.end()
        self.spread.raise_failure()

    cdef int _listen(self, weft_runtime *rt, str at, object on_ready) except -1:
        asked = at.encode()
        self.l.asked = asked
        weft_event_init(&self.l.listening, False)
        weft_event_init(&self.l.ended, False)
        _check(weft_spawn(rt, serve_on_fiber, &self.l, NULL, NULL))
        try:
            wait_for(&self.l.listening)
            if self.l.status == WEFT_OK:
                if on_ready is not None:
                    on_ready(self.address)
            wait_for(&self.l.stops)
            self.wait_for_end(False)
        except BaseException:
            self.stop(0)
            self.wait_for_end(True)
            raise
        finally:
            self.routes.clear()    # they refer to this
            forget_clients(self.number)
        if self.l.status == WEFT_CANCELED:
            raise Cancelled()
        if self.l.status == WEFT_ESYSTEM:
            raise OSError(self.l.error, self.l.words.decode("utf-8", "replace"))
        if self.l.status == WEFT_EINVAL:
            raise ValueError(self.l.words.decode("utf-8", "replace"))
        if self.l.status != WEFT_OK:
            raise RuntimeError(self.l.words.decode("utf-8", "replace"))
        return 0

    cdef int wait_for_end(self, bint for_sure) except -1:
        """Waits until it has ended. Handlers that compute learn at their next line that the grace is over."""
        cdef int64_t throw_at = 0
        while not wait_a_while(&self.l.ended, for_sure):
            if now() > self.ends_at and now() > throw_at:
                cancel_visits(<void *>self)
                throw_at = now() + THROW_NS
        return 0

    def stop(self, grace=10.0):
        """Ends serve(), from any fiber or thread, and does not wait. Requests under way may take `grace` seconds; then they are stopped."""
        cdef int64_t ns = grace_of(grace)
        cdef void *visit = visit_of_caller()
        cdef weft_http_server *handle = self.handle
        if self.application is not None:
            self.application.stopping(grace)
        if visit != NULL:
            visit_leave(visit)
            weft_http_stop(handle, ns)
            visit_enter(visit)
        else:
            with nogil:
                weft_http_stop(handle, ns)
        if ns < INT64_MAX - now():
            self.ends_at = min(self.ends_at, now() + ns)
        if self.spread is not None:
            interpreters_stop(self.spread.all, self.ends_at)
        weft_event_set(&self.l.stops)

    cdef int fail(self, weft_http_request *q, object error) noexcept:
        """Tells of what a handler has raised. \\returns the status of the handler, which makes the answer a 500."""
        try:
            if isinstance(error, BodyError) and error._is_of_server:
                return weft_fail(b"a body")     # the server has its own words for that
            if q != NULL:
                self.tell(latin1(weft_http_method(q)), latin1(weft_http_target(q)), error)
            else:
                self.tell("", "", error)
        except BaseException as e:
            PyErr_WriteUnraisable(e)
        return weft_fail(b"")

    def _tell(self, method, target, error):
        """For weft._asgi."""
        try:
            self.tell(method, target, error)
        except BaseException as e:
            PyErr_WriteUnraisable(e)

    cdef int tell(self, str method, str target, object error) except -1:
        if self.teller is not None:
            self.teller(method, target, error)
            return 0
        words = "".join(_traceback.format_exception(error))
        print(f"weft: http: {method} {target.encode('unicode_escape').decode()}:\n{words}", end="", file=_sys.stderr, flush=True)
        return 0


cdef int set_signals(dict handlers) except -1:
    for number, handler in handlers.items():
        if handler is not None:        # else it was not one of Python
            _signal.signal(number, handler)
    return 0


class _Ending:
    """A signal ends the server, the first one with grace, the second at once."""

    def __init__(self, server, grace):
        self.server, self.grace, self.count = server, grace, 0

    def __call__(self, number, frame):
        self.count += 1
        self.server.stop(self.grace if self.count == 1 else 0)


def serve(app, at="127.0.0.1:8080", *, interface="plain", workers=None, processes=1, grace=10.0, on_ready=None, **options):
    """Serves an application at "host:port" or "unix:/path" until SIGTERM or SIGINT (on the main thread), or until the fiber that calls it is stopped.

    interface="plain": app(request) gets a weft.Request and returns bytes, str, None (204), a generator of pieces, or a weft.Response.
    interface="wsgi": app is a program of PEP 3333, for example one of Flask or Django.
    interface="asgi": app is an application of ASGI 3, for example one of Starlette or FastAPI. It runs on an asyncio loop, on a thread of
    its own; loop=uvloop.new_event_loop makes that another one.
    on_ready(address) is called when it listens. workers, processes, grace: see weft.Server.serve(); all other options: see weft.Server.

    The parsing, the limits, files of `static` and the log run on all cores without the GIL.
    """
    Server(app, interface=interface, **options).serve(at, workers=workers, processes=processes, grace=grace, on_ready=on_ready)


cdef int _check(int status) except -1:
    if status == WEFT_OK:
        return 0
    words = weft_error().decode("utf-8", "replace")
    if status == WEFT_ESYSTEM:
        raise OSError(weft_error_errno(), words)
    if status == WEFT_ENOMEM:
        raise MemoryError(words)
    if status == WEFT_EINVAL:
        raise ValueError(words)
    raise RuntimeError(words)
