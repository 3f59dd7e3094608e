"""Functions of Python as fibers: weft.run, spawn, channels, locks, timeouts, scopes; how they end with the interpreter; thread states."""
import contextvars
import copy
import ctypes
import gc
import os
import pickle
import queue
import subprocess
import sys
import threading
import time
import traceback
import weakref
import zlib

import pytest

import weft
from conftest import forks
from weft import _fibers

SOON = 0.01      # for waits that are to run out
LATE = 60        # for waits that are not


def in_process(program, timeout=120, **environment):
    """Runs a program of its own; \\returns what it printed. It must end well, and write nothing to stderr."""
    done = subprocess.run([sys.executable, "-c", "import sys, threading, time, weft\n" + program], text=True, timeout=timeout,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=os.environ | environment | {"PYTHONPATH": os.pathsep.join(sys.path)})
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture
def fibers():
    """fibers(main, *args, workers=2): weft.run(), after which no thread state is left."""
    yield lambda main, *args, workers=2: weft.run(main, *args, workers=workers)
    counts = _fibers._counts()
    assert counts["thread_states"] == 0 and counts["runners_now"] == 0


def from_both(function):
    """Runs a function on a fiber, and on a thread."""
    caught = []

    def on_thread():
        try:
            function()
        except BaseException as e:
            caught.append(e)

    def main():
        function()
        thread = threading.Thread(target=on_thread)
        thread.start()
        weft.blocking(thread.join)

    weft.run(main, workers=2)
    assert not caught, caught


# ---- run, spawn, Fiber

def test_run_returns_what_main_returns(fibers):
    assert fibers(lambda a, b: a + b, 2, 3) == 5
    assert weft.run(lambda: 1) == 1
    assert weft.run(lambda: 2, workers=1, stack_bytes=256 * 1024) == 2


def test_run_raises_what_main_raises(fibers):
    def main():
        raise KeyError("main")
    with pytest.raises(KeyError, match="main"):
        fibers(main)


def test_run_refuses_what_it_cannot_do(fibers):
    def main():
        with pytest.raises(RuntimeError, match="a fiber cannot start a runtime"):
            weft.run(lambda: 1)
    fibers(main)
    for workers in (0, -1, 2**31, 2**40, 1.5, "x"):
        with pytest.raises((ValueError, TypeError)):
            weft.run(lambda: 1, workers=workers)
    for bytes_ in (-1, 0, 1, 2**60):
        with pytest.raises(ValueError, match="stack_bytes"):
            weft.run(lambda: 1, stack_bytes=bytes_)
    with pytest.raises(TypeError):
        weft.run(None)
    assert fibers(lambda: 1) == 1


def test_run_stops_what_main_has_left(fibers):
    ended = []

    def left():
        try:
            weft.sleep(LATE)
        finally:
            ended.append(1)

    def main():
        for _ in range(10):
            weft.spawn(left)
        weft.yield_now()
        weft.yield_now()

    fibers(main, workers=1)
    assert ended == [1] * 10


def test_spawn_passes_arguments(fibers):
    def f(*args, **kw):
        return args, kw
    assert fibers(lambda: weft.spawn(f, 1, 2, a=3).result()) == ((1, 2), {"a": 3})
    assert fibers(lambda: weft.spawn(f, name="n").result()) == ((), {})


def test_spawn_refuses_what_cannot_be_called(fibers):
    def main():
        with pytest.raises(TypeError, match="not callable"):
            weft.spawn(3)
        with pytest.raises(TypeError, match="name"):
            weft.spawn(len, name=3)
        with pytest.raises(TypeError):
            weft.Fiber()
        assert weft.Fiber[int] and weft.Channel[int]      # for annotations
        assert weft.spawn(len, "ab", name="\ud800").result() == 2
        for made in (weft.spawn(len, ""), weft.Channel(), weft.Lock(), weft.scope(), weft.timeout(1), threading.RLock()):
            for copies in (copy.copy, copy.deepcopy, pickle.dumps):
                with pytest.raises(TypeError):
                    copies(made)
        assert weft.Fiber.__new__(weft.Fiber).cancel()
    fibers(main)


def test_fiber_has_a_state_and_a_name(fibers):
    def main():
        go = weft.Event()
        f = weft.spawn(go.wait, name="waits")
        g = weft.spawn(len, "abc")
        assert not f.done and f.name == "waits" and g.name.startswith("fiber-")
        assert "'waits' not begun" in repr(f)
        g.join()
        assert "'waits' running" in repr(f)
        assert g.done and g.result() == 3
        go.set()
        f.join()
        assert f.done and "'waits' done" in repr(f) and f.result() is None
    fibers(main, workers=1)


def test_join_has_a_timeout(fibers):
    def main():
        go = weft.Event()
        f = weft.spawn(go.wait)
        for t in (0, -1, SOON):
            with pytest.raises(TimeoutError):
                f.join(t)
        with pytest.raises(TimeoutError):
            f.result(timeout=SOON)
        with pytest.raises(ValueError):
            f.join(float("nan"))
        go.set()
        f.join(LATE)
        f.join(0)
    fibers(main)


def test_many_may_join_one(fibers):
    def main():
        go = weft.Event()
        f = weft.spawn(lambda: go.wait() or 7)
        joiners = [weft.spawn(f.result) for _ in range(20)]
        weft.sleep(SOON)
        go.set()
        assert [j.result() for j in joiners] == [7] * 20
    fibers(main)


def test_a_fiber_cannot_join_itself(fibers):
    def main():
        own = weft.Channel(1)
        f = weft.spawn(lambda: own.receive().join())
        own.send(f)
        with pytest.raises(RuntimeError, match="its own end"):
            f.result()
    fibers(main)


def test_result_raises_with_the_traceback_of_the_body(fibers):
    def deepest():
        raise ValueError("deep")

    def body():
        weft.yield_now()
        deepest()

    def main():
        f = weft.spawn(body)
        f.join()
        with pytest.raises(ValueError, match="deep") as caught:
            f.result()
        names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
        assert "body" in names and "deepest" in names
        with pytest.raises(ValueError):
            f.result()
    fibers(main)


