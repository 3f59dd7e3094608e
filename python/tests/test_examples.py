"""The programs of docs/python."""
import contextlib
import http.client
import json
import os
import pathlib
import signal
import subprocess
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest

import weft
from conftest import compile_module, load

EXAMPLES = pathlib.Path(__file__).parent.parent / "examples"
needs_http = pytest.mark.skipif("weft._no_http" in sys.modules, reason="weft was built without HTTP")


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    return lambda name: load(compile_module(EXAMPLES / f"{name}.pyx", folder))


def test_quick_start(example):
    assert example("quick_start").squares(1000) == [n * n for n in range(1000)]


def test_pipeline(example):
    pipeline = example("pipeline")
    s = pipeline.Sum()
    for n in range(100):
        s.add(n)
    assert s.finish() == 4950
    with pytest.raises(weft.Closed):
        s.add(1)
    with pytest.raises(RuntimeError):
        s.finish()
    pipeline.Sum().add(7)   # dropped without finish(): its fiber is stopped


def printed(name):
    return subprocess.run([sys.executable, EXAMPLES / name], stdout=subprocess.PIPE, text=True, check=True).stdout


def test_fibers():
    assert printed("fibers.py") == "140\n"


def test_choices():
    assert printed("choices.py") == "booked apples\nbooked figs\n['apples', 'figs'] True\n"


def test_coroutines():
    assert printed("coroutines.py") == "['fig: 30', 'cherry: 30']\n140\n"


@contextlib.contextmanager
def serving(module, *options, folder, **environment):
    """The address of a program of the examples that is served. SIGTERM ends it well."""
    with subprocess.Popen([sys.executable, "-m", "weft.serve", module, "--listen", "127.0.0.1:0", "--chdir", EXAMPLES, *options],
                          stderr=subprocess.PIPE, text=True, cwd=folder, env=os.environ | environment) as p:
        try:
            yield p.stderr.readline().split("http://")[1].strip()
            p.terminate()
            assert p.wait(60) == 0
        finally:
            p.kill()


def ask(at, method, target, body=None):
    connection = http.client.HTTPConnection(at, timeout=60)
    connection.request(method, target, json.dumps(body) if body else None, {"Content-Type": "application/json"} if body else {})
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, text


@needs_http
def test_serve(tmp_path):
    with serving("serve:hello", "--interface", "plain", folder=tmp_path) as at:
        assert ask(at, "GET", "/?name=Ada") == (200, b"Hello, Ada!\n")


@needs_http
def test_seed_L17_users(tmp_path):
    pytest.importorskip("flask")
    with serving("users", folder=tmp_path, USERS_DB=str(tmp_path / "users.db")) as at:
        with ThreadPoolExecutor(8) as pool:
            made = [*pool.map(lambda i: json.loads(ask(at, "POST", "/users", {"name": f"user {i}"})[1])["id"], range(20))]
            assert len({*made}) == 20
            for i, (status, text) in enumerate(pool.map(lambda n: ask(at, "GET", f"/users/{n}"), made)):
                assert (status, json.loads(text)) == (200, {"id": made[i], "name": f"user {i}"})
        assert ask(at, "DELETE", f"/users/{made[0]}")[0] == 204
        assert ask(at, "GET", f"/users/{made[0]}")[0] == ask(at, "DELETE", f"/users/{made[0]}")[0] == 404
        assert ask(at, "GET", "/users/x")[0] == 404


@needs_http
def test_asgi():
    with subprocess.Popen([sys.executable, EXAMPLES / "asgi.py", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True) as p:
        at = f"http://{p.stdout.readline().strip()}/"
        for n in (1, 2):
            with urllib.request.urlopen(at, timeout=60) as answer:
                assert answer.read() == b"".join(b"visit %d\n" % i for i in range(n))
        p.send_signal(signal.SIGTERM)
        assert p.wait(60) == 0


def test_fetch_all():
    assert printed("fetch_all.py") == f"{[n * n for n in range(10)]}\n"
