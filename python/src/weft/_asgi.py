"""ASGI 3 over the plain interface: one asyncio loop on a thread, and for each request a task of it and a fiber, which serves the task.

The application runs on the loop's thread. What only the fiber of a request may do (read the body, write the answer) the task asks of it: it
puts a wish into a queue, and the fiber tells what became of it by call_soon_threadsafe. docs/design/asgi.md says why it is so.
"""
# mypy: ignore-errors
import asyncio
import collections
import contextlib
import math
import re
import sys
import threading
import time
from urllib.parse import unquote_to_bytes

from weft._core import Cancelled
from weft._fibers import Event as FiberEvent, _may_have_daemons
from weft._serve import BodyError, Response, asgi_body_goes_on, asgi_parts

READ_BYTES = 65536     # of a body at once
LOOK = 0.1             # seconds; how often the end of a server looks whether its time was made shorter
PATIENCE = 5           # seconds that a cancelled task may take to end; chosen
DEFAULT_GRACE = 10     # seconds; that of weft.Server.stop()

VERSIONS = {"version": "3.0", "spec_version": "2.4"}
NAME = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
VALUE = re.compile(rb"[^\0\r\n]*")


class ClientGone(OSError):
    """send() raises it: the client has gone, or is too slow, so nobody waits for the answer any more."""


# What a task wishes of its fiber: (kind, value).
READ, BODY, FAILED = "read", "body", "failed"
# How far an answer is, as its task sees it.
NEW, STARTED, STREAMING, COMPLETE = "new", "started", "streaming", "complete"
# How a fiber leaves a call.
WHOLE, GONE, STOPPED = "whole", "gone", "stopped"