def test_a_failure_that_no_one_asks_for_is_reported(fibers, monkeypatch):
    told = []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: told.append((what.exc_type, what.object)))

    def main():
        weft.spawn(lambda: 1 / 0, name="divides")
        weft.spawn(weft.sleep, LATE).cancel()
        taken = weft.spawn(lambda: [][1])
        with pytest.raises(IndexError):
            taken.result()
    fibers(main, workers=1)
    gc.collect()
    assert [t[0] for t in told] == [ZeroDivisionError] and "divides" in told[0][1]


# ---- cancellation: at each call that waits

def waits():
    """name: a function that waits for ever."""
    full, taken, held = weft.Channel(1), weft.Semaphore(0), weft.Lock()
    full.send(1)
    held.acquire()
    other = weft.spawn(weft.Event().wait)
    return {"sleep": lambda: weft.sleep(LATE), "send": lambda: full.send(2), "rendezvous": lambda: weft.Channel().send(1),
            "receive": weft.Channel().receive, "iteration": lambda: list(weft.Channel()), "event": weft.Event().wait,
            "semaphore": taken.acquire, "semaphore_block": taken.__enter__, "lock": held.acquire, "lock_block": held.__enter__,
            "join": other.join, "result": other.result, "receive_in_time": lambda: weft.Channel().receive(timeout=LATE)}


NAMES = list(weft.run(waits))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("stop", ["cancel", "timeout", "end_of_run"])
def test_cancelled_is_raised_at_each_further_wait(fibers, name, stop):
    seen, began = [], weft.Event()

    def body(wait):
        began.set()
        for _ in range(3):
            try:
                if stop == "timeout" and not seen:
                    with weft.timeout(SOON):
                        try:
                            wait()
                        except weft.Cancelled:
                            seen.append(1)
                            wait()
                wait()
            except (weft.Cancelled, TimeoutError) as e:
                seen.append(type(e))
                if stop == "timeout":
                    return

    def main():
        f = weft.spawn(body, waits()[name])
        if stop == "end_of_run":
            weft.yield_now()
            return
        if stop == "cancel":
            began.wait()
            with pytest.raises(TimeoutError):
                f.join(SOON / 4)
            assert f.cancel() and not f.cancel()
        f.join()
        assert not f.cancel()

    fibers(main)
    if stop == "end_of_run" and not seen:
        return      # it had not begun, so it never will
    if stop == "end_of_run" and name in ("join", "result"):
        seen[1:] = [weft.Cancelled] * 2      # the other may have ended, too, and a join does not wait then
    assert seen == ([1, TimeoutError] if stop == "timeout" else [weft.Cancelled] * 3)


def test_cancelled_before_what_would_not_wait(fibers):
    def body(ch, seen, began):
        began.set()
        try:
            weft.sleep(LATE)
        except weft.Cancelled:
            for call in (ch.receive, lambda: ch.send(1), weft.yield_now, weft.Lock().acquire, lambda: weft.blocking(seen.append, 1),
                         lambda: weft.sleep(0)):
                with pytest.raises(weft.Cancelled):
                    call()
        seen.append("all")

    def main():
        ch, seen, began = weft.Channel(5), [], weft.Event()
        ch.send(1)
        f = weft.spawn(body, ch, seen, began)
        began.wait()
        f.cancel()
        f.result()
        assert seen == ["all"] and len(ch) == 1
    fibers(main)


def test_cancel_before_the_begin(fibers):
    def main():
        ran = []
        f = weft.spawn(ran.append, 1)
        waiting = weft.spawn(f.join)
        assert f.cancel() and not f.cancel() and f.done
        with pytest.raises(weft.Cancelled):
            f.result()
        waiting.join()
        weft.spawn(len, "").join()
        assert ran == []
    fibers(main, workers=1)


def test_PYSTATE_6_a_stop_reaches_one_body_only(fibers):
    def main():
        for _ in range(50):
            f = weft.spawn(weft.sleep, LATE)
            after = [weft.spawn(weft.sleep, 0.0001) for _ in range(3)]
            weft.yield_now()
            f.cancel()
            for a in after:
                a.result()
            with pytest.raises(weft.Cancelled):
                f.result()
    fibers(main, workers=1)


def test_cancel_from_a_thread(fibers):
    def main():
        f = weft.spawn(weft.sleep, LATE)
        thread = threading.Thread(target=f.cancel)
        thread.start()
        f.join()
        thread.join()
        with pytest.raises(weft.Cancelled):
            f.result()
    fibers(main)


# ---- timeouts

def test_timeout_ends_the_block_only():
    def check():
        with pytest.raises(TimeoutError, match="weft.timeout"):
            with weft.timeout(SOON):
                weft.Channel().receive()
        weft.sleep(0.001)
        with weft.timeout(LATE):
            weft.sleep(0.001)
        with weft.timeout(None):
            weft.sleep(0.001)
    from_both(check)


def test_a_timeout_is_entered_once_at_a_time():
    def check():
        t = weft.timeout(SOON)
        for _ in range(2):
            with pytest.raises(TimeoutError):
                with t:
                    time.sleep(SOON / 2)
                    with pytest.raises(RuntimeError, match="entered already"):
                        t.__enter__()
                    weft.sleep(LATE)
    from_both(check)


def test_timeouts_nest_and_the_earliest_counts():
    def check():
        order = []
        with pytest.raises(TimeoutError):
            with weft.timeout(SOON):
                try:
                    with weft.timeout(LATE):
                        weft.sleep(LATE)
                except BaseException as e:
                    order.append(type(e))
                    raise
        assert order == [weft.Cancelled]      # the outer one was the cause, so the inner one raised nothing of its own
        with weft.timeout(LATE):
            with pytest.raises(TimeoutError):
                with weft.timeout(SOON):
                    weft.sleep(LATE)
            weft.sleep(0.001)
    from_both(check)


