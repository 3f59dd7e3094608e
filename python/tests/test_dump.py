"""weft.dump: what fibers do, with the frames of Python."""
import gc
import re
import sys
import threading
import time

import pytest

import weft
from test_fibers import LATE, fibers, in_process  # noqa: F401 (fibers is a fixture)


def fiber_of(name, text):
    """The lines of the fiber that runs a function under this name."""
    for part in re.split(r"^(?=fiber )", text, flags=re.M):
        if f"    Python: {name!r}" in part:
            return part
    raise AssertionError(f"{name} is not in:\n{text}")


def frames(part):
    return re.findall(r'^        File ".*", line \d+, in (?:\w+\.<locals>\.)*(\w+)$', part, flags=re.M)


def receives(ch):
    return inner(ch)


def inner(ch):
    return ch.receive()


def test_shows_where_fibers_are(fibers):
    def sleeps(began):
        began.set()
        time.sleep(LATE) if not go.wait(LATE) else None

    def pool(began):
        sleeps(began)

    def main():
        ch, began, in_pool = weft.Channel(), weft.Event(), weft.Event()
        fs = [weft.spawn(receives, ch, name="reader"), weft.spawn(sleeps, began, name="blocks"),
              weft.spawn(weft.blocking, pool, in_pool, name="lends")]
        began.wait(), in_pool.wait()
        while len(re.findall("waiting for channel receive", text := weft.dump())) < 1:
            weft.yield_now()
        ours = sys._getframe().f_lineno - 2
        go.set(), ch.send(1), [f.join() for f in fs]
        return text, ours

    go = threading.Event()
    text, ours = fibers(main)
    assert text.startswith('weft: runtime "weft", workers: 2, fibers: ') and text.endswith("\n")
    reader = fiber_of("reader", text)
    assert reader.startswith("fiber ") and '"reader": waiting for channel receive' in reader.splitlines()[0]
    assert frames(reader) == ["inner", "receives"] and f'File "{__file__}", line {inner.__code__.co_firstlineno + 1}, in inner' in reader
    blocks, lends, main_part = (fiber_of(name, text) for name in ("blocks", "lends", "main"))
    assert frames(blocks)[-1] == "sleeps" and "on a thread" not in blocks
    assert frames(lends)[-2:] == ["sleeps", "pool"] and "waiting for blocking call" in lends and "on a thread of weft.blocking" in lends
    assert frames(main_part) == ["main"] and f", line {ours}, in " in main_part and "running on worker" in main_part


def test_tells_of_fibers_together_that_wait_alike(fibers):
    def main():
        chs = [weft.Channel() for _ in range(60)]
        fs = [weft.spawn(receives, ch, name=f"r{i}") for i, ch in enumerate(chs)] + [weft.spawn(lambda: inner(chs[0]), name="other")]
        def waiting(text):
            return sum(map(int, re.findall(r"^(\d+) fibers: waiting for channel receive", text, flags=re.M)))
        while waiting(text := weft.dump()) < 60 or "'other'" not in text:
            weft.yield_now()
        chs[0].close()
        for f, ch in zip(fs[1:], chs[1:]):
            ch.send(1)
            f.result()
        for f in (fs[0], fs[-1]):
            with pytest.raises(weft.Closed):
                f.result()
        return text
    text = fibers(main)
    group = re.search(r"^Python of (\d+) fibers: 'r(.*) and \d+ more\n((?:        File .*\n)+)", text, flags=re.M)
    assert int(group[1]) >= 50 and frames(group[3]) == ["inner", "receives"] and group[2].count(",") == 19, text


def test_counts_what_has_not_begun(fibers):
    interval = sys.getswitchinterval()

    def main():
        sys.setswitchinterval(100)      # so that none begins before main() waits
        assert "not begun" not in weft.dump()
        first = weft.spawn(len, "")
        one = weft.dump()
        rest = [weft.spawn(len, "") for _ in range(9)]
        ten = weft.dump()
        first.cancel()
        nine = weft.dump()
        sys.setswitchinterval(interval)
        for f in rest:
            f.join()
        return one, ten, nine, weft.dump()
    try:
        one, ten, nine, none = fibers(main, workers=1)
    finally:
        sys.setswitchinterval(interval)
    assert one.endswith("\n1 fiber of Python not begun\n") and ten.endswith("\n10 fibers of Python not begun\n")
    assert nine.endswith("\n9 fibers of Python not begun\n") and "not begun" not in none


def test_from_threads_and_without_a_runtime(fibers):
    def main():
        out = []
        f = weft.spawn(weft.sleep, LATE, name="asleep")
        while "waiting for sleep" not in weft.dump():
            weft.yield_now()
        thread = threading.Thread(target=lambda: out.append(weft.dump()))
        thread.start()
        thread.join()
        f.cancel()
        return out[0]
    assert '    Python: \'asleep\'\n' in fibers(main)
    assert in_process("print(weft.dump(), end='')") == "weft: no runtime\n"


def test_on_a_signal():
    out = in_process("import os, signal\n"
                     "seen = []\n"
                     "signal.signal(signal.SIGUSR1, lambda *_: seen.append(weft.dump()))\n"
                     "def main():\n"
                     "    os.kill(os.getpid(), signal.SIGUSR1)\n"
                     "    while not seen: weft.sleep(0.001)\n"
                     "    return seen[0]\n"
                     "print(weft.run(main))")
    assert "    Python: 'main'\n        File \"<string>\", line " in out


def test_a_deep_fiber_and_odd_names(fibers):
    def deep(n):
        return weft.dump() if n == 0 else deep(n - 1)

    def main():
        name = "a\nfiber 1 \"b\nfiber\nfiber x"
        text = weft.spawn(deep, 300, name=name).result()
        assert repr(name) in text and text.count(".deep\n") == 100 and "and others that have called it" in text
    fibers(main)


def test_while_fibers_run(fibers):
    """Frames are taken while other fibers run, end and change their threads; none is kept."""
    class Value:
        pass

    def works(i, end):
        value = Value()
        while time.monotonic() < end:
            weft.spawn(weft.yield_now).join()
            weft.sleep(0.0001) if i % 3 else weft.blocking(sum, range(100))
        return value is not None

    def main():
        end = time.monotonic() + 1
        fs = [weft.spawn(works, i, end, name=f"works {i}") for i in range(20)]
        seen = 0
        while time.monotonic() < end:
            seen += weft.dump().count(", in works") + weft.dump().count(".works")
            weft.yield_now()
        assert all(f.result() for f in fs) and seen > 0
    fibers(main, workers=3)
    gc.collect()
    assert not [o for o in gc.get_objects() if type(o) is Value]