class Call:
    """One call of the application, and what its task and its fiber tell each other."""

    # ASGI-1  Only the loop's thread uses `phase` and the fields below it; only the fiber uses `q` and `written`. The fiber reads `status`,
    #         `headers` and `announced` after it has taken the first message of a body, and they do not change any more then.
    # ASGI-2  The loop's thread never waits for the fiber but as a task: it appends to `wishes` and sets `has_wish`.
    # ASGI-3  A fiber says by leave(), once, that it takes no more wishes; left() settles what is still there. It need not if it has
    #         answered by one message (ASGI-4).
    # ASGI-4  If is_left is true, the fiber takes no wish that is appended from then on.

    def __init__(self, app, q):
        self.app, self.q = app, q
        self.method, self.target = q.method, q.target
        self.wishes = collections.deque()
        self.has_wish = FiberEvent()
        self.written = None            # the future of the message whose piece is being written
        self.phase = NEW
        self.task = None
        self.status = self.headers = None
        self.announced = None          # by Content-Length
        self.given = 0                 # bytes of the answer
        self.arrived = collections.deque()
        self.body_goes_on = asgi_body_goes_on(q)
        self.empty_body_is_due = not self.body_goes_on
        self.is_reading = False
        self.news = None               # an asyncio.Event, if a receive() has waited
        self.is_left = self.is_gone = self.knows_it = self.is_stopped = False

    # ---- the fiber's side

    def serve(self):
        """The answer, when there is one, or its first piece."""
        app = self.app
        app.post(self.begin, app.scope_of(self.q))
        data, more, future = self.next_message()
        status = self.status
        if self.is_empty():
            self.q = None
            if status in (204, 205, 304) or (not more and self.announced is None):
                return Response(data, status, self.headers, "")
            return Response(iter(()), status, self.headers, "")     # its length is that of the headers, or is not known
        if not more:
            self.q = None
            return Response(data, status, self.headers, "")
        return Response(Pieces(self, data, future), status, self.headers, "")

    def next_message(self):
        """(data, whether more comes, the future of its send()) of the next http.response.body; raises what the application has raised."""
        try:
            while True:
                while not self.wishes:
                    self.has_wish.wait()
                    self.has_wish.clear()
                kind, value = self.wishes.popleft()
                if kind is READ:
                    piece = self.q.read(READ_BYTES)
                    self.app.post(self.arrive, piece, bool(piece) and asgi_body_goes_on(self.q))
                elif kind is BODY:
                    return value
                else:
                    raise value
        except BodyError:
            self.leave(GONE)
            raise
        except Cancelled:
            self.leave(STOPPED)
            raise
        except BaseException:
            self.leave(WHOLE)
            raise
        finally:
            value = None     # else its traceback would refer to itself

    def leave(self, how):
        self.q = None
        future, self.written = self.written, None
        with contextlib.suppress(RuntimeError):      # the loop is closed, so nobody waits for this
            self.app.post(self.left, how, future)

    # ---- the task's side

    def begin(self, scope):
        self.app.calls.add(self)
        self.task = self.app.loop.create_task(self.run(scope))     # in a copy of the context of the handler, which post() has copied
        self.task.add_done_callback(lambda task: self.app.calls.discard(self))

    async def run(self, scope):
        try:
            await self.app.program(scope, self.receive, self.send)
            if self.phase is COMPLETE or self.is_gone:
                return
            error = RuntimeError("weft: asgi: the application has returned " + (
                "without an answer" if self.phase is NEW else "before its answer was complete"))
        except BaseException as e:     # SystemExit, too: it would end the loop
            error = e
        if isinstance(error, (Cancelled, BodyError)):      # of a handler these say something about its fiber
            words = f"weft: asgi: the application has raised {type(error).__name__}"
            cause, error = error, RuntimeError(words)
            error.__cause__, cause = cause, None
        if self.is_left:
            self.report(error)
        else:
            self.wish(FAILED, error)
        error = None     # its traceback refers to this frame

    def wish(self, kind, value=None):
        self.wishes.append((kind, value))
        self.has_wish.set()

    def left(self, how, future):
        """The fiber has left."""
        self.is_left = True
        self.is_gone = how is not WHOLE
        self.is_stopped = how is STOPPED
        self.settle(future)
        while self.wishes:
            kind, value = self.wishes.popleft()
            if kind is BODY:
                self.settle(value[2])
            elif kind is FAILED:
                self.report(value)
        self.wake()
        if self.is_stopped:
            self.task.cancel()

    def stop(self):
        self.is_stopped = True
        self.task.cancel()

    def settle(self, future):
        if future is None or future.done():
            return
        if self.is_gone:
            future.set_exception(self.gone())
        else:
            future.set_result(None)

    def gone(self):
        self.knows_it = not self.is_stopped
        return ClientGone("weft: asgi: the server stops" if self.is_stopped else "weft: asgi: the client has gone")

    def report(self, error):
        """Tells of what was raised when the answer was over."""
        if self.is_stopped and isinstance(error, asyncio.CancelledError):
            return
        if self.knows_it and isinstance(error, Exception):     # the usual way to end then
            return
        self.app.server._tell(self.method, self.target, error)

    def wake(self):
        if self.news is not None:
            self.news.set()

    def arrive(self, piece, goes_on):
        self.is_reading = False
        self.body_goes_on = goes_on
        self.arrived.append({"type": "http.request", "body": piece, "more_body": goes_on})
        self.wake()

    async def receive(self):
        while not self.is_left and self.phase is not COMPLETE:
            if self.empty_body_is_due:
                self.empty_body_is_due = False
                return {"type": "http.request", "body": b"", "more_body": False}
            if self.arrived:       # also what a receive() has asked for that was cancelled
                return self.arrived.popleft()
            if self.body_goes_on and not self.is_reading:
                self.is_reading = True
                self.wish(READ)
            if self.news is None:
                self.news = asyncio.Event()
            self.news.clear()
            await self.news.wait()
        self.knows_it = self.is_gone and not self.is_stopped
        return {"type": "http.disconnect"}

    async def send(self, message):
        kind = message["type"]
        if self.is_gone:
            raise self.gone()
        if kind == "http.response.start":
            self.start(message)
        elif kind == "http.response.body":
            future = self.body(message)
            if future is not None:
                await future
        else:
            raise ValueError(f'weft: asgi: a message to send is an "http.response.start" or an "http.response.body", not {kind!r}')

    def start(self, message):
        if self.phase is not NEW:
            raise RuntimeError("weft: asgi: http.response.start was sent before")
        status = message.get("status")
        if isinstance(status, bool) or not isinstance(status, int):
            raise TypeError(f"weft: asgi: the status is an int, not {status!r}")
        if not 200 <= status <= 999:
            raise ValueError(f"weft: asgi: the status is 200 to 999, not {status}")
        self.headers = []
        for pair in message.get("headers", ()):
            self.headers.append(self.header(*pair_of(pair)))
        self.status = int(status)
        self.phase = STARTED

    def header(self, name, value):
        if not NAME.fullmatch(name) or not VALUE.fullmatch(value):
            raise ValueError(f"weft: asgi: a header that HTTP does not allow: {name!r}: {value!r}")
        if name.lower() == b"content-length":
            if not value.isdigit():
                raise ValueError(f"weft: asgi: Content-Length is not a number: {value!r}")
            self.announced = int(value)
        return name.decode("latin-1"), value.decode("latin-1")

    def is_empty(self):
        """Whether it is an answer without a body, whatever the application sends."""
        return self.method == "HEAD" or self.status in (204, 205, 304)

    def body(self, message):
        """\\returns the future of its writing; None: send() need not wait for that."""
        if self.phase is NEW:
            raise RuntimeError("weft: asgi: http.response.body was sent before http.response.start")
        if self.phase is COMPLETE:
            raise RuntimeError("weft: asgi: http.response.body was sent after one without more_body, which is the last")
        data, more = message.get("body", b""), bool(message.get("more_body", False))
        if not isinstance(data, bytes):
            if not isinstance(data, (bytearray, memoryview)):
                raise TypeError(f"weft: asgi: the body of an http.response.body is bytes, not {type(data).__name__}")
            data = bytes(data)
        self.count(len(data), more)
        is_first = self.phase is STARTED
        self.phase = STREAMING if more else COMPLETE
        future = None
        if is_first and (not more or self.is_empty()):
            self.wish(BODY, (data, more, None))
            self.is_left = True        # ASGI-4: it takes this one, and no other
        elif not self.is_left:
            future = self.app.loop.create_future()
            self.wish(BODY, (data, more, future))
        if not more:
            self.wake()
        return future

    def count(self, n, more):
        if self.announced is None or self.is_empty():
            return
        if self.given + n > self.announced or (not more and self.given + n < self.announced):
            raise RuntimeError(f"weft: asgi: the body has {'more than ' if more else ''}{self.given + n} bytes, and Content-Length says "
                               f"{self.announced}")
        self.given += n


