"""weft.serve(interface="asgi"): raw applications, lifespan, streams both ways, failures, the end; Starlette, FastAPI, Django."""
import asyncio
import contextlib
import contextvars
import gc
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

import pytest

import weft
from test_serve import LATE, Place, command, serving, wait_for_line
from weft import _fibers

pytestmark = pytest.mark.skipif("weft._no_http" in sys.modules, reason="weft was built without HTTP")


def http_only(f):
    """An application without a lifespan."""
    async def app(scope, receive, send):
        assert scope["type"] == "http"
        await f(scope, receive, send)
    return app


def asgi(app, **options):
    return serving(app if options.pop("has_lifespan", False) else http_only(app), interface="asgi", **options)


async def answer(send, body=b"", status=200, headers=()):
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def pieces_of(receive):
    while True:
        message = await receive()
        assert message["type"] == "http.request"
        yield message["body"]
        if not message["more_body"]:
            return


async def whole(receive):
    return b"".join([piece async for piece in pieces_of(receive)])


@contextlib.contextmanager
def client(place):
    host, _, port = place.server.address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=LATE) as s:
        yield s


# ---- requests and answers


def test_the_scope_is_that_of_the_specification():
    seen = []

    async def app(scope, receive, send):
        seen.append(scope)
        await answer(send, b"x")

    with asgi(app) as place:
        place.raw(b"POST /a%20b%C3%A9/%2F?x=%20y HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\nX-One: 1\r\nx-one: 2\r\n"
                  b"X-Latin: \xe9\r\nContent-Length: 0\r\n\r\n")
        place.raw(b"GET / HTTP/1.0\r\n\r\n")
        host, _, port = place.server.address.rpartition(":")
    scope = seen[0]
    client = scope.pop("client")
    assert scope == {
        "type": "http", "asgi": {"version": "3.0", "spec_version": "2.4"}, "http_version": "1.1", "method": "POST", "scheme": "http",
        "path": "/a bé//", "raw_path": b"/a%20b%C3%A9/%2F", "query_string": b"x=%20y", "root_path": "", "server": (host, int(port)),
        "headers": [(b"host", b"example.org"), (b"connection", b"close"), (b"x-one", b"1"), (b"x-one", b"2"), (b"x-latin", b"\xe9"),
                    (b"content-length", b"0")],
        "state": {}, "extensions": {}}
    assert client[0] == "127.0.0.1" and client[1] > 0
    assert (seen[1]["http_version"], seen[1]["path"], seen[1]["query_string"], seen[1]["headers"]) == ("1.0", "/", b"", [])


def test_answers_of_an_application():
    async def app(scope, receive, send):
        what = scope["path"]
        if what == "/stream":
            await send({"type": "http.response.start", "status": 200})
            for piece in (b"one ", b"", bytearray(b"two "), memoryview(b"three")):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body"})
        elif what == "/sized":
            await send({"type": "http.response.start", "status": 200, "headers": [[b"Content-Length", b"6"]]})
            await send({"type": "http.response.body", "body": b"abc", "more_body": True})
            await send({"type": "http.response.body", "body": b"def"})
        elif what == "/unsent":      # as an application answers that knows HEAD
            await answer(send, b"", 200, [(b"content-length", b"7")])
        elif what == "/large":
            await answer(send, b"x" * 1_000_000)
        elif what == "/204":
            await answer(send, b"", 204, [(b"x-a", b"b")])
        elif what == "/304":
            await answer(send, b"not sent", 304, iter([(b"etag", b'"x"'), (b"content-length", b"5")]))
        else:
            await answer(send, b"body", 201, [(b"Content-Type", b"text/x"), (b"x-a", b"\xe9"), (b"x-a", b"2"), (b"content-length", b"4"),
                                              (b"date", b"yesterday")])

    with asgi(app) as place:
        status, body, headers = place.ask("GET", "/")
        assert (status, body) == (201, b"body")
        assert {k: headers.get_all(k) for k in ("Content-Type", "x-a", "Content-Length")} == {
            "Content-Type": ["text/x"], "x-a": ["\xe9", "2"], "Content-Length": ["4"]}
        assert len(headers.get_all("Date")) == 1 and headers["Date"] != "yesterday"
        status, body, headers = place.ask("GET", "/stream")
        assert (status, body, headers["Transfer-Encoding"], headers["Content-Type"]) == (200, b"one two three", "chunked", None)
        assert place.raw(b"GET /stream HTTP/1.0\r\n\r\n").endswith(b"\r\n\r\none two three")
        status, body, headers = place.ask("GET", "/sized")
        assert (status, body, headers["Content-Length"], headers["Transfer-Encoding"]) == (200, b"abcdef", "6", None)
        assert place.get("/large") == (200, b"x" * 1_000_000)
        status, body, headers = place.ask("GET", "/204")
        assert (status, body, headers["x-a"], headers["Content-Length"]) == (204, b"", "b", None)
        status, body, headers = place.ask("GET", "/304")
        assert (status, body, headers["etag"]) == (304, b"", '"x"')
        for what, length in (("/", "4"), ("/sized", "6"), ("/unsent", "7"), ("/stream", None), ("/large", "1000000"), ("/204", None)):
            status, body, headers = place.ask("HEAD", what)
            assert (body, headers["Content-Length"]) == (b"", length), what
    assert not place.failures


