"""weft.blocking: a stop or a timeout during the call."""
import threading
import time

import pytest

import weft
from test_fibers import LATE, SOON, fibers, from_both  # noqa: F401 (fibers is a fixture)


def test_a_timeout_is_raised_when_the_call_has_ended():
    def check():
        ended = []
        with pytest.raises(TimeoutError, match="weft.timeout"):
            with weft.timeout(SOON):
                try:
                    weft.blocking(lambda: (time.sleep(2 * SOON), ended.append(1)))
                except weft.Cancelled:
                    assert ended == [1]
                    raise
        with weft.timeout(LATE):
            assert weft.blocking(lambda: time.sleep(SOON) or 5) == 5
        with pytest.raises(KeyError):            # what the call raises counts more
            with weft.timeout(SOON):
                weft.blocking(lambda: time.sleep(2 * SOON) or {}[1])
        with pytest.raises(TimeoutError):
            with weft.timeout(0):
                weft.blocking(ended.append, 2)
        assert ended == [1]
    from_both(check)


@pytest.mark.parametrize("stop", ["cancel", "scope"])
def test_a_stop_is_raised_when_the_call_has_ended(fibers, stop):
    ended, began, go = [], weft.Event(), threading.Event()

    def call():
        began.set()
        go.wait()
        ended.append(1)

    def main():
        def body():
            with pytest.raises(weft.Cancelled):
                weft.blocking(call)
            assert ended == [1]
            with pytest.raises(weft.Cancelled):
                weft.blocking(ended.append, 2)
            raised.append(1)
        raised = []
        with weft.scope() as s:
            f = s.spawn(body)
            began.wait()
            s.cancel() if stop == "scope" else f.cancel()
            go.set()
        f.result()
        assert raised == [1] and ended == [1]
    fibers(main)


@pytest.mark.parametrize("stop", ["cancel", "timeout"])
def test_python_code_may_ask(fibers, stop):
    """A call that computes learns of the stop where it lets others go first."""
    def computes(began):
        began.set()
        while True:
            weft.yield_now()

    def main():
        began = weft.Event()
        if stop == "timeout":
            with pytest.raises(TimeoutError):
                with weft.timeout(SOON):
                    weft.blocking(computes, began)
            return
        f = weft.spawn(weft.blocking, computes, began)
        began.wait()
        f.cancel()
        with pytest.raises(weft.Cancelled):
            f.result()
    fibers(main)


def test_a_spawned_call_can_be_given_up(fibers):
    def main():
        go = threading.Event()
        f = weft.spawn(go.wait)
        with pytest.raises(TimeoutError):
            f.result(timeout=SOON)
        with pytest.raises(TimeoutError, match="weft.timeout"):
            with weft.timeout(SOON):
                f.result()
        assert not f.done
        go.set()
        assert f.result() is True
    fibers(main)
