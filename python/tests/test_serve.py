"""weft.serve: functions and WSGI programs behind the HTTP server, bodies both ways, failures, limits, the end."""
import contextlib
import contextvars
import gc
import gzip
import http.client
import io
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from wsgiref.validate import validator

import pytest

import weft
from conftest import forks
from weft import _fibers

pytestmark = pytest.mark.skipif("weft._no_http" in sys.modules, reason="weft was built without HTTP")

LATE = 60


@contextlib.contextmanager
def process(*words, **options):
    """A Python with these words. It has gone afterwards, also if the test has failed."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen([sys.executable, *words], text=True, stdout=subprocess.PIPE, env=environment, **options) as p:
        try:
            yield p
        finally:
            p.kill()


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=LATE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(LATE)
        self.sock.connect(self.path)


def connection_to(address):
    if address.startswith("unix:"):
        return UnixConnection(address[5:])
    host, _, port = address.rpartition(":")
    return http.client.HTTPConnection(host, int(port), timeout=LATE)


class Place:
    def __init__(self, server, failures):
        self.server, self.failures = server, failures

    def ask(self, method="GET", target="/", body=None, headers={}):
        """(status, body, headers) of one request on a connection of its own."""
        connection = connection_to(self.server.address)
        try:
            connection.request(method, target, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read(), answer.headers
        finally:
            connection.close()

    def get(self, target="/"):
        return self.ask("GET", target)[:2]

    def raw(self, data):
        """What comes back for these bytes, to the end of the connection."""
        host, _, port = self.server.address.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=LATE) as s:
            s.sendall(data)
            pieces = []
            with contextlib.suppress(ConnectionResetError):
                while piece := s.recv(65536):
                    pieces.append(piece)
            return b"".join(pieces)


@contextlib.contextmanager
def serving(app=None, prepare=lambda server: None, workers=2, at="127.0.0.1:0", **options):
    """A server on a thread, with a runtime of its own. Its fibers and thread states are gone afterwards."""
    failures = []
    server = weft.Server(app, on_error=lambda method, target, e: failures.append((method, target, e)), **options)
    prepare(server)
    ready = threading.Event()
    ended = []

    def serve():
        try:
            server.serve(at, workers=workers, on_ready=lambda at: ready.set())
        except BaseException as e:
            ended.append(e)
        finally:
            ready.set()

    thread = threading.Thread(target=serve)
    thread.start()
    assert ready.wait(LATE)
    try:
        yield Place(server, failures)
    finally:
        server.stop(LATE)
        thread.join(LATE)
        assert not thread.is_alive() and not ended, ended
    counts = _fibers._counts()
    assert counts["thread_states"] == 0 and counts["runners_now"] == 0


# ---- functions


def test_a_request_is_seen_as_it_was_sent():
    seen = []

    def app(q):
        seen.append((q.method, q.target, q.path, q.query_string, q.query, q.header("x-a"), q.header("X-B", "none"), q.body, q.peer[0]))
        assert ("X-A", "1") in q.headers and repr(q) == "<weft.Request POST '/a%20b?x=1&y=%C3%A9&x=2'>"
        return "ok"

    with serving(app) as place:
        assert place.ask("POST", "/a%20b?x=1&y=%C3%A9&x=2", b"the body", {"X-A": "1"})[:2] == (200, b"ok")
    assert seen == [("POST", "/a%20b?x=1&y=%C3%A9&x=2", "/a b", "x=1&y=%C3%A9&x=2", {"x": "2", "y": "é"}, "1", "none", b"the body", "127.0.0.1")]


@pytest.mark.parametrize("result, status, body, content_type", [
    (b"bytes", 200, b"bytes", "application/octet-stream"),
    ("strö", 200, "strö".encode(), "text/plain; charset=utf-8"),
    (None, 204, b"", None),
    (bytearray(b"array"), 200, b"array", "application/octet-stream"),
    (b"", 200, b"", "application/octet-stream"),
    (weft.Response("no", 404), 404, b"no", "text/plain; charset=utf-8"),
    (weft.Response("{}", content_type="application/json"), 200, b"{}", "application/json"),
    (weft.Response("<p>", headers={"content-type": "text/html"}), 200, b"<p>", "text/html"),
    (weft.Response(["a", b"b", "c"]), 200, b"abc", "application/octet-stream"),
    (b"x" * 1_000_000, 200, b"x" * 1_000_000, "application/octet-stream"),
])
def test_results_of_a_function(result, status, body, content_type):
    with serving(lambda q: result) as place:
        for _ in range(2):
            got, data, headers = place.ask()
            assert (got, data, headers.get("Content-Type")) == (status, body, content_type)
        got, data, headers = place.ask("HEAD")
        assert (got, data) == (status, b"")
        if isinstance(result, (bytes, str)):
            assert int(headers["Content-Length"]) == len(body)


@pytest.mark.parametrize("result, words", [
    (3, "not int"), ({"a": 1}, "not dict"), (weft.Response("x", headers=[("X", "a\r\nY: b")]), "X"),
    (weft.Response("x", headers=[("X", "\N{EURO SIGN}")]), "beyond Latin-1"), (weft.Response("x", headers=[("X", 3)]), "made of str"),
    (weft.Response("x", headers=[("X",)]), "name and value"), (weft.Response("x", headers=[("a b", "c")]), "a b"),
])
def test_results_that_are_none(result, words):
    with serving(lambda q: result) as place:
        assert place.get() == (500, b"500 Internal Server Error\n")
    assert len(place.failures) == 1 and words in str(place.failures[0][2])


@pytest.mark.parametrize("make", [
    lambda: weft.Response(status=100), lambda: weft.Response(status="200"), lambda: weft.Response(3), lambda: weft.Response({"a": 1}),
    lambda: weft.Request(), lambda: weft.Server(3), lambda: weft.Server(max_body_bytes=0), lambda: weft.Server(max_body_bytes="1"),
    lambda: weft.Server(idle_timeout=0), lambda: weft.Server(idle_timeout="x"), lambda: weft.Server(idle_timeot=1),
    lambda: weft.Server(interface="cgi"), lambda: weft.Server(access_log_format="xml"), lambda: weft.Server(on_error=3),
    lambda: weft.Server(access_log=-1), lambda: weft.Server(static={"/x": "/no/such/folder"}),
    lambda: weft.Server().route("GET", "no slash", print), lambda: weft.Server().constant("/c", "x", "a\nb"),
    lambda: weft.Server().serve("no port"), lambda: weft.Server().serve("127.0.0.1:1", grace=-1),
])
def test_bad_arguments_are_refused(make):
    with pytest.raises((TypeError, ValueError, OSError)):
        make()


def test_a_port_that_is_taken():
    with serving(lambda q: "x") as place, pytest.raises(OSError, match=place.server.address):
        weft.spawn(weft.Server().serve, place.server.address).result()


def seen_by_plain(q):
    return json.dumps([None, q.peer])


def seen_by_wsgi(environ, start_response):
    start_response("200 OK", [])
    return [json.dumps([[environ["SERVER_NAME"], environ["SERVER_PORT"]], environ.get("REMOTE_ADDR")]).encode()]


async def seen_by_asgi(scope, receive, send):
    assert scope["type"] == "http"    # and so no lifespan
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": json.dumps([scope["server"], scope["client"]]).encode()})


@pytest.mark.parametrize("app, interface, server", [
    (seen_by_plain, "plain", None), (seen_by_wsgi, "wsgi", ["localhost", "80"]), (seen_by_asgi, "asgi", ["PATH", None])])
def test_a_unix_socket(app, interface, server, tmp_path):
    path = str(tmp_path / "s:80")
    with serving(app, interface=interface, at="unix:" + path) as place:
        assert place.server.address == "unix:" + path
        status, body = place.get()
        assert status == 200
        where, client = json.loads(body)
        assert client is None and where == (server and [path if w == "PATH" else w for w in server])
    assert not os.path.exists(path)


def test_a_server_serves_once():
    with serving(lambda q: "x") as place:
        with pytest.raises(RuntimeError, match="serves once"):
            place.server.serve("127.0.0.1:0")
        with pytest.raises(RuntimeError, match="before it serves"):
            place.server.route("GET", "/late", lambda q: "x")


def test_pieces_arrive_when_they_are_made():
    go_on = threading.Event()

    def app(q):
        yield "one"
        assert go_on.wait(LATE)      # blocks a thread, and no other fiber
        yield b""
        yield "two"

    with serving(app) as place:
        host, _, port = place.server.address.rpartition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=LATE)
        connection.request("GET", "/")
        answer = connection.getresponse()
        assert answer.read(3) == b"one"
        assert not go_on.is_set()
        go_on.set()
        assert answer.read() == b"two"
        connection.close()


def test_a_generator_is_closed_whatever_happens():
    ends = []

    def app(q):
        try:
            yield "one"
            if q.path == "/fails":
                raise ValueError("no two")
            if q.path == "/wrong":
                yield 3
            yield "two"
        finally:
            ends.append(q.path)

    with serving(app) as place:
        assert place.get() == (200, b"onetwo")
        assert place.ask("HEAD")[0] == 200
        assert b"onetwo" not in place.raw(b"GET /fails HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"onetwo" not in place.raw(b"GET /wrong HTTP/1.1\r\nHost: x\r\n\r\n")
    assert sorted(ends) == ["/", "/fails", "/wrong"]     # that of HEAD never began
    assert [str(e) for _, _, e in place.failures] == ["no two", "weft: a piece of an answer is bytes or str, not int"]


def test_bodies_of_requests():
    def app(q):
        if q.path == "/pieces":
            return str(sum(map(len, q)))
        if q.path == "/some":
            return q.read(3) + b"|" + q.read(1 << 70)
        if q.path == "/echo":
            return (piece for piece in q)      # reads while it answers
        if q.path == "/twice":
            return q.body + q.body
        return "none of it"

    def chunks():
        for _ in range(100):
            yield b"x" * 1000

    with serving(app) as place:
        assert place.ask("POST", "/pieces", b"x" * 500_000)[1] == b"500000"
        assert place.ask("POST", "/pieces", chunks())[1] == b"100000"     # in chunks
        assert place.ask("POST", "/echo", b"y" * 300_000)[1] == b"y" * 300_000
        assert place.ask("POST", "/some", b"abcdef")[1] == b"abc|def"
        assert place.ask("POST", "/twice", b"ab")[1] == b"abab"
        assert place.ask("POST", "/", b"ab")[1] == b"none of it"


def test_a_body_that_is_too_large_or_malformed():
    def app(q):
        try:
            return str(len(q.body))
        except weft.BodyError:
            return "all is well"

    with serving(app, max_body_bytes=10) as place:
        assert place.ask("POST", "/", b"0123456789")[:2] == (200, b"10")
        assert place.ask("POST", "/", b"0123456789a")[0] == 413
        chunked = b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        assert place.raw(chunked + b"b\r\n0123456789a\r\n0\r\n\r\n").startswith(b"HTTP/1.1 413 ")
        assert place.raw(chunked + b"zz\r\n").startswith(b"HTTP/1.1 400 ")
    assert not place.failures


def test_a_request_that_outlives_its_answer():
    kept = []

    def app(q):
        kept.append(q)
        assert q.parameter("name") == "a b"
        with pytest.raises(KeyError):
            q.parameter("other")
        return "ok"

    with serving(prepare=lambda s: s.route("POST", "/x/{name}", app)) as place:
        place.ask("POST", "/x/a%20b?y=1", b"body", {"X-A": "1"})
        q = kept[0]
        assert (q.method, q.path, q.query, q.header("x-A"), q.header("x-B"), q.peer[0]) == ("POST", "/x/a b", {"y": "1"}, "1", None, "127.0.0.1")
        assert ("X-A", "1") in q.headers
        for use in (lambda: q.body, lambda: q.read(1), lambda: q.parameter("name")):
            with pytest.raises(RuntimeError, match="over"):
                use()


def test_a_request_that_outlives_a_streamed_answer():
    kept, seen = [], []

    class Pieces:
        def __init__(self, q):
            self.q = q

        def __iter__(self):
            return iter([b"a", b"b"])

        def close(self):
            try:
                seen.append((self.q.method, self.q.target, self.q.read()))
            except RuntimeError as e:
                seen.append((self.q.method, self.q.target, str(e)))

    def app(q):
        kept.append(q)
        return weft.Response(Pieces(q))

    with serving(app) as place:
        assert place.ask("POST", "/x?y=1", b"body", {"X-A": "1"})[1] == b"ab"
        assert place.ask("HEAD", "/x?y=1", headers={"X-A": "1"})[1] == b""
    assert seen == [("POST", "/x?y=1", b"body"), ("HEAD", "/x?y=1", "weft: the request is over")]
    for q, method in zip(kept, ("POST", "HEAD"), strict=True):
        assert (q.method, q.path, q.query, q.header("x-A"), q.peer[0]) == (method, "/x", {"y": "1"}, "1", "127.0.0.1")
        with pytest.raises(RuntimeError, match="over"):
            q.read(1)


def test_a_body_error_that_a_program_makes_is_reported():
    def app(q):
        raise weft.BodyError("its own")

    with serving(app) as place:
        assert place.get()[0] == 500
    assert [str(e) for _, _, e in place.failures] == ["its own"]


@forks
def test_a_child_that_is_forked_in_a_handler_does_not_answer():
    def child_of(q):
        pid = os.fork()
        if pid == 0:
            if q.path == "/raises":
                raise SystemExit(3)
            return "the child's"
        return f"{os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}"

    def app(q):
        if q.path != "/pieces":
            return child_of(q)
        return (child_of(q) for _ in range(2))

    with serving(app) as place:
        assert place.get("/") == (200, b"0")
        assert place.get("/raises") == (200, b"3")
        assert place.get("/pieces") == (200, b"00")
    assert not place.failures


def test_the_body_is_read_by_the_fiber_of_the_handler():
    def app(q):
        for elsewhere in (lambda: weft.spawn(q.read).result(), lambda: weft.blocking(q.read)):
            with pytest.raises(RuntimeError, match="fiber of a handler"):
                elsewhere()
        return q.body

    with serving(app) as place:
        assert place.ask("POST", "/", b"body")[:2] == (200, b"body")
    assert not place.failures


def test_routes_constants_and_files_go_before_the_program(tmp_path):
    (tmp_path / "a.txt").write_text("a file")

    def prepare(server):
        server.route("GET", "/users/{id}", lambda q: "user " + q.parameter("id"))
        server.constant("/health", "well")
        server.files("/cached/", tmp_path, cache=60)

    with serving(lambda q: "the program", prepare, static={"/static": tmp_path}) as place:
        assert place.get("/users/7") == (200, b"user 7")
        assert place.get("/health") == (200, b"well")
        assert place.get("/static/a.txt") == (200, b"a file")
        assert place.ask("GET", "/cached/a.txt")[2]["Cache-Control"] == "max-age=60"
        assert place.get("/static/none")[0] == 404
        assert place.get("/other") == place.get("/") == (200, b"the program")
        assert place.ask("DELETE", "/a/b")[1] == b"the program"
    with serving(None, prepare) as place:
        assert place.get("/other")[0] == 404
        assert place.ask("POST", "/health")[0] == 405


def test_routes_are_not_added_while_it_serves(tmp_path):
    with serving(lambda q: "app") as place:
        for add in (lambda s: s.route("GET", "/a", lambda q: "a"), lambda s: s.constant("/a", "a"), lambda s: s.files("/a", tmp_path)):
            with pytest.raises(RuntimeError, match="before it serves"):
                add(place.server)
        assert place.get("/a") == (200, b"app")


def test_handlers_wait_without_holding_up_others():
    """100 requests at once, each asleep in C code that nothing has patched."""
    def app(q):
        time.sleep(0.2)
        return "slept"

    with serving(app) as place:
        best = None
        for _ in range(5):
            begin = time.monotonic()
            with ThreadPoolExecutor(100) as pool:
                assert [*pool.map(lambda _: place.get(), range(100))] == [(200, b"slept")] * 100
            took = time.monotonic() - begin
            best = took if best is None else min(best, took)
            if best < 5:
                break
        assert best < 5      # one after the other they take 20 s


def test_fibers_channels_and_timeouts_inside_of_a_handler():
    numbers = weft.Channel(4)

    def app(q):
        if q.path == "/timeout":
            with weft.timeout(0.01):
                weft.sleep(LATE)
        with weft.scope() as s:
            for i in range(4):
                s.spawn(numbers.send, i)
        weft.sleep(0.001)
        assert weft.blocking(lambda: 7) == 7
        return str(sorted(numbers.receive() for _ in range(4)))

    with serving(app) as place:
        assert place.get() == (200, b"[0, 1, 2, 3]")
        assert place.get("/timeout")[0] == 500
    assert isinstance(place.failures[0][2], TimeoutError)


def test_requests_share_no_context_and_no_local():
    name = contextvars.ContextVar("name", default="none")
    local = threading.local()
    name.set("server's")     # of the thread that makes the server, which is not the one that serves

    def app(q):
        seen = (name.get(), getattr(local, "value", "none"))
        name.set(q.path)
        local.value = q.path
        yield ",".join(seen) + ";"
        weft.sleep(0.001)
        yield name.get() + "," + local.value

    with serving(app) as place:
        with ThreadPoolExecutor(8) as pool:
            for i, (status, body) in enumerate(pool.map(lambda i: place.get(f"/{i}"), range(200))):
                assert (status, body.decode()) == (200, f"none,none;/{i},/{i}")


def test_a_dump_shows_where_handlers_are():
    dumped = []

    def waits_in_here(event):
        event.wait()

    def app(q):
        if q.path == "/dump":
            dumped.append(weft.dump())
            event.set()
        else:
            waits_in_here(event)
        return "ok"

    event = weft.Event()
    with serving(app) as place:
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(place.get, "/wait")
            while "waits_in_here" not in weft.dump():
                time.sleep(0.01)
            assert place.get("/dump") == (200, b"ok")
            assert waiting.result(LATE) == (200, b"ok")
    assert "Python: called by native code" in dumped[0] and ", in test_a_dump_shows_where_handlers_are.<locals>.waits_in_here" in dumped[0]


def test_a_limit_of_time_for_handlers():
    ended = []

    def app(q):
        try:
            weft.sleep(LATE)
        except weft.Cancelled:
            ended.append(q.path)
            raise

    with serving(app, request_timeout=0.05) as place:
        assert place.get()[0] == 503
    assert ended == ["/"]


def test_an_access_log(tmp_path):
    log = tmp_path / "log"
    with serving(lambda q: "abc", access_log=log, access_log_format="json") as place:
        place.get("/x")
    line = json.loads(log.read_text())
    assert (line["method"], line["target"], line["status"], line["bytes"]) == ("GET", "/x", 200, 3)


def test_a_traceback_is_printed_without_on_error(capfd):
    def app(q):
        raise ValueError("what went wrong")

    ready = threading.Event()
    server = weft.Server(app)
    thread = threading.Thread(target=server.serve, args=("127.0.0.1:0",), kwargs={"on_ready": lambda at: ready.set()})
    thread.start()
    assert ready.wait(LATE)
    assert Place(server, []).get("/x")[0] == 500
    server.stop(LATE)
    thread.join(LATE)
    printed = capfd.readouterr().err
    assert "weft: http: GET /x:\nTraceback" in printed and "what went wrong" in printed
    assert printed.count("weft: http") == 1


def test_the_end_of_the_grace_cancels_handlers():
    begun = threading.Event()
    ended = []

    def app(q):
        begun.set()
        try:
            weft.sleep(LATE)
        finally:
            ended.append(q.path)

    with serving(app) as place:
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(place.raw, b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
            assert begun.wait(LATE)
            place.server.stop(0)
            assert answer.result(LATE) == b""
    assert ended == ["/slow"]


@pytest.mark.parametrize("piece", [False, True])
def test_the_end_of_the_grace_cancels_a_handler_that_computes(piece):
    computes = threading.Event()
    ends = []

    def compute():
        computes.set()
        try:
            while True:
                pass
        except weft.Cancelled:
            ends.append(1)
            raise

    def pieces():
        yield b"one"
        compute()

    with serving(lambda q: pieces() if piece else compute()) as place:
        host, _, port = place.server.address.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=LATE) as s:
            s.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert computes.wait(LATE)
            place.server.stop(0)
            with contextlib.suppress(ConnectionResetError):
                while s.recv(65536):
                    pass
    assert ends == [1]
    assert not place.failures


def test_a_handler_stops_its_own_server():
    with serving(lambda q: place.server.stop(LATE)) as place:
        assert place.get()[0] == 204


def test_a_server_on_a_fiber_and_its_stop():
    ready = threading.Event()
    server = weft.Server(lambda q: "x")

    def main():
        serving = weft.spawn(server.serve, "127.0.0.1:0", on_ready=lambda at: ready.set())
        weft.blocking(ready.wait, LATE)
        assert weft.blocking(Place(server, []).get) == (200, b"x")
        serving.cancel()
        with pytest.raises(weft.Cancelled):
            serving.result()

    weft.run(main, workers=2)


SIGNALS = """
import os, signal, sys, threading, time, weft
def app(q):
    if q.path == "/slow":
        print("begun", flush=True)
        weft.sleep(0.3)
    return "done"