def test_own_timeout_and_that_of_a_block():
    def check():
        with weft.timeout(LATE):
            with pytest.raises(TimeoutError):
                weft.Channel().receive(timeout=SOON)
        with pytest.raises(TimeoutError):
            with weft.timeout(SOON):
                with pytest.raises(weft.Cancelled):
                    weft.Channel().receive(timeout=LATE)
                weft.Channel().receive(timeout=LATE)
    from_both(check)


def test_a_timeout_that_has_passed_hides_no_other_failure():
    def check():
        with pytest.raises(KeyError):
            with weft.timeout(0):
                raise KeyError
        with weft.timeout(0):
            pass
    from_both(check)


def test_a_stop_counts_more_than_a_timeout(fibers):
    def body():
        with weft.timeout(LATE):
            weft.sleep(LATE)

    def main():
        f = weft.spawn(body)
        weft.sleep(SOON)
        f.cancel()
        with pytest.raises(weft.Cancelled):
            f.result()
    fibers(main)


def test_blocks_that_generators_leave_out_of_turn(fibers):
    def holds(block):
        with block:
            yield

    def one():
        a, b = holds(weft.timeout(LATE)), holds(weft.scope())
        next(a), next(b)
        a.close()
        weft.yield_now()
        b.close()
        left = holds(weft.timeout(SOON)), holds(weft.scope()), holds(weft.scope())
        [next(g) for g in left]
        keep.append(left)

    def main():
        for _ in range(10):
            weft.spawn(one).result()
            weft.spawn(weft.sleep, 2 * SOON).result()     # on the same runner: none of it is left
    keep = []
    fibers(main, workers=1)
    del keep[:]
    gc.collect()


# ---- scopes

def test_scope_waits_for_its_fibers():
    def check():
        ended = []
        with weft.scope() as s:
            for i in range(5):
                s.spawn(lambda i=i: (weft.sleep(0.002 * i), ended.append(i)))
            f = s.spawn(len, "ab", name="len")
        assert sorted(ended) == [0, 1, 2, 3, 4] and f.result() == 2 and f.name == "len"
        with pytest.raises(RuntimeError):
            s.spawn(len, "")
    from_both(check)


def test_the_first_failure_stops_the_others_and_the_block():
    def check():
        ended = []

        def other():
            try:
                weft.sleep(LATE)
            finally:
                ended.append(1)

        def fails():
            weft.sleep(SOON)
            raise ValueError("first")
        with pytest.raises(ValueError, match="first"):
            with weft.scope() as s:
                s.spawn(other)
                s.spawn(other)
                s.spawn(fails)
                weft.sleep(LATE)
        assert ended == [1, 1]
        weft.sleep(0.001)       # the block's stop is over
        with pytest.raises(ValueError, match="first"):
            with weft.scope() as s:
                s.spawn(fails)
    from_both(check)


def test_a_failure_of_the_block_stops_its_fibers():
    def check():
        with pytest.raises(KeyError):
            with weft.scope() as s:
                f = s.spawn(weft.sleep, LATE)
                weft.sleep(0.001)
                raise KeyError
        assert f.done
        with weft.scope() as s:
            f = s.spawn(weft.sleep, LATE)
            s.cancel()
            weft.sleep(LATE)
        assert f.done
        with weft.scope() as s:
            f = s.spawn(weft.sleep, LATE)
            s.spawn(s.cancel)
        assert f.done
        weft.sleep(0)
    from_both(check)


def test_a_scope_may_be_entered_again():
    def check():
        s = weft.scope()
        for cancels_before in (True, False, True):
            if cancels_before:
                s.cancel()        # of nothing
            with s:
                assert s.spawn(len, "ab").result() == 2
                weft.sleep(0)
                with pytest.raises(RuntimeError, match="entered already"):
                    s.__enter__()
                f = s.spawn(weft.sleep, LATE)
                s.cancel()
            assert f.done
            weft.sleep(0)         # the stop is over
            with pytest.raises(ZeroDivisionError):
                with s:
                    s.spawn(lambda: 1 / 0)
        with s:
            weft.sleep(0)
    from_both(check)


def test_scopes_nest(fibers):
    def fails():
        raise ValueError("inner")

    def main():
        outer_ended = False
        with weft.scope() as outer:
            f = outer.spawn(weft.sleep, SOON)
            with pytest.raises(ValueError, match="inner"):
                with weft.scope() as inner:
                    inner.spawn(weft.sleep, LATE)
                    inner.spawn(fails)
            f.result()
            outer_ended = True
        assert outer_ended
        with pytest.raises(ValueError, match="inner"):
            with weft.scope() as outer:
                with weft.scope() as inner:
                    inner.spawn(weft.sleep, LATE)
                    outer.spawn(fails)
    fibers(main)


def test_a_stop_and_a_timeout_reach_the_fibers_of_a_scope(fibers):
    def main():
        with pytest.raises(TimeoutError):
            with weft.timeout(SOON):
                with weft.scope() as s:
                    f = s.spawn(weft.sleep, LATE)
        assert f.done

        def body():
            with weft.scope() as s:
                children.append(s.spawn(weft.sleep, LATE))
                began.set()
        children, began = [], weft.Event()
        g = weft.spawn(body)
        began.wait()
        g.cancel()
        with pytest.raises(weft.Cancelled):
            g.result()
        assert children[0].done
    fibers(main)


def test_a_scope_that_a_generator_holds_open_ends_with_its_thread(fibers):
    children = []

    def holds():
        with weft.scope() as s:
            children.append(s.spawn(weft.sleep, LATE))
            yield

    def on_thread():
        keep.append(holds())
        next(keep[0])

    def main():
        thread = threading.Thread(target=on_thread)
        thread.start()
        weft.blocking(thread.join)
        children[0].join()

    keep = []
    fibers(main)          # for ever, if the scope were open
    keep.clear()
    assert fibers(lambda: 1) == 1


