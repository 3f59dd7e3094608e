"""Fibers and coroutines of asyncio: `await fiber`, weft.run_coroutine, asyncio.run in a fiber."""
import asyncio
import contextvars
import ctypes
import gc
import sys
import threading
import time

import pytest

import weft
from test_fibers import LATE, SOON, fibers, from_both, in_process  # noqa: F401 (fibers is a fixture)


def on_thread(function):
    """\\returns what the function returns on a thread, or raises what it raises there."""
    result = []

    def call():
        try:
            result.append((function(), None))
        except BaseException as e:
            result.append((None, e))
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    if result[0][1] is not None:
        raise result[0][1]
    return result[0][0]


def beside_a_runtime(function):
    """Calls it on this thread, while another one runs fibers."""
    began, go = weft.Event(), weft.Event()
    thread = threading.Thread(target=weft.run, args=(lambda: (began.set(), go.wait()),))
    thread.start()
    began.wait()
    try:
        return function()
    finally:
        go.set()
        thread.join()


PLACES = {"main thread": beside_a_runtime, "thread": lambda f: beside_a_runtime(lambda: on_thread(f)), "fiber": weft.run,
          "pool": lambda f: weft.run(weft.blocking, f)}


@pytest.fixture(params=PLACES)
def run(request):
    """run(coro): asyncio.run() in one of the places."""
    return lambda coro: PLACES[request.param](lambda: asyncio.run(coro))


# ---- await fiber

def test_await_returns_the_result(run):
    async def main():
        slow, quick = weft.spawn(lambda: weft.sleep(SOON) or "slow"), weft.spawn(len, "abc")
        assert await slow == "slow" and await quick == 3
        assert await slow == "slow"                    # it has ended already
        assert await weft.as_future(slow) == "slow"
        return await asyncio.gather(*(weft.spawn(pow, i, 2) for i in range(100)))
    assert run(main()) == [i * i for i in range(100)]


def test_await_leaves_the_loop_running(run):
    async def main():
        ticks, go = 0, weft.Event()
        f = weft.as_future(weft.spawn(go.wait))
        while ticks < 5:
            await asyncio.sleep(0.001)
            ticks += 1
        assert not f.done()
        go.set()
        await f
    run(main())


def test_await_raises_what_the_fiber_raised(run):
    def fails(error):
        weft.yield_now()
        raise error

    async def main():
        for error in (KeyError("x"), SystemExit(3), asyncio.CancelledError()):
            with pytest.raises(type(error)) as caught:
                await weft.spawn(fails, error)
        with pytest.raises(RuntimeError, match="StopIteration") as caught:
            await weft.spawn(fails, StopIteration(5))
        assert caught.value.__cause__.value == 5
        f = weft.spawn(weft.sleep, LATE)
        future = weft.as_future(f)
        f.cancel()
        with pytest.raises(weft.Cancelled):
            await future
        with pytest.raises(weft.Cancelled):
            await f
    run(main())


def test_a_cancelled_await_does_not_cancel_the_fiber(run):
    async def main():
        go = weft.Event()
        f = weft.spawn(lambda: go.wait() or 7)
        for _ in range(3):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(f, SOON)
            task = asyncio.ensure_future(f)
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert not f.done
        go.set()
        assert await f == 7
    run(main())


def test_a_failure_that_no_await_has_taken_is_reported(run, monkeypatch):
    told = []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: told.append(what.exc_type))

    async def main():
        go = weft.Event()
        f = weft.spawn(lambda: go.wait() or 1 / 0)
        future = weft.as_future(f)
        future.cancel()
        await asyncio.sleep(0)
        go.set()
        f.join()
        await asyncio.sleep(0)
    run(main())
    gc.collect()
    assert told == [ZeroDivisionError]


def test_the_loop_ends_before_the_fiber():
    async def leaves():
        go = weft.Event()
        f = weft.spawn(go.wait)
        return f, go, weft.as_future(f)

    def check():
        f, go, future = asyncio.run(leaves())
        go.set()
        assert f.result() is None and not future.done()
    from_both(check)


def test_futures_need_a_loop_and_a_fiber():
    def check():
        f = weft.spawn(len, "")
        with pytest.raises(RuntimeError, match="no running event loop"):
            weft.as_future(f)
        f.join()

        async def main():
            for bad in (None, 3, asyncio.sleep):
                with pytest.raises(TypeError):
                    weft.as_future(bad)
        asyncio.run(main())

    async def awaits(own):
        await own.receive()

    def main():
        own = weft.Channel(1)
        f = weft.spawn(lambda: asyncio.run(awaits(own)))
        own.send(f)
        with pytest.raises(RuntimeError, match="its own end"):
            f.result()
    from_both(check)
    weft.run(main)


def test_no_future_stays_with_a_fiber():
    def main():
        go = weft.Event()
        f = weft.spawn(go.wait)

        async def awaits():
            for _ in range(100):
                weft.as_future(f).cancel()
            await asyncio.sleep(0)
            gc.collect()
            return len([o for o in gc.get_objects() if isinstance(o, asyncio.Future) and o.cancelled()])
        assert asyncio.run(awaits()) == 0
        go.set()
    weft.run(main)


