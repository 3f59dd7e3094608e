"""The programs of docs/python."""
import pathlib
import subprocess
import sys

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


def printed(name):
    return subprocess.run([sys.executable, EXAMPLES / name], stdout=subprocess.PIPE, text=True, check=True).stdout


def test_fibers():
    assert printed("fibers.py") == "140\n"


def test_choices():
    assert printed("choices.py") == "booked apples\nbooked figs\n['apples', 'figs'] True\n"


def test_coroutines():
    assert printed("coroutines.py") == "['fig: 30', 'cherry: 30']\n140\n"