weft.serve(app, "127.0.0.1:0", on_ready=lambda at: print(at, flush=True), grace=float(sys.argv[1]))
print("ended", signal.getsignal(signal.SIGTERM) == signal.SIG_DFL, flush=True)
"""


@pytest.mark.parametrize("number, grace, answered", [(signal.SIGTERM, "60", True), (signal.SIGINT, "60", True), (signal.SIGTERM, "0", False)])
def test_signals_end_the_server(number, grace, answered):
    with process("-c", SIGNALS, grace) as p:
        at = p.stdout.readline().strip()
        place = Place(type("At", (), {"address": at}), [])
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(place.raw, b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
            assert p.stdout.readline() == "begun\n"
            p.send_signal(number)
            assert (b"done" in answer.result(LATE)) == answered
        assert p.stdout.readline() == "ended True\n"
        assert p.wait(LATE) == 0


@pytest.mark.parametrize("what", ["weft.sleep(100)", "time.sleep(100)", "exec('while True: pass')", "weft.blocking(time.sleep, 100)"])
def test_the_end_of_the_program_while_a_handler_is_busy(what):
    program = f"""
import sys, threading, time, weft
begun = threading.Event()
def app(q):
    begun.set()
    {what}
ready = threading.Event()
server = weft.Server(app)
weft.spawn(server.serve, "127.0.0.1:0", on_ready=lambda at: ready.set())
ready.wait()
import socket
host, _, port = server.address.rpartition(":")
s = socket.create_connection((host, int(port)))
s.sendall(b"GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
begun.wait()
print("ends", flush=True)
"""
    with process("-c", program) as p:
        assert p.stdout.readline() == "ends\n"
        assert p.wait(LATE) == 0


# ---- WSGI


def wsgi(app, **options):
    return serving(app, interface="wsgi", **options)


@pytest.fixture(scope="module")
def environ():
    """The environ of one request."""
    seen = []

    def app(environ, start_response):
        seen.append(dict(environ))
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [b"x"]

    with wsgi(app) as place:
        place.raw(b"POST /a%20b%C3%A9/%2F?x=%20y HTTP/1.1\r\nHost: example.org:80\r\nConnection: close\r\nX-One: 1\r\nx-one: 2\r\n"
                  b"Cookie: a=b\r\ncookie: c=d\r\nX_Two: forged\r\nX-Long-" + b"y" * 100 + b": long\r\nX-Latin: \xe9\r\n"
                  b"Content-Type: text/x\r\nContent-Length: 4\r\n\r\nbody")
        seen[0]["ADDRESS"] = place.server.address
    return seen[0]


def test_the_environ_is_complete(environ):
    host, _, port = environ["ADDRESS"].rpartition(":")
    expected = {
        "REQUEST_METHOD": "POST", "SCRIPT_NAME": "", "PATH_INFO": "/a b\xc3\xa9//", "QUERY_STRING": "x=%20y", "CONTENT_TYPE": "text/x",
        "CONTENT_LENGTH": "4", "SERVER_NAME": host, "SERVER_PORT": port, "SERVER_PROTOCOL": "HTTP/1.1", "HTTP_HOST": "example.org:80",
        "HTTP_X_ONE": "1,2", "HTTP_COOKIE": "a=b; c=d", "HTTP_X_LATIN": "\xe9", "HTTP_X_LONG_" + "Y" * 100: "long", "REMOTE_ADDR": "127.0.0.1",
        "wsgi.version": (1, 0), "wsgi.url_scheme": "http", "wsgi.multithread": True, "wsgi.multiprocess": False, "wsgi.run_once": False,
        "wsgi.input_terminated": True, "RAW_URI": "/a%20b%C3%A9/%2F?x=%20y"}
    assert {k: environ.get(k) for k in expected} == expected
    assert environ["REMOTE_PORT"].isdigit()
    assert "HTTP_X_TWO" not in environ and "HTTP_CONTENT_LENGTH" not in environ
    assert environ["wsgi.errors"] is sys.stderr or hasattr(environ["wsgi.errors"], "write")
    assert all(type(k) is str for k in environ)


def test_wsgiref_validates():
    def app(environ, start_response):
        length = int(environ.get("CONTENT_LENGTH") or 0)
        body = environ["wsgi.input"].read(length)
        start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
        return iter([body[:1], body[1:]]) if environ["PATH_INFO"] == "/pieces" else [body]

    with wsgi(validator(app)) as place:
        assert place.ask("POST", "/?a=b", b"abc")[:2] == (200, b"abc")
        assert place.ask("POST", "/pieces", b"abc")[:2] == (200, b"abc")
        assert place.ask("GET", "/")[:2] == (200, b"")
        assert place.ask("HEAD", "/")[:2] == (200, b"")
    assert not place.failures


def test_input_is_a_file():
    def app(environ, start_response):
        body = environ["wsgi.input"]
        start_response("200 OK", [])
        how = environ["PATH_INFO"]
        if how == "/lines":
            parts = [*body]
        elif how == "/readline":
            parts = [body.readline(2), body.readline(), body.readline(-1), body.read(1), body.readline(None), body.read(), body.read(), body.readline()]
        elif how == "/readlines":
            parts = body.readlines(3) + [b"|"] + body.readlines()
        elif how == "/read":
            parts = [body.read(0), body.read(2), body.read(1000), body.read(5)]
        return [json.dumps([p.decode() for p in parts]).encode()]

    text = b"first\nsecond\nthird\nlast"
    with wsgi(app) as place:
        def ask(how):
            return json.loads(place.ask("POST", how, text)[1])
        assert ask("/lines") == ["first\n", "second\n", "third\n", "last"]
        assert ask("/readline") == ["fi", "rst\n", "second\n", "t", "hird\n", "last", "", ""]
        assert ask("/readlines") == ["first\n", "|", "second\n", "third\n", "last"]
        assert ask("/read") == ["", "fi", text[2:].decode(), ""]
    assert not place.failures


def test_answers_of_a_wsgi_program(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"0123456789" * 10_000)
    closed = []

    class Pieces:
        def __init__(self, *pieces):
            self.pieces = iter(pieces)

        def __iter__(self):
            return self.pieces

        def close(self):
            closed.append(1)

    def app(environ, start_response):
        what = environ["PATH_INFO"]
        if what == "/late":          # at the first piece
            def late():
                start_response("201 Created", [("X-A", "b")])
                yield b""
                yield b"late"
            return late()
        if what == "/write":
            write = start_response("200 OK", [])
            write(b"one ")
            write(b"two ")
            return [b"three"]
        if what == "/replaced":
            start_response("200 OK", [("X-A", "old")])
            try:
                raise ValueError
            except ValueError:
                start_response("500 Replaced", [("X-A", "new")], sys.exc_info())
            return [b"replaced"]
        if what == "/file":
            start_response("200 OK", [])
            f = open(file, "rb")
            f.seek(5)
            return environ["wsgi.file_wrapper"](f)
        if what == "/no-file":
            start_response("200 OK", [])
            return environ["wsgi.file_wrapper"](io.BytesIO(b"in memory"), 4)
        if what == "/empty":
            start_response("200 OK", [])
            return []
        if what == "/empty-iterator":
            start_response("200 OK", [])
            return iter(())
        if what == "/large":
            start_response("200 OK", [])
            return [b"x" * 500_000, b"y" * 500_000]
        if what == "/nothing":
            start_response("304 Not Modified", [("ETag", '"x"')])
            return Pieces()
        if what == "/sized":
            start_response("200 OK", [("Content-Length", "6")])
            return Pieces(b"abc", b"", b"def")
        start_response("200 OK", [])
        return Pieces(b"one ", b"two")

    with wsgi(app) as place:
        status, body, headers = place.ask("GET", "/late")
        assert (status, body, headers["X-A"]) == (201, b"late", "b")
        assert place.get("/write") == (200, b"one two three")
        status, body, headers = place.ask("GET", "/replaced")
        assert (status, body, headers["X-A"]) == (500, b"replaced", "new")
        status, body, headers = place.ask("GET", "/file")
        assert (status, body, headers["Content-Length"]) == (200, file.read_bytes()[5:], "99995")
        assert place.get("/no-file") == (200, b"in memory")
        assert place.get("/empty") == place.get("/empty-iterator") == (200, b"")
        assert place.get("/large") == (200, b"x" * 500_000 + b"y" * 500_000)
        assert place.ask("GET", "/nothing")[0] == 304
        status, body, headers = place.ask("GET", "/sized")
        assert (status, body, headers["Content-Length"]) == (200, b"abcdef", "6")
        assert place.ask("HEAD", "/sized")[2]["Content-Length"] == "6"
        assert place.get("/") == (200, b"one two")
        assert len(closed) == 4
    assert not place.failures


def test_a_timeout_lasts_from_piece_to_piece():
    children = []

    def app(environ, start_response):
        start_response("200 OK", [])
        if environ["PATH_INFO"] == "/scope":       # which ends at the first piece, and what is inside of it
            with weft.timeout(LATE), weft.scope() as s, weft.timeout(LATE):
                children.append(s.spawn(weft.sleep, LATE))
                yield b"one"
                children[0].join()
                yield b"two"
            return
        try:
            with weft.timeout(LATE), weft.timeout(0.05):
                yield b"one"
                weft.sleep(LATE)
        except TimeoutError:
            yield b"two"

    with wsgi(app) as place:
        for target in ("/", "/scope"):
            assert place.get(target) == (200, b"onetwo")
        with pytest.raises(weft.Cancelled):
            children[0].result()
    assert not place.failures


def test_headers_that_come_twice_are_joined():
    def app(environ, start_response):
        start_response("200 OK", [])
        return [repr([environ["HTTP_X"], environ["HTTP_Y"]]).encode()]

    with wsgi(app) as place:
        assert b"\r\n['1,1', ',']" in place.raw(b"GET / HTTP/1.1\r\nHost: x\r\nX: 1\r\nX: 1\r\nY:\r\nY:\r\nConnection: close\r\n\r\n")


def test_start_response_without_headers_is_refused():
    def app(environ, start_response):
        start_response("200 OK")

    with wsgi(app) as place:
        assert place.get()[0] == 500
        assert "takes a status and headers" in str(place.failures[0][2])


REPEATED = [f"{line}\r\n{fields}\r\n".encode() + body for line, fields, body in [
    ("GET / HTTP/1.1", "Host: a\r\nX-Secret: one\r\n", b""),
    ("GET / HTTP/1.1", "Host: a\r\nX-Secret: two\r\n", b""),
    ("GET /%41?b=c HTTP/1.1", "Host: a\r\nX-Secret: one\r\n", b""),
    ("HEAD / HTTP/1.1", "Host: a\r\nX-Secret: one\r\n", b""),
    ("GET http://other/ HTTP/1.1", "Host: a\r\nX-Secret: one\r\n", b""),
    ("GET http://another/ HTTP/1.1", "Host: a\r\nX-Secret: one\r\n", b""),
    ("GET / HTTP/1.0", "Host: a\r\nConnection: keep-alive\r\n", b""),
    ("GET / HTTP/1.0", "Connection: keep-alive\r\n", b""),
    ("GET / HTTP/1.1", "Host: a\r\nConnection: keep-alive\r\n", b""),
    ("GET / HTTP/1.1", "Host: a\r\nX-Secret: one\r\nX-Long: " + "x" * 5000 + "\r\n", b""),
    ("POST / HTTP/1.1", "Host: a\r\nContent-Length: 3\r\n", b"abc"),
    ("POST / HTTP/1.1", "Host: a\r\nContent-Length: 3\r\n", b"def"),
    ("PUT /x HTTP/1.1", "Host: a\r\nTransfer-Encoding: chunked\r\n", b"3\r\nabc\r\n0\r\n\r\n"),
]]


def test_requests_that_repeat_a_head_share_no_environ():
    seen = []

    def app(environ, start_response):
        seen.append(dict(environ) | {"wsgi.input": environ["wsgi.input"].read()})
        environ.clear()
        environ["HTTP_X_SECRET"] = "of the program"
        start_response("200 OK", [("Content-Length", "0")])
        return []

    def ask(connection, data):
        connection.sendall(data)
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):
            answer += connection.recv(4096)
        assert answer.startswith(b"HTTP/1.1 200")
        return seen.pop()

    order = random.Random(1)
    with wsgi(app) as place:
        def connect():
            host, _, port = place.server.address.rpartition(":")
            return socket.create_connection((host, int(port)), timeout=LATE)

        expected = {}
        for data in REPEATED:      # the first of its connection is like no other
            with connect() as connection:
                expected[data] = ask(connection, data)
        with connect() as one, connect() as other:
            for _ in range(200):
                data, connection = order.choice(REPEATED), order.choice((one, other))
                for _ in range(order.choice((1, 1, 3))):
                    assert ask(connection, data) == expected[data] | {"REMOTE_PORT": str(connection.getsockname()[1])}
    with wsgi(app) as place, connect() as connection:      # the port of the client is another, but may be in its place
        port = place.server.address.rpartition(":")[2]
        for _ in range(3):
            assert ask(connection, REPEATED[0])["SERVER_PORT"] == port
        assert [d for d in gc.get_objects() if type(d) is dict and d.get("HTTP_X_SECRET") == "one"]
    seen.clear()
    expected.clear()
    assert not [d for d in gc.get_objects() if type(d) is dict and d.get("HTTP_X_SECRET") == "one"]


def test_answers_of_a_wsgi_program_that_changes_its_mind(tmp_path):
    with gzip.open(tmp_path / "file.gz", "wb") as f:
        f.write(b"not compressed")

    class CloseFails(list):
        def close(self):
            raise ValueError("close")

    def app(environ, start_response):
        what = environ["PATH_INFO"]
        write = start_response("200 OK", [])
        if what == "/gzip":            # its descriptor has other bytes than it reads
            return environ["wsgi.file_wrapper"](gzip.open(tmp_path / "file.gz"))
        if what == "/replaced":
            write(b"what is not sent")
            try:
                raise ValueError
            except ValueError:
                start_response("500 Replaced", [("Content-Length", "5")], sys.exc_info())
            return [b"error"]
        if what == "/close":
            return CloseFails([b"whole"])
        if what == "/write":
            return (write(b"late") or b"two" if i else b"one" for i in range(2))
        return iter([b"one", "two"])

    with wsgi(app) as place:
        assert place.get("/gzip") == (200, b"not compressed")
        assert place.get("/replaced") == (500, b"error")
        assert not place.failures
        assert place.get("/close") == (200, b"whole")
        for target in (b"/write", b"/str"):
            assert b"two" not in place.raw(b"GET " + target + b" HTTP/1.1\r\nHost: x\r\n\r\n")
    assert [str(e) for _, _, e in place.failures] == [
        "close", "write: the first piece of the answer has gone already", "weft: a piece of an answer is bytes, not str"]


def test_wsgi_programs_that_are_wrong():
    closed = []

    class Closes:
        def __iter__(self):
            raise ValueError("iter")

        def close(self):
            closed.append(1)

    def app(environ, start_response):
        what = environ["PATH_INFO"][1:]
        if what == "never":
            return [b"x"]
        if what == "never-iterator":
            return iter([b"x"])
        if what == "twice":
            start_response("200 OK", [])
            start_response("200 OK", [])
        if what == "status":
            start_response(200, [])
        if what == "words":
            start_response("OK", [])
        if what == "early":
            start_response("100 Continue", [])
        if what == "headers":
            start_response("200 OK", (("a", "b"),))
        if what == "euro":
            start_response("200 OK", [("X", "\N{EURO SIGN}")])
            return [b"x"]
        if what == "forged":
            start_response("200 OK", [("X", "a\r\nY: b")])
            return [b"x"]
        if what == "length":
            start_response("200 OK", [("Content-Length", "many")])
            return iter([b"x"])
        if what == "str":
            start_response("200 OK", [])
            return ["text"]
        if what == "str-iterator":
            start_response("200 OK", [])
            return iter(["text"])
        if what == "none":
            start_response("200 OK", [])
            return None
        if what == "write":
            start_response("200 OK", [])("text")
        if what == "closes":
            start_response("200 OK", [])
            return Closes()
        raise AssertionError(what)

    kinds = ["never", "never-iterator", "twice", "status", "words", "early", "headers", "euro", "forged", "length", "str", "str-iterator", "none",
             "write", "closes"]
    with wsgi(app) as place:
        for what in kinds:
            assert place.get("/" + what) == (500, b"500 Internal Server Error\n"), what
    assert [target for _, target, _ in place.failures] == ["/" + what for what in kinds]
    assert not any(isinstance(e, AssertionError) and str(e) in kinds for _, _, e in place.failures)
    assert closed == [1]


def test_an_answer_with_less_or_more_than_it_announces_is_cut():
    def app(environ, start_response):
        start_response("200 OK", [("Content-Length", "6")])
        return iter([b"abc"] if environ["PATH_INFO"] == "/less" else [b"abc", b"def", b"ghi"])

    with wsgi(app) as place:
        for target in (b"/less", b"/more"):
            assert b"ghi" not in place.raw(b"GET " + target + b" HTTP/1.1\r\nHost: x\r\n\r\n")


def test_a_failure_after_the_headers_are_sent():
    def app(environ, start_response):
        start_response("200 OK", [])

        def pieces():
            yield b"one"
            try:
                raise ValueError("too late")
            except ValueError:
                start_response("500 No", [], sys.exc_info())
            yield b"two"
        return pieces()

    with wsgi(app) as place:
        assert b"two" not in place.raw(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    assert [str(e) for _, _, e in place.failures] == ["too late"]


def test_seed_L17_flask():
    flask = pytest.importorskip("flask")
    app = flask.Flask("test")

    @app.route("/hello/<name>", methods=["GET", "POST"])
    def hello(name):
        flask.g.name = name
        weft.sleep(0.001)
        return {"name": flask.g.name, "args": flask.request.args, "body": flask.request.get_data(as_text=True)}

    @app.route("/stream")
    def stream():
        @flask.stream_with_context
        def pieces():
            for _ in range(3):
                yield flask.request.path
                weft.sleep(0.001)
        return flask.Response(pieces())

    @app.route("/upload", methods=["POST"])
    def upload():
        return str(len(flask.request.files["file"].read()))

    with wsgi(app, max_body_bytes=10_000_000) as place:
        def ask(i):
            return json.loads(place.ask("POST", f"/hello/{i}?x={i}", f"body {i}".encode(), {"Content-Type": "text/plain"})[1])
        with ThreadPoolExecutor(8) as pool:
            assert [*pool.map(ask, range(100))] == [{"name": str(i), "args": {"x": str(i)}, "body": f"body {i}"} for i in range(100)]
        assert place.get("/stream") == (200, b"/stream" * 3)
        assert place.get("/none")[0] == 404
        body = b"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\n" + b"x" * 2_000_000 + b"\r\n--b--\r\n"
        assert place.ask("POST", "/upload", body, {"Content-Type": "multipart/form-data; boundary=b"})[1] == b"2000000"
    assert not place.failures


DJANGO = """
import sys, threading, weft
from django.conf import settings
settings.configure(DEBUG=False, SECRET_KEY="x", ROOT_URLCONF="__main__", ALLOWED_HOSTS=["*"], USE_TZ=True,
                   MIDDLEWARE=["django.middleware.common.CommonMiddleware", "django.middleware.csrf.CsrfViewMiddleware"])
import django
from django.http import HttpResponse, JsonResponse, StreamingHttpResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
@csrf_exempt
def hello(request, name):
    weft.sleep(0.001)
    return JsonResponse({"name": name, "method": request.method, "body": request.body.decode(), "x": request.GET.get("x")})
def stream(request):
    return StreamingHttpResponse(f"{i}," for i in range(5))
urlpatterns = [path("hello/<str:name>", hello), path("stream", stream)]
django.setup()
from django.core.wsgi import get_wsgi_application
weft.serve(get_wsgi_application(), "127.0.0.1:0", interface="wsgi", on_ready=lambda at: print(at, flush=True))
"""


def test_seed_L17_django():
    pytest.importorskip("django")
    with process("-c", DJANGO) as p:
        place = Place(type("At", (), {"address": p.stdout.readline().strip()}), [])

        def ask(i):
            return json.loads(place.ask("POST", f"/hello/{i}?x={i}", f"body {i}".encode())[1])
        with ThreadPoolExecutor(8) as pool:
            assert [*pool.map(ask, range(50))] == [{"name": str(i), "method": "POST", "body": f"body {i}", "x": str(i)} for i in range(50)]
        assert place.get("/stream") == (200, b"0,1,2,3,4,")
        assert place.get("/none")[0] == 404
        p.send_signal(signal.SIGTERM)
        assert p.wait(LATE) == 0


@pytest.mark.parametrize("interface", ["plain", "wsgi"])
def test_seed_L17_each_client_gets_its_own_answers(interface):
    """16 clients on kept connections, workers on all CPUs, and handlers that wait, compute and block: no answer goes astray or is lost."""
    def work(path):
        if path.endswith("3"):
            weft.sleep(0.001)
        elif path.endswith("5"):
            time.sleep(0.001)
        elif path.endswith("7"):
            sum(range(20_000))
        return path.encode() * 3

    def function(q):
        return work(q.path)

    def program(environ, start_response):
        start_response("200 OK", [("X-Path", environ["PATH_INFO"])])
        return [work(environ["PATH_INFO"])]

    def client(number):
        host, _, port = place.server.address.rpartition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=LATE)
        for i in range(100):
            path = f"/{number}-{i}"
            connection.request("GET", path)
            assert connection.getresponse().read() == path.encode() * 3
        connection.close()
        return number

    with serving(function if interface == "plain" else program, interface=interface, workers=4) as place:
        with ThreadPoolExecutor(16) as pool:
            assert [*pool.map(client, range(16))] == [*range(16)]
    assert not place.failures


def test_seed_L17_a_stop_under_load_loses_no_answer():
    begun, answered = [], []
    over = threading.Event()

    def app(q):
        begun.append(q.path)
        weft.sleep(0.002)
        return q.path

    def client(number):
        i = 0
        while not over.is_set():
            path = f"/{number}-{i}"
            try:
                assert place.get(path) == (200, path.encode())
                answered.append(path)
            except OSError:
                pass      # it came too late to be accepted
            i += 1

    with serving(app) as place:
        with ThreadPoolExecutor(8) as pool:
            clients = [pool.submit(client, n) for n in range(8)]
            while len(begun) < 200:
                time.sleep(0.01)
            place.server.stop(LATE)
            time.sleep(0.05)
            over.set()
            for c in clients:
                c.result(LATE)
    assert len(begun) >= 200 and sorted(begun) == sorted(answered)


def test_what_a_request_takes_is_given_back():
    with wsgi(lambda environ, start_response: start_response("200 OK", []) and [b"x"], workers=1) as place:
        host, _, port = place.server.address.rpartition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=LATE)

        def ask(n):
            for _ in range(n):
                connection.request("GET", "/")
                connection.getresponse().read()

        ask(100)
        before = len(os.listdir("/proc/self/fd")), _fibers._counts()["thread_states"]
        blocks = []
        for _ in range(3):
            ask(1000)
            blocks.append(sys.getallocatedblocks())
        after = len(os.listdir("/proc/self/fd")), _fibers._counts()["thread_states"]
        connection.close()
        assert after[0] <= before[0] and after[1] <= before[1]
        assert min(b - a for a, b in zip(blocks, blocks[1:])) < 500, blocks      # a block for each request would be 1,000


# ---- processes, and the command


def command(folder, *words):
    return process("-m", "weft.serve", *words, cwd=folder, stderr=subprocess.PIPE)


def wait_for_line(stream, pattern):
    """The match in the first line that has it."""
    seen = []
    for line in stream:
        seen.append(line)
        if found := re.search(pattern, line):
            return found
    pytest.fail(f"no line has {pattern}: {seen}")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "shop.py").write_text(
        'import os\n'
        'def app(environ, start_response):\n'
        '    start_response("200 OK", [])\n'
        '    return [f"{os.getpid()} {environ[\'wsgi.multiprocess\']}".encode()]\n'
        'def make():\n'
        '    return lambda q: "made"\n'
        'class inner:\n'
        '    app = lambda q: "inner"\n')
    (tmp_path / "broken.py").write_text("import no_such_module\n")
    (tmp_path / "static").mkdir()
    (tmp_path / "static" / "a.txt").write_text("a file")
    return tmp_path


def test_seed_L17_processes_share_a_port_and_are_replaced(folder):
    with command(folder, "shop", "--listen", "127.0.0.1:0", "--processes", "2") as p:
        place = Place(type("At", (), {"address": wait_for_line(p.stderr, "http://(.*)$")[1]}), [])

        def processes():
            answers = {place.get()[1] for _ in range(20)}
            assert all(a.endswith(b" True") for a in answers)
            return {int(a.split()[0]) for a in answers}
        first = processes()
        assert p.pid not in first
        wait_for_line(p.stderr, "generation 1 is ready, 2 processes")
        p.send_signal(signal.SIGHUP)
        wait_for_line(p.stderr, "generation 1 has ended")
        second = processes()
        assert second and not first & second
        p.send_signal(signal.SIGTERM)
        wait_for_line(p.stderr, "generation 2 has ended")
        assert p.wait(LATE) == 0


def test_processes_share_a_unix_socket(folder):
    path = folder / "s"
    with command(folder, "shop", "--listen", f"unix:{path}", "--processes", "2") as p:
        place = Place(type("At", (), {"address": wait_for_line(p.stderr, "at (unix:.*)$")[1]}), [])
        assert place.get()[0] == 200
        p.send_signal(signal.SIGHUP)
        wait_for_line(p.stderr, "generation 1 has ended")
        assert place.get()[0] == 200
        p.send_signal(signal.SIGTERM)
        assert p.wait(LATE) == 0
    assert not path.exists()


def test_processes_of_asgi(folder):
    (folder / "life.py").write_text(
        "import os\n"
        "async def app(scope, receive, send):\n"
        "    if scope['type'] == 'lifespan':\n"
        "        while True:\n"
        "            what = (await receive())['type']\n"
        "            scope['state']['pid'] = os.getpid()\n"
        "            print(what, os.getpid(), flush=True)\n"
        "            await send({'type': what + '.complete'})\n"
        "            if what.endswith('shutdown'):\n"
        "                return\n"
        "    await send({'type': 'http.response.start', 'status': 200, 'headers': []})\n"
        "    await send({'type': 'http.response.body', 'body': str(scope['state']['pid']).encode()})\n")
    with command(folder, "life", "--interface", "asgi", "--listen", "127.0.0.1:0", "--processes", "2", "--workers", "1") as p:
        place = Place(type("At", (), {"address": wait_for_line(p.stderr, "http://(.*)$")[1]}), [])
        started = {wait_for_line(p.stdout, r"lifespan.startup (\d+)")[1].encode() for _ in range(2)}
        assert {place.get()[1] for _ in range(20)} <= started
        p.send_signal(signal.SIGTERM)
        ended = {wait_for_line(p.stdout, r"lifespan.shutdown (\d+)")[1].encode() for _ in range(2)}
        assert started == ended
        assert p.wait(LATE) == 0


def test_processes_are_refused_beside_fibers():
    server = weft.Server(lambda q: "x")
    with pytest.raises(RuntimeError, match="main thread"):
        weft.run(lambda: server.serve("127.0.0.1:0", processes=2))
    for n in (0, -1):
        with pytest.raises(ValueError, match="processes"):
            server.serve(processes=n)
        with pytest.raises(ValueError, match="workers"):
            server.serve(workers=n)


@forks
def test_what_processes_give_back():
    program = (
        "import os, signal, threading, weft\n"
        "def app(q):\n"
        "    pid = os.fork()\n"
        "    if pid == 0: return 'the child\\'s'\n"
        "    return f'{os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])} {[v for v in os.environ if v.startswith(\"WEFT_PREFORK\")]}'\n"
        "weft.serve(app, '127.0.0.1:0', processes=1 + 1, on_ready=lambda at: print('at', at, flush=True))\n"
        "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler\n"
        "assert weft.run(lambda: 3) == 3\n"
        "print('returned')\n")
    with process("-c", program) as p:
        place = Place(type("At", (), {"address": wait_for_line(p.stdout, "at (.*)$")[1]}), [])
        assert place.get() == (200, b"0 []")
        p.send_signal(signal.SIGTERM)
        assert p.communicate(timeout=LATE)[0] == "returned\n"
        assert p.returncode == 0


def test_an_exception_that_ends_the_wait_ends_the_server():
    program = (
        "import signal, weft\n"
        "def late(number, frame): raise ZeroDivisionError\n"
        "signal.signal(signal.SIGALRM, late)\n"
        "weft.spawn(int).result()\n"
        "server = weft.Server(lambda q: 'x')\n"
        "try:\n"
        "    server.serve('127.0.0.1:0', on_ready=lambda at: signal.raise_signal(signal.SIGALRM))\n"
        "except ZeroDivisionError:\n"
        "    print('raised')\n"
        "import socket\n"
        "host, _, port = server.address.rpartition(':')\n"
        "try:\n"
        "    socket.create_connection((host, int(port)))\n"
        "except ConnectionRefusedError:\n"
        "    print('refused')\n")
    with process("-c", program) as p:
        assert p.communicate(timeout=LATE)[0] == "raised\nrefused\n"


def test_the_command_in_another_folder(folder):
    (folder / "shop").mkdir()          # as the module is called
    os.rename(folder / "shop.py", folder / "shop" / "shop.py")
    for more in (["--processes", "2"], ["--reload"]):
        with command(folder, "shop", "--chdir", "shop", "--listen", "127.0.0.1:0", *more) as p:
            place = Place(type("At", (), {"address": wait_for_line(p.stderr, "http://(.*)$")[1]}), [])
            assert place.get()[0] == 200
            p.send_signal(signal.SIGTERM)
            assert p.wait(LATE) == 0


def test_the_command(folder):
    with command(folder, "shop:inner.app", "--interface", "plain", "--listen", "127.0.0.1:0", "--static", "/s=static", "--access-log", "-",
                 "--access-log-format", "common", "--max-body-bytes", "3", "--request-timeout", "none") as p:
        place = Place(type("At", (), {"address": wait_for_line(p.stderr, "serving shop:inner.app at http://(.*)$")[1]}), [])
        assert place.get() == (200, b"inner")
        assert place.get("/s/a.txt") == (200, b"a file")
        assert place.ask("POST", "/", b"four")[0] == 413
        assert '"GET / HTTP/1.1" 200 5' in p.stdout.readline()
        p.send_signal(signal.SIGTERM)
        assert p.wait(LATE) == 0
    with command(folder, "shop:make", "--factory", "--interface", "plain", "--listen", "127.0.0.1:0") as p:
        place = Place(type("At", (), {"address": wait_for_line(p.stderr, "http://(.*)$")[1]}), [])
        assert place.get() == (200, b"made")
        p.send_signal(signal.SIGINT)
        assert p.wait(LATE) == 0


@pytest.mark.parametrize("words, said", [
    (["none"], "there is no module 'none'"), (["shop:none"], "shop has no none"), ([":app"], "MODULE:APP"), (["shop:"], "MODULE:APP"),
    (["broken"], "No module named 'no_such_module'"), (["shop", "--listen", "x"], "the port is missing"), (["shop", "--static", "x"], "PREFIX=FOLDER"),
    (["shop", "--max-body-bytes", "0"], "max_body_bytes is less than 1"), (["shop", "--workers", "0"], "workers is less than 1"),
    (["shop", "--processes", "0"], "processes is less than 1"), (["shop", "--interface", "cgi"], "invalid choice"), ([], "required"),
    (["shop", "--facto"], "unrecognized"),
])
def test_the_command_refuses(folder, words, said):
    with command(folder, *words) as p:
        assert said in p.communicate(timeout=LATE)[1]
        assert p.returncode not in (0, None)


def test_the_command_reloads(folder):
    with command(folder, "shop", "--listen", "127.0.0.1:0", "--reload", "--chdir", str(folder)) as p:
        first = Place(type("At", (), {"address": wait_for_line(p.stderr, "http://(.*)$")[1]}), []).get()[1]
        (folder / "other.py").write_text("")
        second = Place(type("At", (), {"address": wait_for_line(p.stderr, "http://(.*)$")[1]}), []).get()[1]
        assert first != second      # they name their processes
        p.send_signal(signal.SIGTERM)
        assert p.wait(LATE) == 0
