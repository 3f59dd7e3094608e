# _coroutines.pxi - fibers and coroutines of asyncio wait for each other. A part of _fibers.pyx.
#
# asyncio is imported by the first call that needs it, since most programs of fibers do not.


def as_future(Fiber fiber not None, /):
    """A future of the running loop of asyncio, with the result of the fiber. `await fiber` awaits such a one.

    To cancel the future does not cancel the fiber. A fiber that was cancelled gives it a weft.Cancelled.
    """
    import asyncio
    cdef pystate *me = pystate_current()
    loop = asyncio.get_running_loop()
    if me != NULL and me.body == <void *>fiber:
        raise RuntimeError("a fiber cannot wait for its own end")
    future = loop.create_future()
    if fiber.is_done:
        _settle(future, fiber)
        return future
    if fiber.futures is None:
        fiber.futures = set()
    fiber.futures.add(future)
    future.add_done_callback(fiber.futures.discard)      # one that is cancelled is not kept
    return future


cdef void _tell_futures(Fiber fiber) noexcept:
    for future in list(fiber.futures):
        try:
            future.get_loop().call_soon_threadsafe(_settle, future, fiber)
        except RuntimeError:
            pass        # the loop is closed, so no one awaits it
        except BaseException as e:
            PyErr_SetObject(type(e), e)
            PyErr_WriteUnraisable(fiber)


def _settle(future, Fiber fiber):
    """Gives the future what the fiber has; called by the loop."""
    if future.done():
        return
    error = fiber.error
    if error is None:
        future.set_result(fiber.value)
        return
    fiber.take_failure()
    if isinstance(error, StopIteration):                 # which no future takes
        error = RuntimeError("the fiber raised StopIteration")
        error.__cause__ = fiber.error
    future.set_exception(error)
    if isinstance(error, Cancelled):
        future.exception()                               # so that asyncio does not complain if no one awaits it

# ---- coroutines that a fiber waits for ---------------------------------------------------------------------

cdef object _loop = None, _loop_thread = None            # for run_coroutine() without a loop
cdef object _loop_pid = None
cdef bint _loop_hooked = False


@cython.final
cdef class _Coroutine:
    """One that a fiber or thread waits for. All methods are called by the loop."""
    cdef object coro, loop, task, error
    cdef Event ended
    cdef bint given_up

    def begin(self):
        try:
            if self.given_up:
                self.coro.close()
                self.ended.set()
            else:
                self.task = self.loop.create_task(self.coro)
                self.task.add_done_callback(self.end)
        except BaseException as e:                       # of a task factory
            self.error = e
            self.ended.set()

    def end(self, task):
        self.ended.set()

    def cancel(self):
        if self.task is not None:
            self.task.cancel()


cdef int _check_stopped() except -1:
    cdef pystate *me = _place()
    if me.stops or (me.deadline != INT64_MAX and me.deadline <= pystate_now()):
        raise Cancelled()
    return 0


def run_coroutine(coro, loop=None):
    """Runs a coroutine of asyncio on the loop, which another thread runs, and returns its result or raises what it raised.

    None: on a loop of weft's own, in a thread that the first such call starts. If the caller is stopped, or its
    time is over, the coroutine is cancelled, and the call raises weft.Cancelled when that has ended.
    """
    import asyncio
    cdef _Coroutine c
    if not asyncio.iscoroutine(coro):
        raise TypeError(f"weft.run_coroutine: {coro!r} is not a coroutine")
    try:
        _check_stopped()
        if loop is not None and asyncio._get_running_loop() is loop:
            raise RuntimeError("weft.run_coroutine: the loop cannot run it, because it waits for this call")
        c = _Coroutine.__new__(_Coroutine)
        c.coro = coro
        c.loop = loop if loop is not None else _own_loop()
        c.ended = Event()
        c.loop.call_soon_threadsafe(c.begin)
    except BaseException:
        coro.close()
        raise
    try:
        _wait(PYSTATE_EVENT, &c.ended.e, NULL, INT64_MAX)
    except BaseException:
        _cancel_coroutine(c)
        raise
    if c.error is not None:
        raise c.error
    return c.task.result()


cdef int _cancel_coroutine(_Coroutine c) except -1:
    """Waits for its end, too, as long as its loop runs."""
    cdef pystate *me = pystate_current()
    try:
        c.loop.call_soon_threadsafe(c.cancel)
    except RuntimeError:
        return 0        # the loop is closed
    while not c.ended.is_set():
        if not c.loop.is_running():
            c.given_up = True
            break
        if _oldest is not None:
            _send_runner()
        if me != NULL and not me.lent:
            pystate_park_shielded(me, PYSTATE_EVENT, &c.ended.e, NULL, LOOK_NS)
        else:
            pystate_block(PYSTATE_EVENT, &c.ended.e, NULL, LOOK_NS)
            PyErr_CheckSignals()
    return 0


cdef bint _has_loop() except -1:
    return _loop is not None and _loop_pid == _os.getpid() and not _loop.is_closed()


cdef object _own_loop():
    global _loop, _loop_thread, _loop_pid, _loop_hooked
    import asyncio
    if _has_loop():
        return _loop
    made, pid = asyncio.new_event_loop(), _os.getpid()
    if _has_loop():          # that of another, since the GIL was given up meanwhile
        made.close()
        return _loop
    _loop, _loop_pid, _loop_thread = made, pid, None
    thread = _threading.Thread(target=_run_loop, args=(made,), name="weft.run_coroutine", daemon=_may_have_daemons())
    if not _loop_hooked:
        _loop_hooked = True
        _atexit.register(_end_loop_at_exit)
    try:
        thread.start()
    except BaseException:
        _loop = None
        made.close()
        raise
    _loop_thread = thread
    return made


def _run_loop(loop):
    import asyncio
    with asyncio.Runner(loop_factory=lambda: loop) as runner:   # its end cancels what is left, and closes the loop
        runner.get_loop().run_forever()


cdef int _end_loop(int64_t limit) except -1:
    """When no fiber is left that waits for a coroutine."""
    global _loop, _loop_thread
    loop, thread = _loop, _loop_thread
    _loop = _loop_thread = None
    if loop is not None and _loop_pid == _os.getpid():
        try:
            loop.call_soon_threadsafe(loop.stop)
        except RuntimeError:
            pass        # a coroutine has stopped it, so it is closed
        if thread is not None:
            thread.join(None if limit == INT64_MAX else limit / 1e9)
    return 0


def _end_loop_at_exit():
    if _rt == NULL:     # else the end of the runtime does it, after that of its fibers
        _end_loop(AT_EXIT_NS)