def test_the_runtime_ends_after_the_scope_of_a_thread(fibers):
    ended = []

    def on_thread(inside):
        with weft.scope() as s:
            s.spawn(weft.sleep, LATE)
            inside.set()
            weft.sleep(LATE)
        ended.append(1)

    def main():
        inside = weft.Event()
        thread = threading.Thread(target=on_thread, args=(inside,))
        thread.start()
        inside.wait()
        return thread
    fibers(main).join()
    assert ended == [1]


# ---- channels, locks: between fibers and threads

@pytest.mark.parametrize("capacity", [0, 1, 64])
def test_channel_between_fibers_and_threads(fibers, capacity):
    def main():
        ch, got, lock = weft.Channel(capacity), [], threading.Lock()

        def take():
            for value in ch:
                with lock:
                    got.append(value)

        def put(base):
            for i in range(200):
                ch.send(base + i)
        threads = [threading.Thread(target=take), *(threading.Thread(target=put, args=(1000 * k,)) for k in range(2))]
        takers, putters = [weft.spawn(take) for _ in range(2)], [weft.spawn(put, 1000 * k) for k in range(2, 5)]
        for t in threads:
            t.start()
        for p in putters:
            p.result()
        for t in threads[1:]:
            t.join()
        ch.close()
        for t in takers:
            t.result()
        threads[0].join()
        assert sorted(got) == [1000 * k + i for k in range(5) for i in range(200)]
    fibers(main)


def test_channel_is_closed_and_drained():
    def check():
        ch = weft.Channel(3)
        assert not ch.closed and len(ch) == 0 and ch
        ch.send(1)
        ch.send("two", timeout=0)
        assert len(ch) == 2
        ch.send(3)
        for t in (0, SOON):
            with pytest.raises(TimeoutError):
                ch.send(4, timeout=t)
        ch.close()
        ch.close()
        assert ch.closed
        with pytest.raises(weft.Closed):
            ch.send(4)
        assert list(ch) == [1, "two", 3]
        with pytest.raises(weft.Closed):
            ch.receive()
        with pytest.raises(TimeoutError):
            weft.Channel().receive(timeout=0)
        for bad in (-1, 1.5, "x", None, 2**70):
            with pytest.raises((ValueError, TypeError, OverflowError)):
                weft.Channel(bad)
    from_both(check)


def test_a_channel_counts_its_references(fibers):
    class Value:
        pass

    def main():
        value = Value()
        before = sys.getrefcount(value)
        ch = weft.Channel(2)
        ch.send(value)
        ch.send(value)
        for _ in range(10):
            with pytest.raises(TimeoutError):
                ch.send(value, timeout=0)
            with pytest.raises(TimeoutError):
                ch.send(value, timeout=0.0001)
        assert sys.getrefcount(value) == before + 2
        ch.receive()
        assert sys.getrefcount(value) == before + 1
        del ch
        assert sys.getrefcount(value) == before
    fibers(main)


def test_event_between_fibers_and_threads(fibers):
    def main():
        e, woken = weft.Event(), weft.Channel(64)

        def wait(i):
            e.wait()
            woken.send(i)
        threads = [threading.Thread(target=wait, args=(i,)) for i in range(3)]
        for t in threads:
            t.start()
        for i in range(3, 8):
            weft.spawn(wait, i)
        with pytest.raises(TimeoutError):
            e.wait(SOON)
        assert not e.is_set()
        e.set()
        assert e.is_set()
        e.wait(0)
        assert sorted(woken.receive() for _ in range(8)) == list(range(8))
        e.clear()
        assert not e.is_set()
        for t in threads:
            t.join()
    fibers(main)


@pytest.mark.parametrize("kind", [weft.Lock, weft.Semaphore])
def test_lock_between_fibers_and_threads(fibers, kind):
    def main():
        lock, inside, most = kind(), [0], [0]

        def work():
            for _ in range(30):
                with lock:
                    inside[0] += 1
                    most[0] = max(most[0], inside[0])
                    weft.yield_now()
                    inside[0] -= 1
        threads = [threading.Thread(target=work) for _ in range(3)]
        ours = [weft.spawn(work) for _ in range(5)]
        for t in threads:
            t.start()
        for f in ours:
            f.result()
        for t in threads:
            t.join()
        assert most == [1]
        lock.acquire()
        with pytest.raises(TimeoutError):
            lock.acquire(timeout=SOON)
        lock.release()
    fibers(main)


def test_semaphore_and_lock_refuse_misuse():
    def check():
        s = weft.Semaphore(0)
        s.release(2)
        s.acquire(0), s.acquire(0)
        with pytest.raises(TimeoutError):
            s.acquire(0)
        with pytest.raises(ValueError):
            s.release(0)
        for n in (2**70, sys.maxsize):
            with pytest.raises(OverflowError):
                with weft.Semaphore() as full:
                    full.release(n)
                    full.release()
        for _ in range(3):
            most = weft.Semaphore(sys.maxsize)
            most.acquire()
            most.release()
        with pytest.raises(ValueError):
            weft.Semaphore(-1)
        lock = weft.Lock()
        with pytest.raises(RuntimeError, match="not held"):
            lock.release()
        with lock:
            assert lock.locked()
        assert not lock.locked()
    from_both(check)


def test_threads_alone_need_no_runtime():
    before = len(os.listdir("/proc/self/task"))
    ch = weft.Channel()
    t = threading.Thread(target=lambda: ch.send(5))
    t.start()
    assert ch.receive() == 5
    t.join()
    weft.sleep(0.001)
    weft.yield_now()
    with pytest.raises(TimeoutError):
        with weft.timeout(0.15):      # longer than one look of the main thread for signals
            ch.receive()
    assert len(os.listdir("/proc/self/task")) == before


# ---- blocking calls, threading.RLock

