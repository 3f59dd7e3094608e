"""Fibers and the garbage collector: what it need not look at, what it frees, and failures that are reported when a fiber is freed."""
import contextvars
import gc
import sys
import weakref

import pytest

import weft
from test_fibers import fibers  # noqa: F401 (a fixture)

var = contextvars.ContextVar("var")


class Value:
    pass


@pytest.fixture
def reported(monkeypatch):
    told = []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: told.append((what.exc_type, what.object)))
    return told


def test_the_collector_does_not_look_at_fibers_that_have_not_ended(fibers):
    interval = sys.getswitchinterval()
    sys.setswitchinterval(100)      # so that none begins before main() waits

    def looked_at():
        gc.collect()      # which takes tuples of arguments out, too
        return len(gc.get_objects())

    def main():
        go = weft.Event()
        before = looked_at()
        fs = [weft.spawn(len, "") for _ in range(1000)]
        assert looked_at() < before + 100 and not any(f.done for f in fs)
        sys.setswitchinterval(interval)
        assert all(f.result() == 0 for f in fs)
        assert looked_at() < before + 100      # nor after, since they have nothing that could be a cycle
        waiting = [weft.spawn(go.wait) for _ in range(10)]
        while weft._fibers._counts()["runners_now"] < 11:
            weft.yield_now()
        gc.collect()
        assert not [o for o in gc.get_objects() if isinstance(o, weft.Fiber)]
        go.set()
        for f in waiting:
            f.join()
    try:
        fibers(main, workers=1)
    finally:
        sys.setswitchinterval(interval)


def test_a_cycle_through_a_fiber_is_freed(fibers):
    def main():
        refs = []
        for kind in range(3):
            value = Value()
            refs.append(weakref.ref(value))
            if kind == 0:                                # through its result
                value.fiber = weft.spawn(lambda value=value: value)
            elif kind == 1:                              # through its context
                context = contextvars.copy_context()
                context.run(var.set, value)
                value.fiber = context.run(weft.spawn, var.get)
                del context
            else:                                        # through what it raised
                def fails(value=value):
                    raise KeyError(value)
                value.fiber = weft.spawn(fails)
                del fails
            value.fiber.join()
            if kind == 2:
                with pytest.raises(KeyError):
                    value.fiber.result()
            del value
        gc.collect()
        assert [r() for r in refs] == [None] * 3
    fibers(main, workers=1)


def test_a_fiber_that_was_cancelled_before_its_begin_is_freed(fibers):
    def main():
        for _ in range(3):
            value = Value()
            ref = weakref.ref(value)
            fs = [weft.spawn(lambda value=value: value) for _ in range(100)]
            for f in fs:
                f.cancel()
            del fs, f, value
            weft.yield_now()
            gc.collect()
            assert ref() is None
    fibers(main, workers=1)


def test_each_failure_is_reported_once(fibers, reported):
    """Also if the memory of a fiber is used again by another."""
    def main():
        for i in range(50):
            weft.spawn(lambda: 1 / 0, name=f"divides {i}").join()
            weft.spawn(len, "").join()
            weft.sleep(0)
            taken = weft.spawn(lambda: [][1])
            with pytest.raises(IndexError):
                taken.result()
            with pytest.raises(IndexError):
                taken.result()
            del taken
    fibers(main, workers=1)
    gc.collect()
    assert [t[0] for t in reported] == [ZeroDivisionError] * 50
    assert all(f"'divides {i}'" in reported[i][1] for i in range(50))


def test_a_failure_in_a_cycle_is_reported(fibers, reported):
    def main():
        value = Value()
        value.fiber = weft.spawn(lambda value=value: 1 / 0)
        value.fiber.join()
        del value
        gc.collect()
        assert [t[0] for t in reported] == [ZeroDivisionError]
    fibers(main, workers=1)