def test_bodies_of_requests():
    async def app(scope, receive, send):
        if scope["path"] == "/echo":        # reads while it answers
            await send({"type": "http.response.start", "status": 200})
            async for piece in pieces_of(receive):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body"})
        elif scope["path"] == "/none":
            await answer(send, b"none of it")
        else:
            body = await whole(receive)
            await answer(send, str(len(body)).encode())

    def chunks():
        for _ in range(100):
            yield b"x" * 1000

    with asgi(app) as place:
        assert place.ask("POST", "/", b"")[1] == b"0"
        assert place.ask("POST", "/", b"x" * 500_000)[1] == b"500000"
        assert place.ask("POST", "/", chunks())[1] == b"100000"
        assert place.ask("POST", "/echo", b"y" * 300_000)[1] == b"y" * 300_000
        assert place.ask("POST", "/none", b"x")[1] == b"none of it"
    assert not place.failures


def test_pieces_arrive_when_they_are_made():
    go_on = []

    async def app(scope, receive, send):
        event = asyncio.Event()
        go_on.append((asyncio.get_running_loop(), event))
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body", "more_body": True})     # the head goes out
        await event.wait()
        event.clear()
        await send({"type": "http.response.body", "body": b"one", "more_body": True})
        await event.wait()
        await send({"type": "http.response.body", "body": b"two"})

    with asgi(app) as place:
        host, _, port = place.server.address.rpartition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=LATE)
        connection.request("GET", "/")
        got = connection.getresponse()
        assert got.status == 200
        loop, event = go_on[0]
        loop.call_soon_threadsafe(event.set)
        assert got.read(3) == b"one"
        loop.call_soon_threadsafe(event.set)
        assert got.read() == b"two"
        connection.close()


def test_a_receive_that_is_cancelled_loses_nothing():
    async def app(scope, receive, send):
        task = asyncio.ensure_future(receive())
        await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            assert (await task)["type"] == "never"
        body = await whole(receive)
        with pytest.raises(asyncio.TimeoutError):       # there is no more, and the client is still there
            await asyncio.wait_for(receive(), 0.01)
        await answer(send, body)
        assert await receive() == await receive() == {"type": "http.disconnect"}

    with asgi(app) as place:
        for _ in range(20):
            assert place.ask("POST", "/", b"body")[:2] == (200, b"body")
        assert place.ask("POST", "/", b"x" * 200_000)[:2] == (200, b"x" * 200_000)
    assert not place.failures


def test_an_answer_waits_for_its_client_and_learns_that_it_has_gone():
    ends = []

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200})

        async def stream():
            sent = 0
            try:
                while sent < 500:
                    await send({"type": "http.response.body", "body": b"x" * 1_000_000, "more_body": True})
                    sent += 1
            finally:
                ends.append(sent)

        if scope["path"] == "/lets-it-out":
            return await stream()
        failures = await asyncio.gather(stream(), stream(), return_exceptions=True)
        assert [type(e).__name__ for e in failures] == ["ClientGone"] * 2 and isinstance(failures[0], OSError)
        assert await receive() == {"type": "http.disconnect"}
        with pytest.raises(OSError):
            await send({"type": "http.response.body"})
        ends.append("receives")

    with asgi(app) as place:
        for target in (b"/", b"/lets-it-out"):
            with client(place) as s:
                s.sendall(b"GET " + target + b" HTTP/1.1\r\nHost: x\r\n\r\n")
                assert s.recv(100)
    assert len(ends) == 4 and "receives" in ends
    assert all(sent == "receives" or sent < 500 for sent in ends)      # else all of it would have waited in memory
    assert not place.failures


def test_a_client_that_goes_while_it_sends():
    seen = []
    ended = threading.Event()

    async def app(scope, receive, send):
        try:
            seen.append(b"".join([piece async for piece in pieces_of(receive)]))
        except AssertionError:
            seen.append("gone")
            with pytest.raises(OSError):
                await answer(send, b"x")
            raise ValueError("the usual way to end, which is not reported")
        finally:
            ended.set()

    with asgi(app) as place:
        with client(place) as s:
            s.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc")
        assert ended.wait(LATE)
    assert seen == ["gone"] and not place.failures


