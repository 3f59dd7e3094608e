"""The programs of docs/python."""
import pathlib
import signal
import subprocess
import sys
import urllib.request

import pytest

import weft
from conftest import compile_module, load

EXAMPLES = pathlib.Path(__file__).parent.parent / "examples"


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


def test_fibers():
    assert subprocess.run([sys.executable, EXAMPLES / "fibers.py"], stdout=subprocess.PIPE, text=True, check=True).stdout == "140\n"


@pytest.mark.skipif("weft._no_http" in sys.modules, reason="weft was built without HTTP")
def test_asgi():
    with subprocess.Popen([sys.executable, EXAMPLES / "asgi.py", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True) as p:
        at = f"http://{p.stdout.readline().strip()}/"
        for n in (1, 2):
            with urllib.request.urlopen(at, timeout=60) as answer:
                assert answer.read() == b"".join(b"visit %d\n" % i for i in range(n))
        p.send_signal(signal.SIGTERM)
        assert p.wait(60) == 0
