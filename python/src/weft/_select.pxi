# _select.pxi - weft.select: waits for several channels at once. A part of _fibers.pyx.
from cpython.mem cimport PyMem_Free, PyMem_Malloc

cdef extern from *:
    """
    static PyStructSequence_Field weft_selected_fields[] = {
        {"index", "which case was chosen"},
        {"value", "what a receive has received; None for a send and an after"},
        {"case", "the case that was chosen; no item of the tuple"},
        {NULL, NULL}};
    static PyStructSequence_Desc weft_selected = {
        "weft.Selected", "What weft.select() has chosen: a tuple of the index and the value.", weft_selected_fields, 2};
    """
    ctypedef struct PyStructSequence_Desc:
        pass
    PyStructSequence_Desc weft_selected
    ctypedef struct PyTypeObject:
        pass
    PyTypeObject *PyStructSequence_NewType(PyStructSequence_Desc *what) except NULL
    object PyStructSequence_New(PyTypeObject *type)
    void PyStructSequence_SetItem(object o, Py_ssize_t i, PyObject *value)

cdef enum:
    FEW_CASES = 8              # so many need no memory but the stack; chosen, as weft_select() does
    MOST_CASES = 65535         # those of weft_select() without one for the time

cdef PyTypeObject *_selected_type = PyStructSequence_NewType(&weft_selected)
Selected = <object>_selected_type


@cython.final
@cython.freelist(16)
cdef class Case:
    """A case of weft.select(); weft.receive(), weft.send() and weft.after() make it, and it may be used again."""
    cdef int kind              # WEFT_CASE_RECEIVE, WEFT_CASE_SEND, WEFT_CASE_TIMEOUT
    cdef Channel channel
    cdef object value
    cdef int64_t ns
    cdef object seconds

    def __init__(self):
        raise TypeError("weft.receive(), weft.send() and weft.after() make cases")

    def __repr__(self):
        if self.kind == WEFT_CASE_RECEIVE:
            return f"weft.receive({self.channel!r})"
        if self.kind == WEFT_CASE_SEND:
            return f"weft.send({self.channel!r}, {self.value!r})"
        return f"weft.after({self.seconds!r})"


def receive(Channel ch not None, /):
    """A case of weft.select(): an object can be received from the channel."""
    cdef Case c = Case.__new__(Case)
    c.kind = WEFT_CASE_RECEIVE
    c.channel = ch
    return c


def send(Channel ch not None, value, /):
    """A case of weft.select(): the object can be sent to the channel."""
    cdef Case c = Case.__new__(Case)
    c.kind = WEFT_CASE_SEND
    c.channel = ch
    c.value = value
    return c


def after(seconds, /):
    """A case of weft.select(): so many seconds have passed since the call.

    0: no other case is ready, and the select does not wait.
    """
    cdef Case c = Case.__new__(Case)
    if seconds is None:
        raise TypeError("weft.after: how long?")
    c.kind = WEFT_CASE_TIMEOUT
    c.ns = _ns(seconds)
    c.seconds = seconds
    return c


cdef object _selected(Py_ssize_t index, object value, object case):
    made = PyStructSequence_New(_selected_type)
    index_object = <object>index
    for o in (index_object, value, case):
        Py_INCREF(o)
    PyStructSequence_SetItem(made, 0, <PyObject *>index_object)
    PyStructSequence_SetItem(made, 1, <PyObject *>value)
    PyStructSequence_SetItem(made, 2, <PyObject *>case)
    return made


def select(*cases, timeout=None):
    """Waits until one of the cases can be done, does it and no other, and returns its index and what it has received.

    Of several that are ready, each is as likely. weft.Closed: the channel of the case that was chosen is closed;
    `index` of the exception says which. TimeoutError: none was ready in time, and nothing has happened.
    """
    cdef Py_ssize_t n = len(cases), i, alarm = -1
    cdef int64_t limit = _ns(timeout), alarm_ns = INT64_MAX
    cdef weft_case few[FEW_CASES + 1]
    cdef PyObject *few_values[FEW_CASES]
    cdef weft_case *all = few
    cdef PyObject **values = few_values
    cdef pystate_cases what
    cdef bint is_done = False
    cdef Case c
    if n == 0:
        raise ValueError("weft.select: it has no cases")
    if n > MOST_CASES:
        raise ValueError(f"weft.select: it has more than {MOST_CASES} cases")
    for i in range(n):
        if not isinstance(cases[i], Case):
            raise TypeError(f"weft.select: {cases[i]!r} is not a case; weft.receive(), weft.send() and weft.after() make them")
    if n > FEW_CASES:
        all = <weft_case *>PyMem_Malloc((n + 1) * sizeof(weft_case) + n * sizeof(PyObject *))
        if all == NULL:
            raise MemoryError()
        values = <PyObject **>(all + n + 1)
    for i in range(n):
        c = <Case>cases[i]
        values[i] = NULL
        all[i].kind = WEFT_CASE_NONE if c.kind == WEFT_CASE_TIMEOUT else c.kind
        all[i].object = NULL if c.channel is None else <void *>c.channel.ch
        all[i].element = &values[i]
        if c.kind == WEFT_CASE_SEND:
            values[i] = <PyObject *>c.value
            Py_INCREF(c.value)           # the reference of the channel, should it be this case
        elif c.kind == WEFT_CASE_TIMEOUT and c.ns < alarm_ns:
            alarm, alarm_ns = i, c.ns
    what.all, what.n, what.chosen = all, n, n
    try:
        is_done = _wait_for(PYSTATE_SELECT, &what, NULL, alarm_ns if alarm_ns < limit else limit) == WEFT_OK
        i = <Py_ssize_t>what.chosen if is_done else alarm
        if not is_done and (alarm < 0 or limit < alarm_ns):
            raise TimeoutError("the timeout has passed")
        if is_done and all[i].status == WEFT_CLOSED:
            is_done = False              # it has taken nothing
            closed = Closed(f"weft.select: the channel of case {i} is closed", WEFT_CLOSED)
            closed.index, closed.case = i, cases[i]
            raise closed
        value = None
        if is_done and all[i].kind == WEFT_CASE_RECEIVE:
            value = <object>values[i]
        return _selected(i, value, cases[i])
    finally:
        # The references of this array: to what was not sent, and to what was received.
        for i in range(n):
            if all[i].kind == WEFT_CASE_SEND and not (is_done and what.chosen == <size_t>i):
                Py_DECREF(<object>values[i])
            elif all[i].kind == WEFT_CASE_RECEIVE and is_done and what.chosen == <size_t>i:
                Py_DECREF(<object>values[i])
        if all != few:
            PyMem_Free(all)