# ---- asyncio.run in a fiber

def test_a_loop_of_a_fiber_ends_with_it(fibers):
    """Up to 3.12, asyncio keeps a pointer into the dictionary of a thread state by the number of that, and a runner has many bodies."""
    get, number = ctypes.pythonapi.PyThreadState_Get, ctypes.pythonapi.PyThreadState_GetID
    get.restype, number.argtypes, number.restype = ctypes.c_void_p, [ctypes.c_void_p], ctypes.c_uint64

    def state():
        with pytest.raises(RuntimeError, match="no running event loop"):
            asyncio.get_running_loop()
        return get(), number(get())

    def runs():
        assert asyncio.run(asyncio.sleep(0, 5)) == 5
        return state()

    def main():
        for _ in range(10):
            there, before = weft.spawn(runs).result()
            again, after = weft.spawn(state).result()
            assert there == again and (before != after or sys.version_info >= (3, 13))
    fibers(main, workers=1)


def test_loops_of_many_fibers(fibers):
    async def pings(mine, other, n):
        for i in range(n):
            await asyncio.sleep(0.0005)
            other.send(i)
            mine.receive()          # it keeps the loop, and may end on another thread
        return n

    def main():
        a, b = weft.Channel(1), weft.Channel(1)
        fs = [weft.spawn(lambda x=x, y=y: asyncio.run(pings(x, y, 20))) for x, y in ((a, b), (b, a))]
        fs += [weft.spawn(lambda: asyncio.run(asyncio.sleep(0.01, 20))) for _ in range(10)]
        assert [f.result() for f in fs] == [20] * 12
    fibers(main)


# ---- weft.run_coroutine

def test_run_coroutine_returns_and_raises(fibers):
    async def gives(value):
        await asyncio.sleep(0.001)
        return value

    async def fails():
        await asyncio.sleep(0)
        raise KeyError("x")

    def check():
        assert weft.run_coroutine(gives(3)) == 3
        with pytest.raises(KeyError):
            weft.run_coroutine(fails())
        assert weft.run_coroutine(gives([f := weft.spawn(len, "ab")]))[0] is f
        f.join()

    def main():
        check()
        thread = threading.Thread(target=check)
        thread.start()
        weft.blocking(thread.join)
        fs = [weft.spawn(lambda i=i: weft.run_coroutine(gives(i))) for i in range(100)]
        assert [f.result() for f in fs] == list(range(100))
    fibers(main)
    assert "weft.run_coroutine" not in [t.name for t in threading.enumerate()]      # the loop has ended with the runtime


def test_many_that_begin_at_once_have_one_loop(fibers, monkeypatch):
    made = []

    def slow():
        time.sleep(SOON)        # as if the system took its time to make sockets
        made.append(new_event_loop())
        return made[-1]
    new_event_loop = asyncio.new_event_loop
    monkeypatch.setattr(asyncio, "new_event_loop", slow)

    async def where():
        return asyncio.get_running_loop()

    def main():
        fs = [weft.spawn(lambda: weft.run_coroutine(where())) for _ in range(8)]
        return {f.result() for f in fs}
    assert len(fibers(main)) == 1 and len(made) > 1 and all(loop.is_closed() for loop in made)


def test_run_coroutine_on_a_loop_of_the_program(fibers):
    async def where():
        return threading.get_ident(), asyncio.get_running_loop()

    async def serves():
        loop = asyncio.get_running_loop()
        return await asyncio.gather(*(weft.spawn(weft.run_coroutine, where(), loop) for _ in range(10))), threading.get_ident(), loop

    def main():
        places, thread, loop = on_thread(lambda: asyncio.run(serves()))
        assert places == [(thread, loop)] * 10
    fibers(main)


def test_run_coroutine_keeps_no_thread(fibers):
    async def waits():
        go = asyncio.Event()
        events.append(go)
        await go.wait()
        return 1

    def main():
        fs = [weft.spawn(lambda: weft.run_coroutine(waits())) for _ in range(200)]
        while len(events) < 200:
            weft.sleep(0.001)
        threads = threading.active_count()
        native = len([t for t in __import__("os").listdir("/proc/self/task")])
        assert threads < 20 and native < 100

        async def wake():
            for e in events:
                e.set()
        weft.run_coroutine(wake())
        assert sum(f.result() for f in fs) == 200
    events = []
    fibers(main)


def test_run_coroutine_has_the_context_of_its_caller(fibers):
    var = contextvars.ContextVar("var")

    async def reads():
        return var.get()

    def child(i):
        var.set(i)
        weft.yield_now()
        return weft.run_coroutine(reads())
    fibers(lambda: [weft.spawn(child, i) for i in range(10)] and None)
    assert fibers(lambda: [f.result() for f in [weft.spawn(child, i) for i in range(10)]]) == list(range(10))