def server_of(address):
    """The pair of ASGI for where the server listens: a Unix socket has no port."""
    if address.startswith("unix:"):
        return address[5:], None
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


def pair_of(pair):
    try:
        name, value = pair
    except (TypeError, ValueError):
        raise TypeError(f"weft: asgi: a header is a pair of name and value, not {pair!r}") from None
    for text in (name, value):
        if not isinstance(text, bytes):
            raise TypeError(f"weft: asgi: a header is made of bytes, not {type(text).__name__}: {text!r}")
    return name, value


class Pieces:
    """The body of a streamed answer, as an iterator of the plain interface. No generator: its close() counts even if nothing was asked of it."""

    def __init__(self, call, data, future):
        self.call = call
        self.first = (data, True, future)
        self.is_last = False

    def __iter__(self):
        return self

    def __next__(self):
        call = self.call
        if call is None:
            raise StopIteration
        if self.is_last:
            self.call = None
            call.leave(WHOLE)
            raise StopIteration
        if call.written is not None:
            call.app.post(call.settle, call.written)
            call.written = None
        try:
            data, more, call.written = self.first or call.next_message()
        except BaseException:
            self.call = None           # it has left already
            raise
        self.first = None
        self.is_last = not more
        return data

    def close(self):
        call, self.call = self.call, None
        if call is None:
            return
        if self.first is not None:
            call.written = self.first[2]
        call.leave(GONE)               # a write has failed, or was never tried


