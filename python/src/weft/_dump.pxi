# _dump.pxi - weft.dump: what each fiber does, with the frames of Python. A part of _fibers.pyx.
cdef extern from *:
    """
    /* The innermost frame of a fiber's thread state; Py_None: it runs no Python. With the GIL, so no one moves it. */
    static PyObject* weft_frame_of(pystate* p) {
        PyObject* const frame = p->ts ? (PyObject*)PyThreadState_GetFrame(p->ts) : NULL;
        return frame ? frame : Py_NewRef(Py_None);
    }
    """
    object weft_frame_of(pystate *p)

cdef enum:
    MOST_FRAMES = 100          # of one fiber; chosen
    MOST_NAMES = 20            # of fibers that are told of together; chosen, as weft_dump() does


cdef void _add_text(void *parts, const char *text, size_t n) noexcept nogil:
    with gil:
        (<list>parts).append(text[:n])


cdef tuple _python_of(pystate *p):
    """Of a fiber that runs Python: its name, and the lines of its frames."""
    name = "called by native code" if p.visitor else repr((<Fiber>p.body).name)
    lines = []
    frame = weft_frame_of(p)
    while frame is not None:
        if len(lines) == MOST_FRAMES:
            lines.append("        and others that have called it")
            break
        code = frame.f_code
        lines.append(f'        File "{code.co_filename}", line {frame.f_lineno}, in {code.co_qualname}')
        frame = frame.f_back
    return f"{name}{', on a thread of weft.blocking' if p.lent else ''}", lines


cdef list _in_groups(fibers):
    """The lines for fibers that weft tells of together: those with the same frames in Python are together, too."""
    groups = {}
    for name, lines in fibers:
        groups.setdefault(tuple(lines), []).append(name)
    told = []
    for lines, names in groups.items():
        more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
        told += [f"Python of {len(names)} fiber{'s' if len(names) > 1 else ''}: {', '.join(names[:MOST_NAMES])}{more}", *lines]
    return told


def dump():
    """A text for people: what each fiber waits for, how long, and where it is in Python and in native code."""
    cdef pystate *p = pystate_all.live
    cdef list parts = []
    cdef Fiber f
    cdef Py_ssize_t waiting = 0
    python = {}
    # All with the GIL: no fiber gets on in Python meanwhile, so what is told of one fits together.
    while p != NULL:
        if p.visitor:
            name, frames = _python_of(p)
            if frames:     # else it is between two calls
                python[p.visitor] = name, frames
        elif p.body != NULL and p.handle != NULL:
            python[weft_fiber_id(p.handle)] = _python_of(p)
        p = p.after
    check(weft_dump(WEFT_DUMP_TEXT, _add_text, <void *>parts))
    lines = []
    for line in b"".join(parts).decode("utf-8", "replace").splitlines():
        lines.append(line)
        words = line.split(None, 2)
        if len(words) > 1 and words[0] == "fiber" and words[1].isdigit() and int(words[1]) in python:
            name, frames = python.pop(int(words[1]))
            lines += [f"    Python: {name}", *frames]
    lines += _in_groups(python.values())
    f = _oldest
    while f is not None:
        waiting += not f.is_done
        f = f.next
    if waiting:
        lines.append(f"{waiting} fiber{'s' if waiting > 1 else ''} of Python not begun")
    return "\n".join(lines) + "\n"
