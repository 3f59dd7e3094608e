# _interpreters.pxi - one server for several interpreters: how the main one begins and ends them, and how another one answers.

cdef extern from "_interpreters.h":
    ctypedef struct interpreters
    ctypedef struct interpreter:
        interpreters *of
        int (*answer)(weft_http_request *q, interpreter *here, size_t program) noexcept nogil
        void **routes
        char *failure
        weft_event loaded, serves, gone
    ctypedef struct interpreters:
        interpreter *all
        size_t n
        weft_runtime *runtime
        weft_http_server *server
        const char *at
        weft_event goes, stops, ended
    interpreters *interpreters_new(size_t n)
    void interpreters_free(interpreters *all)
    interpreter *interpreters_take(interpreters *all) nogil
    void interpreters_give(interpreter *here) nogil
    void interpreters_go(interpreters *all, const char *at) nogil
    void interpreters_stop(interpreters *all, int64_t at) nogil
    int64_t interpreters_end_at(const interpreters *all) nogil
    void interpreters_end(interpreters *all) nogil
    char *interpreter_run(const char *code) except? NULL

# ---- in the main interpreter ---------------------------------------------------------------------------------


cdef struct spread_program:
    interpreters *all
    size_t number


cdef int on_spread_request(weft_http_request *q, void *program) noexcept nogil:
    cdef spread_program *p = <spread_program *>program
    cdef interpreter *there = interpreters_take(p.all)
    return there.answer(q, there, p.number)


@cython.final
cdef class Spread:
    """The interpreters of a server, and the names of what they run."""
    cdef interpreters *all
    cdef list programs         # [name, is_factory, interface, the name of what makes its loop]
    cdef list users            # a SpreadProgram for each
    cdef list threads

    def __cinit__(self, size_t n):
        self.programs = []
        self.users = []
        self.threads = []
        self.all = interpreters_new(n)
        if self.all == NULL:
            raise MemoryError()

    def __dealloc__(self):
        interpreters_free(self.all)

    cdef void *user_of(self, object name, bint is_factory, str interface, object loop) except NULL:
        """What the native route of that program gets."""
        cdef SpreadProgram p
        program = [name, bool(is_factory), interface, loop]
        if not isinstance(name, str):
            raise TypeError(f'weft: with interpreters=N a program is named, as "module:function", because no object can be given to '
                            f'another interpreter; this is {name!r}')
        if program not in self.programs:
            p = SpreadProgram()
            p.c.all = self.all
            p.c.number = len(self.programs)
            self.programs.append(program)
            self.users.append(p)
        return &(<SpreadProgram>self.users[self.programs.index(program)]).c

    cdef int begin(self, weft_http_server *server) except -1:
        """Starts the interpreters, and waits until all have loaded the programs; raises why one could not. On a fiber."""
        cdef size_t i
        from weft._interpreters import code, exception_of
        self.all.runtime = runtime_of_caller()
        self.all.server = server
        for i in range(self.all.n):
            text = code(<size_t>&self.all.all[i], self.programs).encode()
            thread = _threading.Thread(target=self._run, args=(i, text), name=f"weft interpreter {i + 1}", daemon=True)
            thread.start()
            self.threads.append(thread)
            count_interpreters(1)
            wait_for(&self.all.all[i].loaded)
            if self.all.all[i].answer == NULL:
                wait_for(&self.all.all[i].gone)
                failure = self.all.all[i].failure
                raise exception_of(failure.decode("utf-8", "replace") if failure != NULL else "")
        return 0

    cdef int end(self) except -1:
        """Waits until they have ended, whatever happens. The server has ended, or will not begin."""
        cdef size_t i
        interpreters_end(self.all)
        for i in range(len(self.threads)):
            while not wait_a_while(&self.all.all[i].gone, True):
                pass
        for thread in self.threads:
            thread.join()
            count_interpreters(-1)
        return 0

    cdef int raise_failure(self) except -1:
        """Of one that has loaded the programs, and could not go on or end as it should: only ASGI fails so."""
        cdef size_t i
        from weft._interpreters import exception_of
        for i in range(self.all.n):
            failure = self.all.all[i].failure
            if failure != NULL:
                raise exception_of(failure.decode("utf-8", "replace"))
        return 0

    def _run(self, size_t i, bytes code):
        """The thread of one."""
        cdef interpreter *here = &self.all.all[i]
        here.failure = interpreter_run(PyBytes_AS_STRING(code))
        weft_event_set(&here.loaded)
        weft_event_set(&here.serves)
        weft_event_set(&here.gone)