def test_blocking_runs_on_another_thread(fibers):
    var = contextvars.ContextVar("var")

    def body():
        weft.sleep(0.0001)          # a wait on the thread of the pool
        return threading.get_native_id(), var.get()

    def main():
        var.set(3)
        native, value = weft.blocking(body)
        assert value == 3 and native != threading.get_native_id()
        with pytest.raises(KeyError):
            weft.blocking({}.__getitem__, 1)
        fs = [weft.spawn(weft.blocking, time.sleep, 0.05) for _ in range(20)]
        for f in fs:
            f.result()
        began, go = weft.Event(), threading.Event()
        f = weft.spawn(weft.blocking, lambda: (began.set(), go.wait()))
        began.wait()
        f.cancel()
        assert not f.done            # the call goes on to its end
        go.set()
        with pytest.raises(weft.Cancelled):
            f.result()
    fibers(main)
    assert weft.blocking(len, "ab") == 2


def test_blocking_calls_see_a_stop_where_they_wait(fibers):
    def body(kind):
        try:
            if kind == "scope":
                with weft.scope() as s:
                    s.spawn(lambda: 1 / 0)
                    weft.sleep(LATE)
            weft.sleep(LATE)
        finally:
            ended.append(kind)

    def main():
        for kind in ("sleep", "scope"):
            begin = time.monotonic()
            f = weft.spawn(weft.blocking, body, kind)
            if kind == "sleep":
                weft.sleep(SOON)
                f.cancel()
            with pytest.raises((weft.Cancelled, ZeroDivisionError)):
                f.result()
            assert time.monotonic() - begin < LATE / 2
        weft.spawn(weft.blocking, body, "end of run")
        weft.sleep(SOON)
    ended = []
    fibers(main)
    assert ended == ["sleep", "scope", "end of run"]


def test_blocks_that_no_one_else_refers_to_end_with_the_fiber():
    out = in_process("def f():\n"
                     "    for _ in range(5):\n"
                     "        weft.timeout(1000).__enter__()\n"
                     "        weft.scope().__enter__().spawn(weft.sleep, 1000)\n"
                     "weft.run(lambda: [weft.spawn(f).result() for _ in range(20)] and None)\n"
                     "thread = threading.Thread(target=lambda: [f() for _ in range(2)])\n"
                     "weft.run(lambda: (thread.start(), weft.blocking(thread.join)) and None)\n"
                     "print('all')", PYTHONMALLOC="debug")
    assert out == "all\n"


def test_scopes_that_are_not_left_where_they_were_entered(fibers):
    def holds():
        with weft.scope() as s:
            children.append(s.spawn(weft.sleep, LATE))
            yield

    def enters():
        keep.append(holds())
        next(keep[-1])

    def enters_in_blocking():
        weft.blocking(enters)
        weft.sleep(0)
        with pytest.raises(RuntimeError, match="another side"):
            keep[-1].close()

    def leaves_in_blocking():
        enters()
        with pytest.raises(RuntimeError, match="another side"):
            weft.blocking(keep[-1].close)
        weft.sleep(0)

    def main():
        for body in (enters_in_blocking, leaves_in_blocking):
            weft.spawn(body).result()
            children[-1].join()
    keep, children = [], []
    fibers(main)          # the scopes end with the fibers that have entered them


def test_rlock_belongs_to_a_fiber(fibers):
    real = threading.RLock

    def main():
        assert threading.RLock is not real
        lock, inside = threading.RLock(), []
        assert weakref.ref(lock)() is lock

        def work(i):
            with lock:
                assert lock.acquire(blocking=False)
                inside.append(i)
                weft.yield_now()
                assert inside == [i]
                inside.remove(i)
                lock.release()
        fs = [weft.spawn(work, i) for i in range(20)]
        threads = [threading.Thread(target=work, args=(i,)) for i in range(20, 23)]
        for t in threads:
            t.start()
        for f in fs:
            f.result()
        for t in threads:
            t.join()
        with pytest.raises(RuntimeError):
            lock.release()
        lock.acquire()
        assert weft.spawn(lock.acquire, blocking=False).result() is False
        assert weft.spawn(lock.acquire, timeout=SOON).result() is False
        with pytest.raises(RuntimeError):
            weft.spawn(lock.release).result()
        lock.release()
    fibers(main, workers=1)
    assert threading.RLock is real


def test_condition_and_queue_of_the_standard_library(fibers):
    def main():
        ready, items, q = threading.Condition(), [], queue.Queue(2)

        def consume():
            with ready:
                while not items:
                    ready.wait(LATE)
                return items.pop()
        fs = [weft.spawn(consume) for _ in range(3)]
        for i in range(3):
            weft.sleep(0.002)
            with ready:
                items.append(i)
                ready.notify()
        assert sorted(f.result() for f in fs) == [0, 1, 2]
        p = weft.spawn(lambda: [q.put(i) for i in range(10)])
        assert [q.get() for _ in range(10)] == list(range(10))
        p.result()
    fibers(main)


# ---- thread states

CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
var = contextvars.ContextVar("var", default=0)
local = threading.local()


def deep(n):
    if n == 0:
        weft.yield_now()
        return 0
    return 1 + deep(n - 1)


class Parks:
    @property
    def value(self):
        weft.yield_now()
        return 3


def generated(n):
    for i in range(n):
        weft.yield_now()
        yield i


def carries_python(i, rounds):
    """What a thread state has: frames, handled exceptions, context, thread-local values; across waits, and through C."""
    parks = CALLBACK(lambda n: (weft.yield_now(), n + 1)[1])
    var.set(i)
    local.x = i
    for k in range(rounds):
        assert deep(30) == 30 and sum(generated(5)) == 10
        try:
            try:
                raise ValueError(i)
            except ValueError as e:
                weft.yield_now()
                assert sys.exc_info()[1] is e
                raise KeyError(i)
        except KeyError as e:
            weft.yield_now()
            assert e.args == (i,) and isinstance(e.__context__, ValueError)
        assert sys.exc_info() == (None, None, None)
        assert parks(k) == k + 1
        assert sorted([3, 1, 2], key=lambda v: (weft.yield_now(), v)[1]) == [1, 2, 3]
        assert Parks().value == 3
        assert var.get() == i and local.x == i
    return threading.get_native_id()