class Lifespan:
    """The task that is told when the server starts and ends."""

    def __init__(self, app):
        self.app = app
        self.asked = asyncio.Queue()
        self.is_asked = False          # it has called receive(), so it knows lifespans
        self.started = app.loop.create_future()
        self.ended = app.loop.create_future()
        self.asked.put_nowait({"type": "lifespan.startup"})
        self.task = app.loop.create_task(self.run({"type": "lifespan", "asgi": dict(VERSIONS), "state": app.state}))

    async def run(self, scope):
        error = None
        try:
            await self.app.program(scope, self.receive, self.send)
        except asyncio.CancelledError:
            pass
        except BaseException as e:
            error = e
        if not self.started.done():    # ASGI: it has no lifespan then, and the server goes on
            self.started.set_result(None)
            if error is None or not self.is_asked:
                return
        if not self.ended.done():
            self.ended.set_result(None)
        if error is not None:
            self.failed(error)

    def failed(self, error):
        """A startup or shutdown that has failed is told by serve()."""
        for future in (self.started, self.ended):
            said = future.result() if future.done() else None
            if said is not None:
                said.__cause__ = error
                return
        self.app.server._tell("", "", error)

    async def receive(self):
        self.is_asked = True
        return await self.asked.get()

    async def send(self, message):
        kind = message["type"]
        words = message.get("message", "")
        if kind in ("lifespan.startup.complete", "lifespan.startup.failed"):
            future, what = self.started, "start"
        elif kind in ("lifespan.shutdown.complete", "lifespan.shutdown.failed"):
            future, what = self.ended, "end"
        else:
            raise ValueError(f"weft: asgi: an unknown message of a lifespan: {kind!r}")
        if future.done() or (what == "end" and not self.started.done()):
            raise RuntimeError(f"weft: asgi: {kind} was sent twice, or out of order")
        future.set_result(RuntimeError(f"weft: the application has failed to {what}: {words}") if kind.endswith("failed") else None)

    async def startup(self, stop):
        """Raises what it failed by. `stop`: an event that ends the wait."""
        stopped = self.app.loop.create_task(stop.wait())
        await asyncio.wait({self.started, stopped}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if not self.started.done():
            self.task.cancel()
            await asyncio.wait({self.task}, timeout=PATIENCE)
        elif self.started.result() is not None:
            await asyncio.wait({self.task}, timeout=1)     # it mostly raises the cause now
            raise self.started.result()

    async def shutdown(self):
        if self.task.done() or not self.started.done():
            return
        self.asked.put_nowait({"type": "lifespan.shutdown"})
        await asyncio.wait({self.ended, self.task}, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait({self.task}, timeout=1)
        if self.ended.done() and self.ended.result() is not None:
            raise self.ended.result()


class Application:
    """An ASGI application as a function of the plain interface. In `with`, its loop runs and its lifespan lasts."""

    def __init__(self, program, server, factory=None):
        if not callable(program):
            raise TypeError(f"weft: {program!r} is not callable, so it cannot answer requests")
        if factory is not None and not callable(factory):
            raise TypeError("weft: loop is not callable: it is a function that makes an event loop")
        self.program, self.server, self.factory = program, server, factory
        self.state = {}
        self.calls = set()             # whose tasks have not ended; of the loop's thread
        self.loop = self.thread = self.failure = None
        self.started, self.ended, self.listens = FiberEvent(), FiberEvent(), FiberEvent()
        self.until = None              # when tasks that are left are cancelled; None: the server was not told to stop
        self.asked = set()             # which of the loop's events were asked for; the loop may come later
        self.has_refused = False

    def __call__(self, q):
        upgrade = q.header("Upgrade")
        if upgrade is not None and "websocket" in upgrade.lower():
            return self.refuse(q)
        return Call(self, q).serve()

    def refuse(self, q):
        words = "weft serves no WebSockets yet"
        if not self.has_refused:
            self.has_refused = True
            self.server._tell(q.method, q.target, RuntimeError(f"weft: asgi: {words}; this is said once"))
        return Response(words + "\n", 501)

    def post(self, function, *args):
        """function(*args) on the loop's thread."""
        self.loop.call_soon_threadsafe(function, *args)

    def scope_of(self, q):
        if self.server.address is None:    # the first clients may come before it is known
            self.listens.wait()
        minor, method, path, query, headers = asgi_parts(q)
        return {
            "type": "http",
            "asgi": dict(VERSIONS),
            "http_version": "1.1" if minor else "1.0",
            "method": method,
            "scheme": "http",
            "path": (unquote_to_bytes(path) if b"%" in path else path).decode("utf-8", "replace"),
            "raw_path": path,
            "query_string": query,
            "root_path": "",
            "headers": headers,
            "client": q.peer,
            "server": server_of(self.server.address),
            "state": self.state.copy(),
            "extensions": {},
        }

    def when_ready(self, on_ready):
        """What the server calls in place of on_ready."""
        def ready(address):
            self.listens.set()
            if on_ready is not None:
                on_ready(address)
        return ready

    def __enter__(self):
        """\\returns whether to serve: not if it was stopped before that."""
        self.thread = threading.Thread(target=self.run, name="weft asgi", daemon=_may_have_daemons())
        self.thread.start()
        try:
            self.started.wait()
        except BaseException:
            self.stopping(0)
            self.__exit__(*sys.exc_info())
            raise
        if self.failure is not None:
            self.thread.join()
            raise self.failure
        return self.until is None

    def __exit__(self, type, value, traceback):
        if type is not None:
            self.stopping(0)
        elif self.until is None:
            self.until = time.monotonic() + DEFAULT_GRACE
        self.ask("ending")
        with contextlib.suppress(Cancelled):
            self.ended.wait()
        self.thread.join()             # whatever happens to this fiber; it is at its end
        if type is None and self.failure is not None:
            raise self.failure

    def stopping(self, grace):
        """The server was told to stop, by any thread."""
        until = math.inf if grace is None else time.monotonic() + grace
        self.until = until if self.until is None else min(self.until, until)
        self.ask("stop")

    def ask(self, event):
        """Sets self.stop or self.ending, now, or when there is a loop."""
        self.asked.add(event)
        if self.loop is not None:
            with contextlib.suppress(RuntimeError):      # it is closed
                self.post(self.set_asked)

    def set_asked(self):
        for event in self.asked.copy():
            getattr(self, event).set()

    # ---- the loop's thread

    def run(self):
        try:
            loop = asyncio.new_event_loop() if self.factory is None else self.factory()
            self.stop, self.ending = asyncio.Event(), asyncio.Event()
            self.loop = loop
            asyncio.set_event_loop(loop)
            try:
                loop.run_until_complete(self.main())
            finally:
                self.close(loop)
        except BaseException as e:
            self.failure = e
        for call in list(self.calls):      # only if the loop was ended by something else
            call.wish(FAILED, RuntimeError("weft: asgi: the event loop has ended"))
        if self.failure is not None:
            self.server.stop(0)
        self.started.set()
        self.ended.set()

    async def main(self):
        life = Lifespan(self)
        self.set_asked()
        await life.startup(self.stop)
        self.started.set()
        await self.ending.wait()
        await self.end_calls()
        await life.shutdown()

    async def end_calls(self):
        """The fibers have left all calls. What still runs are tasks that go on after their answer."""
        while self.calls and (left := self.until - time.monotonic()) > 0:
            await asyncio.wait({c.task for c in self.calls}, timeout=min(left, LOOK))
        for call in list(self.calls):
            call.stop()
        if self.calls:
            await asyncio.wait({c.task for c in self.calls}, timeout=PATIENCE)
        for call in list(self.calls):
            self.server._tell(call.method, call.target, RuntimeError("weft: asgi: the task of a request goes on after it was cancelled"))
        self.calls.clear()

    def close(self, loop):
        try:
            others = asyncio.all_tasks(loop)
            for task in others:
                task.cancel()
            if others:
                loop.run_until_complete(asyncio.wait(others, timeout=PATIENCE))
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor())
        finally:
            asyncio.set_event_loop(None)
            loop.close()
