"""What the package gives besides the declarations: exceptions, typed channels, the check of the GIL."""
import os
import subprocess
import sys

import pytest

import weft


@pytest.fixture(scope="module")
def uses(build):
    return build("uses")


def test_it_names_its_files():
    assert os.path.isfile(os.path.join(weft.get_include(), "weft", "c.h"))
    assert os.path.isfile(os.path.join(weft.get_library_dir(), "libweft_c.so.0"))
    assert weft.__version__ == ".".join(map(str, weft.version_info))


@pytest.mark.parametrize("status, kind", [(1, TimeoutError), (2, BlockingIOError), (3, weft.Closed), (4, weft.Error), (5, weft.Cancelled),
                                          (17, MemoryError), (20, weft.Error), (0x57454654, weft.Error), (99, weft.Error)])
def test_check_raises_by_status(uses, status, kind):
    uses.check(0)
    with pytest.raises(kind) as caught:
        uses.check(status)
    if isinstance(caught.value, weft.Error):
        assert caught.value.status == status


def test_a_failure_has_the_words_of_the_library(uses):
    with pytest.raises(ValueError, match="weft_send: the channel is null"):
        uses.bad_argument()
    with pytest.raises(OSError, match="weft_connect"):
        uses.system_error()


def test_a_failure_of_a_coroutine(rows):
    with pytest.raises(weft.Error, match="no such account") as caught:
        rows.run_failing()
    assert caught.value.status == 0x57454654


def test_cancelled_is_no_failure():
    assert issubclass(weft.Cancelled, BaseException) and not issubclass(weft.Cancelled, Exception)


def test_typed_channels_know_the_size_of_their_elements(uses):
    got, same_size, (other_size, words), into_other_size = uses.typed_round(1.5)
    assert got == 1.5 and same_size == 0 and other_size == 16 and into_other_size == 16
    assert b"size" in words


def test_a_fiber_may_hold_the_gil_between_its_waits(uses):
    assert uses.take_gil_between_parks() == (5, [0, 1, 2])


def test_a_fiber_that_waits_with_the_gil_stops_the_program(uses):
    program = f"import importlib.util as u; s = u.spec_from_file_location('uses', {uses.__file__!r}); " \
              "m = u.module_from_spec(s); s.loader.exec_module(m); m.park_with_gil()"
    done = subprocess.run([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True, timeout=120,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode < 0
    assert 'weft: fatal: fiber ' in done.stderr and '"main" waits (sleep) while it holds the GIL' in done.stderr