@cython.final
cdef class SpreadProgram:
    cdef spread_program c

# ---- in an interpreter of its own, which has a copy of this module -------------------------------------------


cdef int answer_here(weft_http_request *q, interpreter *here, size_t program) noexcept nogil:
    cdef int s = answer_by(q, here.routes[program])
    if s == STREAMS:           # on_end() gives it back
        return WEFT_OK
    interpreters_give(here)
    return s


def _work_in_interpreter(size_t place, list programs, find):
    """Answers requests with the programs, until the server has ended and all fibers of this interpreter have."""
    cdef interpreter *here = <interpreter *>place
    cdef Server s = Server.__new__(Server)
    adopt_runtime(here.of.runtime)
    try:
        s.begun = True
        s.ends_at = INT64_MAX
        s.handle = here.of.server
        s.routes = [route_here(here, s, find, program) for program in programs]
        s.context = PyContext_CopyCurrent()
        here.routes = <void **>PyMem_RawMalloc(len(programs) * sizeof(void *) + 1)
        if here.routes == NULL:
            raise MemoryError()
        for i in range(len(programs)):
            here.routes[i] = <void *>s.routes[i]
        if s.application is None:
            serve_here(here, s)
        else:
            with s.application as starts:
                if starts:
                    serve_here(here, s)
    finally:
        s.handle = NULL        # it is not of this interpreter
        s.routes = None
        leave_runtime()
        PyMem_RawFree(here.routes)


cdef Route route_here(interpreter *here, Server s, find, list program):
    cdef Route r = Route()
    name, is_factory, interface, loop = program
    r.server = s
    r.here = here
    r.app = find(name, is_factory)
    r.is_wsgi = interface == "wsgi"
    if not callable(r.app):
        raise TypeError(f"weft: {name} is not callable, so it cannot answer requests")
    if interface == "asgi":
        from weft._asgi import Application
        r.app = s.application = Application(r.app, s, None if loop is None else find(loop, False))
    return r


cdef int serve_here(interpreter *here, Server s) except -1:
    here.answer = answer_here
    weft_event_set(&here.loaded)       # INTERPRETERS-1
    with nogil:
        s.l.status = weft_event_wait(&here.of.goes, WEFT_FOREVER)
    if here.of.at == NULL:
        return 0
    s.begin(here.of.at.decode())
    s.base["wsgi.multiprocess"] = True     # as if the others were processes
    if s.application is not None:
        s.application.when_ready(None)(s.address)
    weft_event_set(&here.serves)
    with nogil:
        s.l.status = weft_event_wait(&here.of.stops, WEFT_FOREVER)
    return wait_for_server(here, s)


cdef int wait_for_server(interpreter *here, Server s) except -1:
    """As Server.wait_for_end(), for what is here. A later stop may leave less time."""
    cdef int64_t throw_at = 0, ends_at
    while not wait_a_while(&here.of.ended, True):
        ends_at = interpreters_end_at(here.of)
        if s.application is not None and ends_at != s.ends_at:
            s.application.stopping(max(0, ends_at - now()) / 1e9)
        s.ends_at = ends_at
        if now() > ends_at and now() > throw_at:
            cancel_visits(<void *>s)
            throw_at = now() + THROW_NS
    return 0