@pytest.mark.parametrize("stop", ["cancel", "timeout", "scope"])
def test_a_stop_cancels_the_coroutine(fibers, stop):
    seen = []

    async def waits(began):
        try:
            began.set()
            await asyncio.sleep(LATE)
        except asyncio.CancelledError:
            seen.append("cancelled")
            await asyncio.sleep(SOON)
            seen.append("ended")
            raise

    def main():
        began = weft.Event()
        if stop == "timeout":
            with pytest.raises(TimeoutError):
                with weft.timeout(SOON):
                    weft.run_coroutine(waits(began))
        elif stop == "scope":
            with weft.scope() as s:
                s.spawn(lambda: began.wait() or s.cancel())
                weft.run_coroutine(waits(began))
        else:
            f = weft.spawn(lambda: weft.run_coroutine(waits(began)))
            began.wait()
            f.cancel()
            with pytest.raises(weft.Cancelled):
                f.result()
        assert seen == ["cancelled", "ended"]      # the call has waited for it
    fibers(main)


def test_a_coroutine_that_is_not_begun_never_is(fibers):
    async def runs():
        seen.append(1)
    seen = []

    def body():
        with pytest.raises(weft.Cancelled):
            weft.sleep(LATE)
        with pytest.raises(weft.Cancelled):
            weft.run_coroutine(runs())

    def main():
        f = weft.spawn(body)
        weft.sleep(SOON)
        f.cancel()
        f.result()
        idle = asyncio.new_event_loop()            # no one runs it
        with pytest.raises(TimeoutError):
            with weft.timeout(SOON):
                weft.run_coroutine(runs(), idle)
        idle.run_until_complete(asyncio.sleep(0))
        idle.close()
        with pytest.raises(RuntimeError, match="closed"):
            weft.run_coroutine(runs(), idle)
        assert not seen
    fibers(main)


def test_run_coroutine_refuses_what_it_cannot_do(fibers):
    async def waits_for_itself():
        weft.run_coroutine(asyncio.sleep(0), asyncio.get_running_loop())

    def check():
        for bad in (None, 3, asyncio.sleep):
            with pytest.raises(TypeError, match="not a coroutine"):
                weft.run_coroutine(bad)
        with pytest.raises(RuntimeError, match="waits for this call"):
            asyncio.run(waits_for_itself())
        with pytest.raises(AttributeError):
            weft.run_coroutine(asyncio.sleep(0), 3)

    fibers(lambda: check())
    on_thread(check)


def test_a_coroutine_that_is_cancelled_by_others(fibers):
    async def cancels_itself():
        asyncio.current_task().cancel()
        await asyncio.sleep(LATE)

    def main():
        with pytest.raises(asyncio.CancelledError):
            weft.run_coroutine(cancels_itself())
    fibers(main)


def test_run_coroutine_after_its_loop_was_stopped(fibers):
    async def stops():
        asyncio.get_running_loop().stop()

    def main():
        weft.run_coroutine(stops())
        while "weft.run_coroutine" in [t.name for t in threading.enumerate()]:
            weft.sleep(0.001)
        assert weft.run_coroutine(asyncio.sleep(0, 4)) == 4
    fibers(main)


def test_coroutines_end_with_the_program():
    out = in_process("import asyncio\n"
                     "async def waits(name):\n"
                     "    try: await asyncio.sleep(1000)\n"
                     "    finally: print(name, 'ends')\n"
                     "def f():\n"
                     "    try: weft.run_coroutine(waits('coroutine'))\n"
                     "    finally: print('fiber ends')\n"
                     "weft.spawn(f); weft.sleep(0.2)")
    assert out == "coroutine ends\nfiber ends\n"
    assert in_process("import asyncio\nprint(weft.run_coroutine(asyncio.sleep(0, 5)))") == "5\n"
    assert in_process("import asyncio\nweft.run(lambda: weft.run_coroutine(asyncio.sleep(0)))\n"
                      "print(weft.run(lambda: weft.run_coroutine(asyncio.sleep(0, 5))))") == "5\n"


def test_stress(fibers):
    """Coroutines await fibers that run coroutines, some are cancelled; all that is sent arrives."""
    seconds = 1.0

    async def inner(i):
        await asyncio.sleep(0)
        return i

    def fiber(i):
        with weft.timeout(LATE):
            return weft.run_coroutine(inner(i))

    async def outer(end):
        done = given_up = 0
        while time.monotonic() < end:
            fs = [weft.spawn(fiber, i) for i in range(10)]
            late = weft.spawn(weft.sleep, LATE)
            try:
                await asyncio.wait_for(late, 0.0005)
            except TimeoutError:
                given_up += 1
            late.cancel()
            done += sum(await asyncio.gather(*fs))
        assert done == 45 * given_up
        return given_up

    def main():
        end = time.monotonic() + seconds
        fs = [weft.spawn(lambda: asyncio.run(outer(end))) for _ in range(3)]
        fs.append(weft.spawn(weft.blocking, on_thread, lambda: asyncio.run(outer(end))))
        assert all(f.result() > 0 for f in fs)
    fibers(main, workers=3)