def test_a_body_that_is_too_large_or_malformed():
    async def app(scope, receive, send):
        message = await receive()
        while message["type"] == "http.request" and message["more_body"]:
            message = await receive()
        with contextlib.suppress(OSError):
            await answer(send, message["type"].encode())

    with asgi(app, max_body_bytes=10) as place:
        assert place.ask("POST", "/", b"0123456789")[:2] == (200, b"http.request")
        assert place.ask("POST", "/", b"0123456789a")[0] == 413
        chunked = b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        assert place.raw(chunked + b"b\r\n0123456789a\r\n0\r\n\r\n").startswith(b"HTTP/1.1 413 ")
        assert place.raw(chunked + b"zz\r\n").startswith(b"HTTP/1.1 400 ")
    assert not place.failures


def test_websockets_are_refused():
    async def app(scope, receive, send):
        await answer(send, b"http")

    handshake = {"Connection": "Upgrade", "Upgrade": "WebSocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "eA=="}
    with asgi(app) as place:
        for _ in range(2):
            assert place.ask("GET", "/", headers=handshake)[:2] == (501, b"weft serves no WebSockets yet\n")
        assert place.ask("GET", "/", headers={"Connection": "Upgrade", "Upgrade": "h2c"})[1] == b"http"
    assert len(place.failures) == 1 and "no WebSockets" in str(place.failures[0][2])


# ---- failures


START = {"type": "http.response.start", "status": 200}


@pytest.mark.parametrize("messages, words", [
    ([], "without an answer"),
    ([START], "before its answer was complete"),
    ([START, START], "sent before"),
    ([{"type": "http.response.body"}], "before http.response.start"),
    ([{"type": "http.response.start"}], "status is an int"),
    ([START | {"status": "200"}], "status is an int"),
    ([START | {"status": True}], "status is an int"),
    ([START | {"status": 100}], "200 to 999"),
    ([START | {"headers": [("x", "y")]}], "made of bytes, not str"),
    ([START | {"headers": [(b"x", 3)]}], "made of bytes, not int"),
    ([START | {"headers": [(b"x",)]}], "a pair"),
    ([START | {"headers": [3]}], "a pair"),
    ([START | {"headers": [(b"x", b"a\r\nY: b")]}], "HTTP does not allow"),
    ([START | {"headers": [(b"a b", b"c")]}], "HTTP does not allow"),
    ([START | {"headers": [(b"content-length", b"many")]}], "not a number"),
    ([START | {"headers": [(b"content-length", b"2")]}, {"type": "http.response.body", "body": b"x"}], "has 1 bytes, and Content-Length"),
    ([START | {"headers": [(b"content-length", b"2")]}, {"type": "http.response.body", "body": b"xyz", "more_body": True}], "more than 3"),
    ([START, {"type": "http.response.body", "body": "text"}], "is bytes, not str"),
    ([START, {"type": "http.response.body", "body": None}], "is bytes, not NoneType"),
    ([START, {"type": "websocket.accept"}], "websocket.accept"),
    ([3], "subscriptable"),
    ([{}], "type"),
])
def test_applications_that_are_wrong(messages, words):
    async def app(scope, receive, send):
        for message in messages:
            await send(message)

    with asgi(app) as place:
        assert place.get("/x") == (500, b"500 Internal Server Error\n")
    assert len(place.failures) == 1
    method, target, e = place.failures[0]
    assert (method, target) == ("GET", "/x") and words in str(e), e


@pytest.mark.parametrize("error", [ValueError("what"), SystemExit("what"), KeyboardInterrupt("what"), asyncio.CancelledError("what"),
                                   weft.Cancelled("what"), weft.BodyError("what")])
def test_an_application_that_fails_before_its_answer(error):
    async def app(scope, receive, send):
        if scope["path"] == "/fails":
            raise type(error)("what")
        await answer(send, b"goes on")

    with asgi(app) as place:
        assert place.get("/fails") == (500, b"500 Internal Server Error\n")
        assert place.get("/") == (200, b"goes on")
    assert len(place.failures) == 1
    told = place.failures[0][2]
    if isinstance(error, (weft.Cancelled, weft.BodyError)):
        assert type(told) is RuntimeError and "has raised" in str(told)
        told = told.__cause__
    assert type(told) is type(error)
    assert [frame.name for frame in traceback.extract_tb(told.__traceback__)][-1] == "app"


def test_an_application_that_fails_after_its_head_or_its_answer():
    async def app(scope, receive, send):
        await send(START)
        await send({"type": "http.response.body", "body": b"one", "more_body": True})
        if scope["path"] == "/fails":
            raise ValueError("no two")
        if scope["path"] == "/wrong":
            await send({"type": "http.response.body", "body": "two"})
        if scope["path"] == "/returns":
            return
        await send({"type": "http.response.body", "body": b"two"})
        if scope["path"] == "/again":
            await send({"type": "http.response.body", "body": b"three"})
        if scope["path"] == "/late":
            raise ValueError("too late")

    def ask(target):
        return place.raw(b"GET " + target + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")

    with asgi(app) as place:
        for target in (b"/fails", b"/wrong", b"/returns"):
            got = ask(target)
            assert b"two" not in got and not got.endswith(b"0\r\n\r\n")
        for target in (b"/", b"/again", b"/late"):
            assert ask(target).endswith(b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n")
        assert place.ask("HEAD", "/fails")[0] == 200
    words = {(method, target): str(e) for method, target, e in place.failures}
    assert words.pop(("GET", "/fails")) == words.pop(("HEAD", "/fails")) == "no two" and words.pop(("GET", "/late")) == "too late"
    assert "not str" in words.pop(("GET", "/wrong")) and "before its answer was complete" in words.pop(("GET", "/returns"))
    assert "is the last" in words.pop(("GET", "/again")) and not words and len(place.failures) == 6


# ---- concurrency


def test_requests_wait_beside_each_other():
    """Each of 100 requests waits until all are there, and then sleeps a little."""
    async def app(scope, receive, send):
        state = scope["state"]
        if scope["type"] == "lifespan":
            state["count"], state["all"] = [0], asyncio.Event()
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            return
        state["count"][0] += 1
        if state["count"][0] == 100:
            state["all"].set()
        await state["all"].wait()
        await asyncio.sleep(0.01)
        await answer(send, b"slept")

    with asgi(app, has_lifespan=True) as place:
        with ThreadPoolExecutor(100) as pool:
            assert [*pool.map(lambda _: place.get(), range(100))] == [(200, b"slept")] * 100
    assert not place.failures


def test_requests_share_no_context():
    name = contextvars.ContextVar("name", default="none")

    async def app(scope, receive, send):
        before = name.get()
        name.set(scope["path"])
        await asyncio.sleep(0.001)
        await answer(send, f"{before},{name.get()}".encode())

    with asgi(app) as place:
        with ThreadPoolExecutor(8) as pool:
            for i, got in enumerate(pool.map(lambda i: place.get(f"/{i}"), range(200))):
                assert got == (200, f"none,/{i}".encode())


def test_each_client_gets_its_own_answers():
    async def app(scope, receive, send):
        path = scope["path"]
        if path.endswith("3"):
            await asyncio.sleep(0.001)
        elif path.endswith("5"):
            await asyncio.to_thread(time.sleep, 0.001)
        body = await whole(receive)
        if path.endswith("7"):
            await send(START)
            await send({"type": "http.response.body", "body": path.encode(), "more_body": True})
            await send({"type": "http.response.body", "body": body})
        else:
            await answer(send, path.encode() + body)

    def ask(number):
        host, _, port = place.server.address.rpartition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=LATE)
        for i in range(50):
            path = f"/{number}-{i}"
            connection.request("POST", path, path * 10)
            assert connection.getresponse().read() == path.encode() * 11
        connection.close()
        return number

    with asgi(app, workers=4) as place:
        with ThreadPoolExecutor(16) as pool:
            assert [*pool.map(ask, range(16))] == [*range(16)]
    assert not place.failures


@pytest.mark.parametrize("target", ["/", "/fails"])
def test_what_a_request_takes_is_given_back(target):
    async def app(scope, receive, send):
        body = await whole(receive)
        if target == "/fails":
            raise ValueError("what")
        await send(START)
        await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": body})

    with asgi(app, workers=1) as place:
        host, _, port = place.server.address.rpartition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=LATE)

        def ask(n):
            for _ in range(n):
                connection.request("POST", target, b"x")
                assert connection.getresponse().read() == (b"xx" if target == "/" else b"500 Internal Server Error\n")
                place.failures.clear()

        ask(100)
        before = len(os.listdir("/proc/self/fd")), _fibers._counts()["thread_states"]
        gc.collect()
        gc.disable()     # so cycles count as well
        try:
            blocks = []
            for _ in range(3):
                ask(500)
                blocks.append(sys.getallocatedblocks())
        finally:
            gc.enable()
        after = len(os.listdir("/proc/self/fd")), _fibers._counts()["thread_states"]
        connection.close()
        assert after[0] <= before[0] and after[1] <= before[1]
        assert min(b - a for a, b in zip(blocks, blocks[1:])) < 250, blocks      # a block for each request would be 500


# ---- the end


def test_the_end_of_the_grace_cancels_applications():
    begun = threading.Barrier(4)
    ended = []

    async def app(scope, receive, send):
        try:
            if scope["path"] == "/stream":
                await send(START)
                await send({"type": "http.response.body", "body": b"data: 1\n\n", "more_body": True})
            if scope["path"] == "/behind":       # goes on after its answer
                await answer(send, b"x")
            await asyncio.to_thread(begun.wait, LATE)
            await asyncio.sleep(LATE)
        except asyncio.CancelledError:
            ended.append(scope["path"])
            raise

    with asgi(app) as place:
        with ThreadPoolExecutor(3) as pool:
            answers = [pool.submit(place.raw, f"GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
                       for target in ("/silent", "/stream", "/behind")]
            begun.wait(LATE)
            place.server.stop(0.05)
            answers = [a.result(LATE) for a in answers]
        assert answers[0] == b"" and not answers[1].endswith(b"0\r\n\r\n") and answers[2].endswith(b"x")
    assert sorted(ended) == ["/behind", "/silent", "/stream"] and not place.failures


def test_what_goes_on_after_its_answer_has_the_grace(monkeypatch):
    from weft import _asgi
    go_on = threading.Event()
    ended = []
    end_calls = _asgi.Application.end_calls

    async def end_calls_and_tell(application):
        go_on.set()
        await end_calls(application)

    monkeypatch.setattr(_asgi.Application, "end_calls", end_calls_and_tell)

    async def app(scope, receive, send):
        await answer(send, b"x")
        await asyncio.to_thread(go_on.wait, LATE)
        ended.append(scope["path"])

    with asgi(app) as place:
        assert place.get("/behind") == (200, b"x")
    assert ended == ["/behind"] and not place.failures


def test_a_limit_of_time_cancels_an_application():
    ended = threading.Event()

    async def app(scope, receive, send):
        try:
            await asyncio.sleep(LATE)
        finally:
            ended.set()

    with asgi(app, request_timeout=0.05) as place:
        assert place.get()[0] == 503
        assert ended.wait(LATE)


def test_a_server_on_a_fiber_and_its_stop():
    ready = threading.Event()
    events = []

    async def app(scope, receive, send):
        if scope["type"] == "lifespan":
            for what in ("startup", "shutdown"):
                events.append((await receive())["type"])
                await send({"type": f"lifespan.{what}.complete"})
        else:
            await answer(send, b"x")

    server = weft.Server(app, interface="asgi")

    def main():
        serving = weft.spawn(server.serve, "127.0.0.1:0", on_ready=lambda at: ready.set())
        weft.blocking(ready.wait, LATE)
        assert weft.blocking(Place(server, []).get) == (200, b"x")
        serving.cancel()
        with pytest.raises(weft.Cancelled):
            serving.result()
        with pytest.raises(RuntimeError, match="serves once"):
            server.serve("127.0.0.1:0")

    weft.run(main, workers=2)
    assert events == ["lifespan.startup", "lifespan.shutdown"]


SIGNALS = """
import asyncio, weft
async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        for what in ("startup", "shutdown"):
            await receive()
            print(what, flush=True)
            await send({"type": f"lifespan.{what}.complete"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
    while True:
        await send({"type": "http.response.body", "body": b"data: 1\\n\\n", "more_body": True})
        await asyncio.sleep(0.01)
weft.serve(app, "127.0.0.1:0", interface="asgi", on_ready=lambda at: print(at, flush=True), grace=0.2)
print("ended", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_a_server_that_streams(number):
    with subprocess.Popen([sys.executable, "-c", SIGNALS], stdout=subprocess.PIPE, text=True,
                          env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}) as p:
        assert p.stdout.readline() == "startup\n"
        place = Place(type("At", (), {"address": p.stdout.readline().strip()}), [])
        with client(place) as s:
            s.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert s.recv(10)
            p.send_signal(number)
            with contextlib.suppress(ConnectionResetError):
                while s.recv(65536):
                    pass
        assert p.stdout.read() == "shutdown\nended\n"
        assert p.wait(LATE) == 0


PROCESSES = """
import asyncio, os, sys
def say(what):
    os.write(2, f"{what} {os.getpid()}\\n".encode())
async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        for what in ("startup", "shutdown"):
            await receive()
            say(what)
            await send({"type": f"lifespan.{what}.complete"})
        return
    await send({"type": "http.response.start", "status": 200})
    await send({"type": "http.response.body", "body": str(os.getpid()).encode()})
    if scope["path"] == "/behind":
        await asyncio.sleep(0.1)
        say("behind")
"""


def test_each_process_has_a_lifespan(tmp_path):
    (tmp_path / "shop.py").write_text(PROCESSES)
    with command(tmp_path, "shop", "--interface", "asgi", "--listen", "127.0.0.1:0", "--processes", "2") as p:
        seen = {what: [] for what in ("startup", "shutdown", "behind")}

        def read_to(pattern):
            for line in p.stderr:
                if said := re.search(r"(startup|shutdown|behind) (\d+)$", line):
                    seen[said[1]].append(int(said[2]))
                if found := re.search(pattern, line):
                    return found
            pytest.fail(f"no line has {pattern}")

        place = Place(type("At", (), {"address": read_to("http://(.*)$")[1]}), [])
        read_to("generation 1 is ready, 2 processes")
        first = {*seen["startup"]}
        assert len(first) == 2 and {int(place.get()[1]) for _ in range(20)} <= first
        answered = int(place.get("/behind")[1])
        p.send_signal(signal.SIGHUP)
        read_to("generation 1 has ended")
        assert {*seen["shutdown"]} == first and seen["behind"] == [answered]     # it had its grace
        p.send_signal(signal.SIGTERM)
        read_to("generation 2 has ended")
        assert p.wait(LATE) == 0
    assert len(seen["startup"]) == 4 and sorted(seen["startup"]) == sorted(seen["shutdown"])


def test_the_command_takes_a_loop(tmp_path):
    (tmp_path / "shop.py").write_text(
        'import asyncio\n'
        'class Mine(asyncio.SelectorEventLoop):\n'
        '    pass\n'
        'async def app(scope, receive, send):\n'
        '    assert scope["type"] == "http"\n'
        '    await send({"type": "http.response.start", "status": 200})\n'
        '    await send({"type": "http.response.body", "body": type(asyncio.get_running_loop()).__name__.encode()})\n')
    with command(tmp_path, "shop", "--interface", "asgi", "--loop", "shop:Mine", "--listen", "127.0.0.1:0") as p:
        place = Place(type("At", (), {"address": wait_for_line(p.stderr, "http://(.*)$")[1]}), [])
        assert place.get() == (200, b"Mine")
        p.send_signal(signal.SIGTERM)
        assert p.wait(LATE) == 0


# ---- lifespan and loop


def test_a_lifespan_and_its_state():
    events = []
    value = object()

    async def app(scope, receive, send):
        if scope["type"] == "lifespan":
            assert scope["asgi"]["version"] == "3.0"
            assert await receive() == {"type": "lifespan.startup"}
            scope["state"]["value"] = value
            events.append("startup")
            await send({"type": "lifespan.startup.complete"})
            assert await receive() == {"type": "lifespan.shutdown"}
            events.append("shutdown")
            await send({"type": "lifespan.shutdown.complete"})
            return
        assert scope["state"] == {"value": value}
        scope["state"]["value"] = None       # its own copy
        events.append("request")
        await answer(send, b"x")

    with asgi(app, has_lifespan=True) as place:
        assert events == ["startup"]
        assert place.get() == place.get() == (200, b"x")
    assert events == ["startup", "request", "request", "shutdown"] and not place.failures


def serve_once(app, **options):
    """Serves one request, and returns its answer and what was told."""
    told, got = [], []
    server = weft.Server(app, interface="asgi", on_error=lambda method, target, e: told.append(e), **options)

    def ask(at):
        got.append(Place(server, []).get())
        server.stop(LATE)

    def ready(at):
        threading.Thread(target=ask, args=(at,), daemon=True).start()

    server.serve("127.0.0.1:0", on_ready=ready, workers=2)
    return got, told


def test_startups_and_shutdowns_that_fail():
    async def app(scope, receive, send):
        if scope["type"] != "lifespan":
            return await answer(send, b"x")
        await receive()
        if what == "startup":
            await send({"type": "lifespan.startup.failed", "message": "no database"})
            raise ValueError("the cause")
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.failed", "message": "no flush"})

    what = "startup"
    with pytest.raises(RuntimeError, match="failed to start: no database") as e:
        serve_once(app)
    assert str(e.value.__cause__) == "the cause"
    what = "shutdown"
    with pytest.raises(RuntimeError, match="failed to end: no flush"):
        serve_once(app)
    assert _fibers._counts()["runners_now"] == 0


@pytest.mark.parametrize("what, told", [("asserts", None), ("returns", None), ("raises", "in the startup"), ("raises-later", "later"),
                                        ("never-completes", None), ("unknown", "unknown message"), ("twice", "twice")])
def test_lifespans_that_are_none(what, told):
    async def app(scope, receive, send):
        if scope["type"] == "http":
            return await answer(send, b"x")
        assert what != "asserts"
        if what == "returns":
            return
        await receive()
        if what == "raises":
            raise ValueError("in the startup")
        if what == "unknown":
            await send({"type": "lifespan.what"})
        await send({"type": "lifespan.startup.complete"})
        if what == "twice":
            await send({"type": "lifespan.startup.complete"})
        if what == "raises-later":
            raise ValueError("later")
        await receive()

    got, words = serve_once(app)
    assert got == [(200, b"x")]
    assert [told in str(e) for e in words] == ([True] if told else [])


def test_a_stop_during_the_startup():
    begun = threading.Event()
    ended = []

    async def app(scope, receive, send):
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(scope["type"])

    server = weft.Server(app, interface="asgi")
    thread = threading.Thread(target=server.serve, args=("127.0.0.1:0",))
    thread.start()
    assert begun.wait(LATE)
    server.stop(LATE)
    thread.join(LATE)
    assert not thread.is_alive() and ended == ["lifespan"] and server.address is None


def test_a_port_that_is_taken_ends_the_lifespan():
    events = []

    async def app(scope, receive, send):
        for what in ("startup", "shutdown"):
            events.append((await receive())["type"])
            await send({"type": f"lifespan.{what}.complete"})

    with asgi(lambda *_: None) as place, pytest.raises(OSError, match=place.server.address):
        weft.spawn(weft.Server(app, interface="asgi").serve, place.server.address).result()
    assert events == ["lifespan.startup", "lifespan.shutdown"]


def test_the_loop_is_made_by_the_user():
    loops = []

    def make():
        loops.append(asyncio.new_event_loop())
        return loops[0]

    async def app(scope, receive, send):
        assert asyncio.get_running_loop() is loops[0]
        await answer(send, threading.current_thread().name.encode())

    with asgi(app, loop=make) as place:
        assert place.get() == (200, b"weft asgi")
    assert loops[0].is_closed() and not place.failures
    with pytest.raises(ZeroDivisionError):
        weft.Server(app, interface="asgi", loop=lambda: 1 / 0).serve("127.0.0.1:0")


def test_uvloop():
    uvloop = pytest.importorskip("uvloop")

    async def app(scope, receive, send):
        await send(START)
        async for piece in pieces_of(receive):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": type(asyncio.get_running_loop()).__module__.encode()})

    with asgi(app, loop=uvloop.new_event_loop) as place:
        assert place.ask("POST", "/", b"x" * 200_000)[1] == b"x" * 200_000 + b"uvloop"
    assert not place.failures


@pytest.mark.parametrize("make, words", [
    (lambda: weft.Server(3, interface="asgi"), "not callable"), (lambda: weft.Server(print, interface="asgi", loop=3), "loop"),
    (lambda: weft.Server(print, loop=asyncio.new_event_loop), "asgi"), (lambda: weft.Server(print, interface="asgi3"), "asgi"),
])
def test_bad_arguments_are_refused(make, words):
    with pytest.raises((TypeError, ValueError), match=words):
        make()


def test_an_exit_in_a_task_of_the_loop_ends_the_server():
    async def leave():
        sys.exit("enough")

    async def app(scope, receive, send):
        assert scope["type"] == "http"
        task = asyncio.ensure_future(leave())
        await answer(send, repr(await task).encode())

    server = weft.Server(app, interface="asgi", on_error=lambda *_: None)

    def ask():
        with contextlib.suppress(OSError, http.client.HTTPException):
            Place(server, []).get()

    with pytest.raises(SystemExit, match="enough"):
        server.serve("127.0.0.1:0", on_ready=lambda at: threading.Thread(target=ask).start(), workers=2)


def test_routes_files_and_other_servers_go_beside_it(tmp_path):
    (tmp_path / "a.txt").write_text("a file")

    async def app(scope, receive, send):
        await answer(send, b"asgi")

    with asgi(app, prepare=lambda s: s.route("GET", "/plain", lambda q: "plain"), static={"/static": tmp_path}) as place:
        assert place.get("/") == place.get("/other") == (200, b"asgi")
        assert place.get("/plain") == (200, b"plain")
        assert place.get("/static/a.txt") == (200, b"a file")


# ---- frameworks


def test_starlette():
    pytest.importorskip("starlette")
    from starlette.applications import Starlette
    from starlette.background import BackgroundTask
    from starlette.middleware import Middleware
    from starlette.middleware.base import BaseHTTPMiddleware
    from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, StreamingResponse
    from starlette.routing import Route
    events = []

    @contextlib.asynccontextmanager
    async def lifespan(app):
        events.append("up")
        yield {"value": 7}
        events.append("down")

    async def hello(request):
        return JSONResponse({"name": request.path_params["name"], "x": request.query_params["x"], "body": (await request.body()).decode(),
                             "value": request.state.value, "url": str(request.url), "here": not await request.is_disconnected()})

    async def stream(request):
        async def pieces():
            async for piece in request.stream():
                await asyncio.sleep(0)
                yield piece
        return StreamingResponse(pieces(), background=BackgroundTask(events.append, "background"))

    def sync(request):         # on a thread of anyio
        return PlainTextResponse("sync")

    def fails(request):
        raise ValueError("a bug")

    async def file(request):
        return FileResponse(__file__)

    class Adds(BaseHTTPMiddleware):
        async def dispatch(self, request, call_next):
            got = await call_next(request)
            got.headers["x-added"] = "yes"
            return got

    app = Starlette(lifespan=lifespan, middleware=[Middleware(Adds)], routes=[
        Route("/hello/{name}", hello, methods=["POST"]), Route("/stream", stream, methods=["POST"]), Route("/sync", sync),
        Route("/fails", fails), Route("/file", file)])
    with asgi(app, has_lifespan=True) as place:
        def ask(i):
            return json.loads(place.ask("POST", f"/hello/{i}?x={i}", f"body {i}".encode())[1])
        with ThreadPoolExecutor(8) as pool:
            for i, got in enumerate(pool.map(ask, range(50))):
                assert got == {"name": str(i), "x": str(i), "body": f"body {i}", "value": 7, "here": True,
                               "url": f"http://{place.server.address}/hello/{i}?x={i}"}
        status, body, headers = place.ask("POST", "/stream", b"x" * 300_000)
        assert (status, body, headers["x-added"]) == (200, b"x" * 300_000, "yes")
        assert place.get("/sync") == (200, b"sync")
        assert place.get("/none")[0] == 404
        assert place.get("/fails")[0] == 500
        assert place.get("/file")[1] == open(__file__, "rb").read()
        assert place.ask("HEAD", "/file")[2]["Content-Length"] == str(os.path.getsize(__file__))
    assert events == ["up", "background", "down"]
    assert [str(e) for _, _, e in place.failures] == ["a bug"]


def test_starlette_whose_startup_fails():
    pytest.importorskip("starlette")
    from starlette.applications import Starlette

    @contextlib.asynccontextmanager
    async def lifespan(app):
        raise ValueError("no database")
        yield

    with pytest.raises(RuntimeError, match="no database"):
        weft.serve(Starlette(lifespan=lifespan), "127.0.0.1:0", interface="asgi")


def test_fastapi():
    fastapi = pytest.importorskip("fastapi")
    import pydantic
    app = fastapi.FastAPI()

    class Item(pydantic.BaseModel):
        name: str
        price: float

    async def user(x_user: str = fastapi.Header()):
        yield x_user

    @app.post("/items/{number}")
    async def make(number: int, item: Item, name: str = fastapi.Depends(user)):
        await asyncio.sleep(0.001)
        return {"number": number, "item": item, "user": name}

    @app.get("/sync")
    def sync():
        time.sleep(0.001)
        return "sync"

    with asgi(app, has_lifespan=True) as place:
        def ask(i):
            headers = {"X-User": f"u{i}", "Content-Type": "application/json"}
            return json.loads(place.ask("POST", f"/items/{i}", json.dumps({"name": "a", "price": i}), headers)[1])
        with ThreadPoolExecutor(8) as pool:
            assert [*pool.map(ask, range(50))] == [{"number": i, "item": {"name": "a", "price": i}, "user": f"u{i}"} for i in range(50)]
            assert [*pool.map(place.get, ["/sync"] * 20)] == [(200, b'"sync"')] * 20
        assert place.ask("POST", "/items/x", b"{}", {"Content-Type": "application/json"})[0] == 422
        assert place.get("/openapi.json")[0] == 200
    assert not place.failures


DJANGO = """
import asyncio, weft
from django.conf import settings
settings.configure(DEBUG=False, SECRET_KEY="x", ROOT_URLCONF="__main__", ALLOWED_HOSTS=["*"], USE_TZ=True)
import django
from django.http import JsonResponse, StreamingHttpResponse
from django.urls import path
async def hello(request, name):
    await asyncio.sleep(0.001)
    return JsonResponse({"name": name, "body": request.body.decode(), "x": request.GET.get("x")})
def sync(request):
    return JsonResponse({"sync": True})
async def stream(request):
    async def pieces():
        for i in range(5):
            yield f"{i},"
            await asyncio.sleep(0)
    return StreamingHttpResponse(pieces())
urlpatterns = [path("hello/<str:name>", hello), path("sync", sync), path("stream", stream)]
django.setup()
from django.core.asgi import get_asgi_application
weft.serve(get_asgi_application(), "127.0.0.1:0", interface="asgi", on_ready=lambda at: print(at, flush=True))
"""


def test_django():
    pytest.importorskip("django")
    with subprocess.Popen([sys.executable, "-c", DJANGO], stdout=subprocess.PIPE, text=True,
                          env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}) as p:
        place = Place(type("At", (), {"address": p.stdout.readline().strip()}), [])

        def ask(i):
            return json.loads(place.ask("POST", f"/hello/{i}?x={i}", f"body {i}".encode())[1])
        with ThreadPoolExecutor(8) as pool:
            assert [*pool.map(ask, range(50))] == [{"name": str(i), "body": f"body {i}", "x": str(i)} for i in range(50)]
        assert place.get("/sync") == (200, b'{"sync": true}')
        assert place.get("/stream") == (200, b"0,1,2,3,4,")
        assert place.get("/none")[0] == 404
        p.send_signal(signal.SIGTERM)
        assert p.wait(LATE) == 0