def test_PYSTATE_2_a_fiber_carries_its_python(fibers):
    def main():
        var.set(-1)
        fs = [weft.spawn(carries_python, i, 5) for i in range(100)]
        for f in fs:
            f.result()
        assert var.get() == -1 and not hasattr(local, "x")
    fibers(main, workers=4)
    assert var.get() == 0


def test_PYSTATE_2_also_when_each_wait_changes_the_thread():
    here = os.path.dirname(os.path.abspath(__file__))
    out = in_process(f"sys.path.insert(0, {here!r}); import test_fibers as t\n"
                     "print(len(set(weft.run(lambda: [f.result() for f in [weft.spawn(t.carries_python, i, 4) for i in range(60)]], workers=4))))",
                     WEFT_MIGRATION="torture")
    assert int(out) >= 1


def test_PYSTATE_1_a_native_fiber_finds_nothing_of_a_python_fiber(fibers, build):
    uses = build("uses")

    def main():
        fs = [weft.spawn(generated(200).__next__) for _ in range(3)]
        pending = [weft.spawn(weft.sleep, LATE) for _ in range(20)]
        weft.sleep(0.001)
        assert weft.blocking(uses.take_gil_between_parks) == (5, [0, 1, 2])
        for f in fs + pending:
            f.cancel()
    fibers(main, workers=1)


def test_context_is_a_copy_of_the_spawners(fibers):
    def child():
        seen = var.get()
        var.set(99)
        return seen

    def main():
        var.set(5)
        f = weft.spawn(child)
        var.set(6)
        assert f.result() == 5 and var.get() == 6
    fibers(main)


def test_thread_local_values_end_with_the_fiber(fibers):
    def first():
        local.left = 1

    def main():
        for _ in range(20):
            weft.spawn(first).result()
            assert weft.spawn(hasattr, local, "left").result() is False
    fibers(main, workers=1)


def test_thread_local_values_that_leave_others_end_with_the_fiber(fibers):
    class Leaves:
        def __init__(self, times):
            self.times = times

        def __del__(self):
            if self.times:
                local.left = Leaves(self.times - 1)

    def first():
        assert not hasattr(local, "left")
        local.left = Leaves(3)
        sys.set_asyncgen_hooks(print, print)

    def main():
        for _ in range(20):
            weft.spawn(first).result()
            weft.sleep(0)
            weft.spawn(first).result()
        assert weft.spawn(sys.get_asyncgen_hooks).result() == (None, None)
    fibers(main, workers=1)


def test_tracing_ends_with_the_fiber(fibers):
    def traces():
        sys.settrace(lambda *_: None)
        sys.setprofile(lambda *_: None)

    def main():
        weft.spawn(traces).result()
        assert weft.spawn(sys.gettrace).result() is None
        assert weft.spawn(sys.getprofile).result() is None
    fibers(main, workers=1)


def test_recursion_to_the_limit(fibers):
    def plain(n):
        return plain(n + 1)

    def through_c(n):
        return sorted([n], key=lambda v: through_c(v + 1))

    def nested():
        x = []
        for _ in range(100_000):
            x = [x]
        return repr(x)

    def main():
        for f in (lambda: plain(0), lambda: through_c(0), nested):
            with pytest.raises(RecursionError):
                weft.spawn(f).result()
    fibers(main)


def test_ten_thousand_fibers(fibers):
    def main():
        go, ch = weft.Event(), weft.Channel(10_000)

        def one(i):
            go.wait()
            ch.send(i)
        fs = [weft.spawn(one, i) for i in range(10_000)]
        weft.yield_now()
        go.set()
        for f in fs:
            f.result()
        assert sum(ch.receive() for _ in range(10_000)) == sum(range(10_000))
    fibers(main)


def test_PYSTATE_3_fibers_go_on_beside_those_that_block_or_compute(fibers):
    def computes(until):
        while not until:
            pass

    def main():
        until, begin = [], time.monotonic()
        hogs = [weft.spawn(computes, until) for _ in range(2)] + [weft.spawn(time.sleep, 0.2) for _ in range(20)]
        ticks = weft.spawn(lambda: [weft.sleep(0.001) for _ in range(20)])
        ticks.result()                       # for ever, if a hog kept all of Python
        until.append(1)
        for h in hogs:
            h.result()
        return time.monotonic() - begin
    assert min(fibers(main) for _ in range(3)) < 3      # one after the other the sleeps take 4 s


def test_PYSTATE_4_no_fiber_is_lost_or_run_twice(fibers):
    """Threads and fibers spawn, cancel and join at once, and change at nearly each line."""
    interval = sys.getswitchinterval()
    runs, stopped = [0] * 4000, set()

    def body(n):
        if n % 3 == 0:
            weft.yield_now()
        elif n % 100 == 1:
            time.sleep(0.0001)
        runs[n] += 1

    def spawns(first):
        for base in range(first, first + 500, 20):
            fs = {n: weft.spawn(body, n) for n in range(base, base + 20)}
            for n in range(base, base + 20, 5):
                fs[n].cancel()
            for n, f in fs.items():
                try:
                    f.result()
                except weft.Cancelled:
                    stopped.add(n)

    def main():
        threads = [threading.Thread(target=spawns, args=(500 * i,)) for i in range(4)]
        for t in threads:
            t.start()
        for f in [weft.spawn(spawns, 500 * i) for i in range(4, 8)]:
            f.result()
        for t in threads:
            weft.blocking(t.join)

    sys.setswitchinterval(1e-6)
    try:
        fibers(main, workers=3)
    finally:
        sys.setswitchinterval(interval)
    assert all(n % 5 == 0 for n in stopped)
    assert [n for n, times in enumerate(runs) if times != (n not in stopped)] == []


