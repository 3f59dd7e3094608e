"""weft.serve(interpreters=N): requests run in interpreters that have a GIL each, and what an interpreter is refused, given and takes back."""
import http.client
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import weft
from conftest import compile_module
from test_serve import LATE, Place, command, process, wait_for_line

pytestmark = pytest.mark.skipif("weft._no_http" in sys.modules, reason="weft was built without HTTP")
needs = pytest.mark.skipif(sys.version_info < (3, 13), reason=f"interpreters need CPython 3.13, and this is {sys.version.split()[0]}")

SHOP = """
import os, subprocess, sys, threading, time, weft

me = str(id(sys.modules))          # another one in each interpreter
local = threading.local()

def who(q):
    return me

def pair(q):
    open("begun-" + q.query["n"], "x").close()
    while not os.path.exists("go"):
        weft.sleep(0.001)
    return f"{me} {os.getpid()}"

def pieces(q):
    local.mine = q.query["n"]
    def rest():
        for n in range(3):
            weft.sleep(0.001)
            yield f"{me} {local.mine} {n}\\n"
    return rest()

def endless(q):
    while True:
        yield b"x" * 100000

def body(q):
    return q.body

def fails(q):
    raise KeyError("of the shop")

def spins(q):
    open("spins", "x").close()
    while True:
        pass

def waits(q):
    open("waits", "x").close()
    weft.sleep(1000)

def leaves(q):
    weft.spawn(weft.sleep, 1000)
    weft.spawn(exec, "while True: pass")
    return "left"

async def coroutine():
    return "awaited"

def all_of_weft(q):
    with weft.scope() as s:
        fibers = [s.spawn(lambda n=n: (weft.sleep(0.001), n)[1]) for n in range(4)]
    channel = weft.Channel(1)
    channel.send(sum(f.result() for f in fibers))
    try:
        with weft.timeout(0.001):
            weft.sleep(100)
    except TimeoutError:
        child = subprocess.run(["echo", "child"], capture_output=True, text=True)
        return f"{channel.receive()} {weft.blocking(len, 'four')} {weft.run_coroutine(coroutine())} {child.stdout}"

def program(environ, start_response):
    start_response("200 OK", [])
    return [f"{environ['wsgi.multiprocess']} {environ['PATH_INFO']} {environ['SERVER_PORT']}".encode()]

def make():
    open("made-" + me, "x").close()
    return lambda q: "made"

async def asgi(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            what = (await receive())["type"]
            scope["state"]["me"] = me
            os.write(1, f"{what} {me}\\n".encode())     # whole, which print() beside the other's is not
            await send({"type": what + ".complete"})
            if what.endswith("shutdown"):
                return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": scope["state"]["me"].encode()})

async def no_database(scope, receive, send):
    await receive()
    await send({"type": "lifespan.startup.failed", "message": "no database"})
"""
ROUTES = ("who", "pair", "pieces", "endless", "body", "fails", "spins", "waits", "leaves", "all_of_weft")
SERVER = f"""
import sys, weft
def serve(n):
    server = weft.Server("shop:program", interface="wsgi", interpreters=n)
    for name in {ROUTES}:
        server.route(None, "/" + name, "shop:" + name)
    server.constant("/constant", "constant")
    server.serve("127.0.0.1:0", workers=2, grace=1000 if len(sys.argv) < 2 else 0, on_ready=lambda at: print("at", at, flush=True))
    counts = weft._fibers._counts()
    assert counts["thread_states"] == 0 and counts["runners_now"] == 0, counts
    print("served", flush=True)
serve(2)
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "shop.py").write_text(SHOP)
    return tmp_path


class Shop(Place):
    def __init__(self, p):
        super().__init__(type("At", (), {"address": wait_for_line(p.stdout, "at (.*)$")[1]}), [])
        self.p = p

    def text(self, target):
        status, data = self.get(target)
        assert status == 200
        return data.decode()

    def end(self, number=signal.SIGTERM):
        self.p.send_signal(number)
        said = self.p.communicate(timeout=LATE)
        assert self.p.returncode == 0 and said[0].endswith("served\n"), said
        return said[1]


def shop(folder, *words):
    return process("-c", SERVER, *words, cwd=folder, stderr=subprocess.PIPE)


def wait_for_files(folder, *names):
    until = time.monotonic() + LATE
    while not all((folder / name).exists() for name in names):
        assert time.monotonic() < until, names
        time.sleep(0.001)


# ---- everywhere


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="this Python has interpreters")
def test_older_pythons_are_told_which_one_is_needed(folder):
    with pytest.raises(ValueError, match=re.escape(f"needs CPython 3.13 or later, and this is {sys.version.split()[0]}")):
        weft.Server("shop:who", interpreters=2)
    with command(folder, "shop:who", "--interpreters", "2") as p:
        assert "weft.serve: weft: interpreters=N needs CPython 3.13" in p.communicate(timeout=LATE)[1]
        assert p.returncode == 1


@pytest.mark.parametrize("make, error, words", [
    (lambda: weft.Server("shop:who", interpreters=0), ValueError, "less than 1"),
    (lambda: weft.Server("shop:who", interpreters=True), TypeError, "an int"),
    (lambda: weft.Server("shop:who", interpreters=1, on_error=print), ValueError, "on_error"),
    (lambda: weft.Server("shop:asgi", interface="asgi", interpreters=1, loop=print), TypeError, "the loop is named"),
    (lambda: weft.Server(print, factory=True), ValueError, "factory"),
    (lambda: weft.Server("shop:who"), TypeError, "not callable"),
])
def test_bad_arguments_are_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()


@needs
def test_what_cannot_go_to_an_interpreter_is_refused():
    with pytest.raises(TypeError, match="no object can be given to another interpreter"):
        weft.Server(print, interpreters=2)
    server = weft.Server("shop:who", interpreters=2)
    with pytest.raises(TypeError, match="no object can be given"):
        server.route(None, "/", print)
    with pytest.raises(ValueError, match="leave out interpreters, or processes"):
        server.serve(processes=2)


# ---- requests


@needs
def test_requests_at_the_same_time_have_an_interpreter_each(folder):
    with shop(folder) as p, ThreadPoolExecutor(4) as clients:
        place = Shop(p)
        answers = [clients.submit(place.text, f"/pair?n={n}") for n in range(4)]
        wait_for_files(folder, *(f"begun-{n}" for n in range(4)))
        (folder / "go").touch()
        answers = [a.result(LATE).split() for a in answers]
        assert sorted([a[0] for a in answers].count(i) for i in {a[0] for a in answers}) == [2, 2]
        assert {int(a[1]) for a in answers} == {p.pid}
        assert place.text("/constant") == "constant"
        port = place.server.address.rpartition(":")[2]
        assert place.text("/any/path") == f"True /any/path {port}"
        place.end()


@needs
def test_a_streamed_answer_stays_in_its_interpreter(folder):
    with shop(folder) as p, ThreadPoolExecutor(8) as clients:
        place = Shop(p)
        for n, text in enumerate(clients.map(lambda n: place.text(f"/pieces?n={n}"), range(40))):
            lines = [line.split() for line in text.splitlines()]
            assert [line[1:] for line in lines] == [[str(n), str(i)] for i in range(3)]
            assert len({line[0] for line in lines}) == 1
        place.end()


@needs
def test_a_request_that_has_ended_counts_no_more(folder):
    """INTERPRETERS-2: one at a time all go to the first interpreter, unless that were taken for busy."""
    with shop(folder) as p:
        place = Shop(p)
        first = place.text("/who")
        for n in range(5):
            assert place.get(f"/pieces?n={n}")[0] == 200
            assert place.get("/fails")[0] == 500
            assert place.ask("POST", "/body", b"b" * 2_000_000)[0] == 413
            assert place.ask("POST", "/body", b"b" * 500_000)[1] == b"b" * 500_000
            host, _, port = place.server.address.rpartition(":")
            gone = http.client.HTTPConnection(host, int(port), timeout=LATE)
            gone.request("GET", "/endless")
            assert gone.getresponse().read(200_000) == b"x" * 200_000
            gone.close()
        until = time.monotonic() + LATE     # an answer may be read before its handler's interpreter has it back
        while [place.text("/who") for _ in range(5)] != [first] * 5:
            assert time.monotonic() < until
        assert place.end().count("KeyError: 'of the shop'") == 5


@needs
def test_fibers_timeouts_and_children_in_an_interpreter(folder):
    with shop(folder) as p, ThreadPoolExecutor(8) as clients:
        place = Shop(p)
        assert set(clients.map(lambda n: place.text("/all_of_weft"), range(20))) == {"6 4 awaited child\n"}
        assert place.end() == ""


# ---- the end


@needs
@pytest.mark.parametrize("what", ["spins", "waits"])
def test_the_end_of_the_grace_cancels_handlers_in_interpreters(folder, what):
    with shop(folder, "at once") as p, ThreadPoolExecutor(1) as clients:
        place = Shop(p)
        answer = clients.submit(place.raw, f"GET /{what} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        wait_for_files(folder, what)
        place.end()
        assert b"200" not in answer.result(LATE)


@needs
def test_fibers_that_handlers_have_left_are_stopped(folder):
    with shop(folder) as p:
        place = Shop(p)
        assert place.text("/leaves") == "left"
        place.end(signal.SIGINT)


@needs
def test_a_program_serves_again_and_again(folder):
    program = ("import sys, weft\n"
               "sys.path.insert(0, '.')\n"
               "for n in (1, 2, 3):\n"
               "    server = weft.Server('shop:who', interpreters=n)\n"
               "    server.serve('127.0.0.1:0', on_ready=lambda at: server.stop())\n"
               "print(weft.run(lambda: 'runs'))\n")
    with process("-c", program, cwd=folder, stderr=subprocess.PIPE) as p:
        assert p.communicate(timeout=LATE) == ("runs\n", "")


@needs
@pytest.mark.parametrize("request_, said, code", [
    ("", "", 0), ("weft.sleep(1000)", "", 0), ("exec('while True: pass')", "", 0),
    ("time.sleep(1000)", "an interpreter runs code that does not end", 1),
])
def test_the_end_of_the_program_while_interpreters_serve(tmp_path, request_, said, code):
    (tmp_path / "busy.py").write_text(f"import time, weft\ndef app(q):\n    open('begun', 'x').close()\n    {request_}\n")
    program = (
        "import os, socket, sys, threading, time, weft\n"
        "at, ready = [], threading.Event()\n"
        "weft.spawn(weft.serve, 'busy:app', '127.0.0.1:0', interpreters=2, on_ready=lambda where: (at.append(where), ready.set()))\n"
        "ready.wait()\n"
        "host, _, port = at[0].rpartition(':')\n"
        "s = socket.create_connection((host, int(port)))\n"
        "s.sendall(b'GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n')\n"
        "while not os.path.exists('begun'): time.sleep(0.001)\n"
        + ("" if request_ else "s.recv(1)\n")   # else its answer may be cut short, which is told
        + "print('ends')\n")
    with process("-c", program, cwd=tmp_path, stderr=subprocess.PIPE) as p:
        out, errors = p.communicate(timeout=LATE)
        assert out == "ends\n" and said in errors and (said or not errors), errors
        assert p.returncode == code


# ---- applications that cannot be


def failure_of(folder, name, **options):
    """What serve() raises, and that it did not listen before."""
    program = (f"import sys, weft\n"
               f"sys.path.insert(0, '.')\n"
               f"try:\n"
               f"    weft.serve({name!r}, '127.0.0.1:0', interpreters=2, on_ready=lambda at: print('listens'), **{options!r})\n"
               f"except Exception as e:\n"
               f"    print(type(e).__name__, e)\n"
               f"print(weft.run(lambda: 'goes on'))\n")
    with process("-c", program, cwd=folder, stderr=subprocess.PIPE) as p:
        out, errors = p.communicate(timeout=LATE)
        assert errors == "" and "listens" not in out and out.endswith("\ngoes on\n")
        return out


@needs
def test_a_module_that_refuses_interpreters_is_named(folder):
    (folder / "refuses.pyx").write_text("def app(q): return 'x'\n")
    compile_module(folder / "refuses.pyx", folder)
    (folder / "uses.py").write_text("from refuses import app\n")
    said = failure_of(folder, "uses:app")
    assert said.startswith("ImportError weft: an interpreter of its own cannot import the application: ")
    first = said.splitlines()[0]
    assert "refuses" in first.partition("application: ")[2].partition(";")[0] and "processes=N" in first
    assert "from refuses import app" in said


@needs
@pytest.mark.parametrize("name, options, said", [
    ("none:app", {}, "ValueError there is no module 'none'"), ("shop:none", {}, "ValueError shop has no none"),
    ("shop:me", {}, "shop:me is not callable"), ("shop:who", {"factory": True}, "missing 1 required positional argument"),
    ("shop:no_database", {"interface": "asgi"}, "no database"),
])
def test_an_application_that_fails_is_told_before_the_server_listens(folder, name, options, said):
    assert said in failure_of(folder, name, **options)


# ---- the command, and ASGI


@needs
def test_the_command_with_interpreters(folder):
    with command(folder, "shop:make", "--factory", "--interface", "plain", "--interpreters", "3", "--listen", "127.0.0.1:0") as p:
        place = Place(type("At", (), {"address": wait_for_line(p.stderr, "serving shop:make at http://(.*)$")[1]}), [])
        assert place.get() == (200, b"made")
        assert len(list(folder.glob("made-*"))) == 3
        p.send_signal(signal.SIGTERM)
        assert p.wait(LATE) == 0
    with command(folder, "shop:who", "--interpreters", "0") as p:
        assert "interpreters is less than 1" in p.communicate(timeout=LATE)[1]


@needs
def test_each_interpreter_has_a_loop_and_a_lifespan(folder):
    with command(folder, "shop:asgi", "--interface", "asgi", "--loop", "asyncio:new_event_loop", "--interpreters", "2", "--listen",
                 "127.0.0.1:0") as p:
        place = Place(type("At", (), {"address": wait_for_line(p.stderr, "http://(.*)$")[1]}), [])
        started = {wait_for_line(p.stdout, r"lifespan.startup (\d+)")[1] for _ in range(2)}
        with ThreadPoolExecutor(8) as clients:
            assert {body.decode() for status, body in clients.map(lambda n: place.get(), range(40)) if status == 200} <= started
        p.send_signal(signal.SIGTERM)
        assert {wait_for_line(p.stdout, r"lifespan.shutdown (\d+)")[1] for _ in range(2)} == started
        assert p.wait(LATE) == 0


@needs
def test_flask_in_interpreters(tmp_path):
    pytest.importorskip("flask")
    (tmp_path / "shop.py").write_text(
        "import sys\n"
        "from flask import Flask, request\n"
        "app = Flask(__name__)\n"
        "@app.route('/users/<name>', methods=['POST'])\n"
        "def user(name):\n"
        "    return {'name': name, 'sent': request.get_json()}\n")
    with command(tmp_path, "shop", "--interpreters", "2", "--listen", "127.0.0.1:0") as p, ThreadPoolExecutor(8) as clients:
        place = Place(type("At", (), {"address": wait_for_line(p.stderr, "http://(.*)$")[1]}), [])
        for n, (status, body, _) in enumerate(clients.map(
                lambda n: place.ask("POST", f"/users/{n}", b'{"n": %d}' % n, {"Content-Type": "application/json"}), range(60))):
            assert status == 200 and b'"name":"%d"' % n in body.replace(b" ", b"") and b'"n":%d}' % n in body.replace(b" ", b"")
        p.send_signal(signal.SIGTERM)
        assert p.wait(LATE) == 0