def test_stress(fibers):
    blob, seconds = bytes(range(256)) * 40, 2
    plus = CALLBACK(lambda n: n + 1)

    def works(i, ch, end):
        sent = 0
        while time.monotonic() < end:
            ch.send([i, {"k": float(i)}])
            sent += 1
            kind = (sent * 7 + i) % 9
            if kind == 0:
                gc.collect(0)
            elif kind == 1:
                zlib.compress(blob)
            elif kind == 2:
                assert plus(i) == i + 1
            elif kind == 3:
                try:
                    raise ValueError(i)
                except ValueError as e:
                    weft.yield_now()
                    assert e.args == (i,)
            elif kind == 4:
                weft.sleep(0.0001)
            elif kind == 5:
                time.sleep(0.0002)
            elif kind == 6:
                sum(x for x in range(1000))
            elif kind == 7:
                victim = weft.spawn(weft.sleep, LATE)
                weft.yield_now()
                victim.cancel()
                victim.join()
            elif kind == 8:
                with pytest.raises(TimeoutError):
                    with weft.timeout(0.0001):
                        weft.Event().wait()
        return sent

    def takes(ch):
        return sum(isinstance(v[1]["k"], float) for v in ch)

    def main():
        ch, end, results = weft.Channel(16), time.monotonic() + seconds, []
        threads = [threading.Thread(target=lambda: results.append(-takes(ch))) for _ in range(2)]
        senders = [threading.Thread(target=lambda i=i: results.append(works(i, ch, end))) for i in range(2)]
        takers, workers = [weft.spawn(takes, ch) for _ in range(8)], [weft.spawn(works, i, ch, end) for i in range(40)]
        for t in threads + senders:
            t.start()
        sent = sum(w.result() for w in workers)
        for t in senders:
            t.join()
        ch.close()
        taken = sum(t.result() for t in takers)
        for t in threads:
            t.join()
        assert sent + sum(results) == taken and taken > 100
    fibers(main, workers=3)


# ---- what is left behind

def test_PYSTATE_5_nothing_grows_with_the_number_of_fibers(fibers):
    def f(x):
        return x
    argument = object()
    f_count, argument_count = sys.getrefcount(f), sys.getrefcount(argument)

    def main():
        for _ in range(10):
            for fiber in [weft.spawn(f, argument) for _ in range(1000)]:
                fiber.join()
            fiber = None
        gc.collect()
        objects, states = len(gc.get_objects()), _fibers._counts()["thread_states"]
        for _ in range(100):
            for fiber in [weft.spawn(f, argument) for _ in range(1000)]:
                fiber.join()
            fiber = None
        gc.collect()
        assert len(gc.get_objects()) < objects + 100
        assert _fibers._counts()["thread_states"] < states + 100      # as many as blocked at once, however many fibers there were
        cycle = []
        cycle.append(weft.spawn(lambda: cycle))
        cycle[0].join()
    fibers(main)
    gc.collect()
    assert sys.getrefcount(f) == f_count and sys.getrefcount(argument) == argument_count
    assert not [o for o in gc.get_objects() if type(o) is weft.Fiber]


def test_PYSTATE_5_thread_states_end_with_the_runtime_and_pystates_serve_again(fibers):
    def main(threads):
        go, began = weft.Event(), weft.Semaphore(0)
        fs = [weft.spawn(lambda: (began.release(), go.wait())) for _ in range(300)]
        for _ in range(300):
            began.acquire()
        assert _fibers._counts()["thread_states"] >= 301
        go.set()
        for f in fs[threads:]:          # the others wake late, while the runtime ends
            f.join()
        return _fibers._counts()["pystates"]

    most = fibers(main, 0)
    for threads in (0, 100, 300):
        assert fibers(main, threads) <= most + 10      # some may have had no time to come back
        assert _fibers._counts()["thread_states"] == 0
        most = max(most, _fibers._counts()["pystates"])


def test_threads_end_with_the_runtime(fibers):
    def threads():
        return len(os.listdir("/proc/self/task"))
    fibers(lambda: weft.sleep(0.001))       # the watch of the gate stays
    before = threads()
    for _ in range(5):
        fibers(lambda: [weft.spawn(time.sleep, 0.01) for _ in range(5)] and None)
    assert threads() == before


# ---- the end of the interpreter

def test_exit_with_fibers_parked():
    out = in_process("def f():\n"
                     "    try: weft.sleep(1000)\n"
                     "    finally: sys.stdout.write('ended\\n')\n"
                     "weft.spawn(f); weft.spawn(f); ch = weft.Channel(); g = weft.spawn(ch.receive); time.sleep(0.2)")
    assert out == "ended\nended\n"


def test_exit_with_fibers_that_have_not_begun():
    assert in_process("[weft.spawn(time.sleep, 0) for _ in range(1000)]") == ""


@pytest.mark.parametrize("lock", ["", "while True: time.sleep(0)", "while True:\n  try: weft.sleep(1)\n  except BaseException: pass"])
def test_exit_with_fibers_that_compute(lock):
    assert in_process(f"def f():\n {lock or 'while True: pass'}\nfs = [weft.spawn(f) for _ in range(3)]; weft.sleep(0.1)") == ""


def test_exit_with_fibers_that_block():
    assert in_process("fs = [weft.spawn(time.sleep, 1000) for _ in range(3)]; weft.sleep(0.1)") == ""


def test_PYSTATE_7_exit_while_a_blocked_fiber_comes_back():
    """Its thread asks for the GIL when the interpreter is half gone, and must neither get it nor end."""
    out = in_process("import os, types\n"
                     "class Late:\n"
                     "    def __del__(self, sleep=time.sleep, write=os.write):\n"
                     "        sleep(1.5)\n"
                     "        write(1, b'late')\n"
                     "sys.modules['m'] = types.ModuleType('m')\n"
                     "sys.modules['m'].late = Late()\n"
                     "def f(write=os.write):\n"
                     "    time.sleep(2)\n"
                     "    write(1, b'must not come back')\n"
                     "fs = [weft.spawn(f) for _ in range(5)]; weft.sleep(0.1)")
    assert out == "late"


def test_exit_by_sys_exit_and_by_an_exception_in_run():
    assert in_process("try: weft.run(sys.exit, 3)\nexcept SystemExit as e: print(e.code)") == "3\n"
    assert in_process("import atexit; atexit.register(print, 'other'); weft.spawn(print, 'fiber').join()") == "fiber\nother\n"


def test_exit_ends_the_last_runtime():
    """A function of atexit that comes later may have one that ends itself, but none that lasts."""
    out = in_process("import atexit\n"
                     "def late():\n"
                     "    print(weft.run(len, 'ab'))\n"
                     "    try: weft.spawn(len, '')\n"
                     "    except RuntimeError as e: print(e)\n"
                     "atexit.register(late); weft.spawn(len, '').join()")
    assert out == "2\nweft: the program is ending, and no one would end another runtime\n"


def test_exit_with_a_thread_that_waits_for_fibers():
    assert in_process("ch = weft.Channel()\n"
                      "threading.Thread(target=lambda: print(ch.receive())).start()\n"
                      "weft.spawn(lambda: (weft.sleep(0.2), ch.send('late')))") == "late\n"


def test_python_code_of_a_native_fiber_cannot_wait(build):
    uses, ch = build("uses"), weft.Channel(1)
    for wait in (lambda: weft.sleep(0.001), ch.receive, lambda: weft.blocking(len, ""), weft.timeout(1).__enter__):
        raised = uses.call_in_native_fiber(wait)
        assert isinstance(raised, RuntimeError) and "a fiber of native code" in str(raised)
    assert uses.call_in_native_fiber(lambda: weft.run(len, "")).args[0].startswith("weft.run: a fiber")


def test_an_interrupt_ends_run():
    out = in_process("import os, signal\n"
                     "def main():\n"
                     "    os.kill(os.getpid(), signal.SIGINT)\n"
                     "    try: weft.sleep(1000)\n"
                     "    finally: print('main ends')\n"
                     "try: weft.run(main)\n"
                     "except KeyboardInterrupt: print('interrupted')")
    assert out == "main ends\ninterrupted\n"


@forks
def test_a_forked_child_has_no_fibers():
    out = in_process("import os\n"
                     "weft.spawn(len, '').join()\n"
                     "pid = os.fork()\n"
                     "if pid == 0:\n"
                     "    try: weft.spawn(len, '')\n"
                     "    except RuntimeError as e: print('forked' in str(e), threading.RLock.__name__, flush=True)\n"
                     "    sys.exit(0)\n"
                     "print(os.waitpid(pid, 0)[1], flush=True)\n",
                     PYTHONWARNINGS="ignore")
    assert out == "True RLock\n0\n"


FORKED = """
import os
def child(f):
    pid = os.fork()
    if pid == 0:
        return f()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
"""


@forks
def test_a_child_of_fork_may_have_fibers_when_the_runtime_was_over():
    """The watch of the gate, which the child has lost, must begin anew: else the sleeps come one after the other."""
    out = in_process(FORKED + "weft.run(len, '')\n"
                     "def main():\n"
                     "    begin = time.monotonic()\n"
                     "    fs = [weft.spawn(time.sleep, 0.2) for _ in range(20)]\n"
                     "    [f.result() for f in fs]\n"
                     "    return time.monotonic() - begin\n"
                     "def f():\n"
                     "    print(min(weft.run(main) for _ in range(3)) < 3, flush=True)\n"
                     "    os._exit(7)\n"
                     "print(child(f))", PYTHONWARNINGS="ignore")
    assert out == "True\n7\n"


@forks
@pytest.mark.parametrize("call", ["f(end)", "weft.blocking(f, end)"])
def test_a_child_that_is_forked_in_a_fiber_ends_with_it(call):
    """In it the fiber waits as a thread does, and no other fiber comes."""
    out = in_process(FORKED + "lock = []\n"
                     "def in_child():\n"
                     "    weft.yield_now(), weft.sleep(0.001)\n"
                     "    lock[-1].release(), lock[-1].acquire()\n"
                     "    try: weft.spawn(len, '')\n"
                     "    except RuntimeError as e: print('forked' in str(e), flush=True)\n"
                     "    try:\n"
                     "        with weft.timeout(0.01): weft.Channel().receive()\n"
                     "    except TimeoutError: print('in time', end=' ', flush=True)\n"
                     "def f(end):\n"
                     "    lock.append(threading.RLock())\n"
                     "    with lock[-1], weft.scope() as s:\n"
                     "        s.spawn(weft.sleep, 0.001)\n"
                     "        print(child(lambda: (in_child(), end())), flush=True)\n"
                     "def main():\n"
                     "    others = [weft.spawn(lambda: [weft.sleep(0.001) for _ in range(100)]) for _ in range(10)]\n"
                     "    for end in (int, lambda: sys.exit(3), lambda: os._exit(4)):\n"
                     f"        weft.spawn(lambda: {call}).result()\n"
                     "    [o.result() for o in others]\n"
                     "weft.run(main, workers=2)", PYTHONWARNINGS="ignore", timeout=20)
    assert out == "True\nin time (None, 0)\n0\nTrue\nin time 3\nTrue\nin time 4\n"


def test_exit_while_a_thread_ends_its_run():
    """Both the thread and the end of the interpreter find the last fiber ended; one of them ends the runtime."""
    for _ in range(3):
        out = in_process("def main():\n"
                         "    weft.spawn(time.sleep, 0.4)\n"
                         "    weft.sleep(0.01)\n"
                         "    print('main')\n"
                         "threading.Thread(target=weft.run, args=(main,), daemon=True).start(); time.sleep(0.2)")
        assert out == "main\n"


def test_the_default_runtime_lasts():
    assert in_process("print([weft.spawn(pow, i, 2).result() for i in range(5)])\n"
                      "try: weft.run(len, '')\n"
                      "except RuntimeError as e: print('already' in str(e))") == "[0, 1, 4, 9, 16]\nTrue\n"
