"""weft.select: one of several channels, or a time; from fibers and from threads."""
import collections
import gc
import random
import sys
import threading
import time

import pytest

import weft
from test_fibers import LATE, SOON, fibers, from_both, in_process  # noqa: F401 (fibers is a fixture)


def test_takes_what_is_there():
    def check():
        a, b = weft.Channel(1), weft.Channel(1)
        a.send("from a")
        chosen = weft.select(weft.receive(a), weft.receive(b))
        assert chosen == (0, "from a") and (chosen.index, chosen.value) == (0, "from a") and repr(chosen.case).startswith("weft.receive(")
        b.send("from b")
        assert weft.select(weft.receive(a), weft.receive(b)) == (1, "from b")
        assert weft.select(weft.receive(a), weft.send(b, 5)) == (1, None) and b.receive() == 5
    from_both(check)


def test_waits_for_what_comes():
    def check():
        asked, answers = weft.Channel(), weft.Channel()
        server = weft.spawn(lambda: [answers.send(v * 2) for v in asked])
        assert weft.select(weft.receive(answers), weft.send(asked, 21)) == (1, None)
        assert weft.select(weft.receive(answers), weft.send(asked, 0)) == (0, 42)
        asked.close()
        server.result()
    from_both(check)


def test_a_result_is_matched():
    def name(chosen):
        match chosen:
            case 0, order:
                return f"order {order}"
            case 1, _:
                return "sent"
            case weft.Selected(index=2):
                return "time"

    def check():
        orders, acks = weft.Channel(1), weft.Channel(1)
        orders.send(7)
        assert name(weft.select(weft.receive(orders), weft.after(LATE))) == "order 7"
        assert name(weft.select(weft.receive(orders), weft.send(acks, 1), weft.after(LATE))) == "sent"
        assert name(weft.select(weft.receive(orders), weft.send(acks, 2), weft.after(SOON))) == "time"
    from_both(check)


def test_after_and_timeout():
    def check():
        ch = weft.Channel()
        for seconds in (0, -1, SOON):
            chosen = weft.select(weft.receive(ch), weft.after(LATE), weft.after(seconds))
            assert chosen == (2, None) and repr(chosen.case) == f"weft.after({seconds})"
        for seconds in (0, -1, SOON):
            with pytest.raises(TimeoutError):
                weft.select(weft.receive(ch), weft.send(ch, 1), timeout=seconds)
        with pytest.raises(TimeoutError):
            weft.select(weft.receive(ch), weft.after(LATE), timeout=SOON)
        assert weft.select(weft.receive(ch), weft.after(SOON), timeout=LATE) == (1, None)
        assert weft.select(weft.after(0)) == (0, None) and weft.select(weft.after(0.0001), weft.after(0)) == (1, None)
        for seconds in (None, "x", float("nan")):
            with pytest.raises((TypeError, ValueError)):
                weft.after(seconds)
        with pytest.raises(TypeError):
            weft.select(weft.receive(ch), timeout="x")
    from_both(check)


def test_a_time_of_0_takes_what_is_ready():
    def check():
        ch = weft.Channel(1)
        assert weft.select(weft.send(ch, 1), weft.after(0)) == (0, None)
        assert weft.select(weft.receive(ch), weft.after(0)) == (0, 1)
        assert weft.select(weft.send(ch, 2), timeout=0) == (0, None)
        assert weft.select(weft.receive(ch), timeout=0) == (0, 2)
    from_both(check)


def test_closed_names_its_case():
    def check():
        open_one, closed = weft.Channel(1), weft.Channel(1)
        closed.send("left")
        closed.close()
        cases = weft.receive(open_one), weft.receive(closed)
        assert weft.select(*cases) == (1, "left")
        for cases in (cases, (weft.receive(open_one), weft.send(closed, object())), (weft.after(LATE), cases[1])):
            with pytest.raises(weft.Closed, match="case 1 is closed") as caught:
                weft.select(*cases)
            assert caught.value.index == 1 and caught.value.case is cases[1]
        with pytest.raises(weft.Closed) as caught:
            closed.receive()
        assert caught.value.index is None and caught.value.case is None
    from_both(check)


def test_a_close_ends_a_wait(fibers):
    def main():
        for case in (weft.receive, lambda ch: weft.send(ch, 1)):
            ch, other = weft.Channel(), weft.Channel()
            f = weft.spawn(weft.select, weft.receive(other), case(ch))
            weft.sleep(SOON)
            ch.close()
            with pytest.raises(weft.Closed) as caught:
                f.result()
            assert caught.value.index == 1
    fibers(main)


def test_refuses_bad_cases():
    def check():
        ch = weft.Channel(1)
        with pytest.raises(ValueError, match="no cases"):
            weft.select()
        with pytest.raises(ValueError, match="no cases"):
            weft.select(timeout=0)
        for bad in (ch, None, 3, weft.receive, (0, ch)):
            with pytest.raises(TypeError, match="is not a case"):
                weft.select(weft.receive(ch), bad)
        with pytest.raises(ValueError, match="more than 65535"):
            weft.select(*[weft.receive(ch)] * 65536)
        for make in (weft.receive, lambda ch: weft.send(ch, 1)):
            for bad in (None, 3, weft.Event()):
                with pytest.raises(TypeError):
                    make(bad)
        with pytest.raises(TypeError):
            weft.Case()
        assert len(ch) == 0
    from_both(check)


def test_many_cases_and_a_channel_in_several():
    def check():
        channels = [weft.Channel(1) for _ in range(1000)]
        cases = [weft.receive(ch) for ch in channels]
        channels[777].send("x")
        assert weft.select(*cases) == (777, "x")
        assert weft.select(*cases, *cases, weft.after(SOON)) == (2000, None)
        assert weft.select(*[weft.after(LATE)] * 65534, weft.send(channels[5], 5)) == (65534, None)
        same = channels[5]
        assert weft.select(weft.receive(same), weft.receive(same)).value == 5
        assert weft.select(weft.receive(same), weft.send(same, 6)) == (1, None)
        rendezvous = weft.Channel()
        with pytest.raises(TimeoutError):        # a select does not meet itself
            weft.select(weft.receive(rendezvous), weft.send(rendezvous, 7), timeout=SOON)
    from_both(check)


def test_each_ready_case_has_its_turns():
    def check():
        channels = [weft.Channel(1) for _ in range(4)]
        cases = [weft.receive(ch) for ch in channels]
        counts = collections.Counter()
        for ch in channels:
            ch.send(0)
        for _ in range(2000):
            i, _ = weft.select(*cases)
            counts[i] += 1
            channels[i].send(0)
        assert all(counts[i] > 300 for i in range(4)), counts    # 500 each; so far away by chance once in 10^20
    from_both(check)


# ---- stops, timeouts, scopes

@pytest.mark.parametrize("n", [1, 20])
def test_is_interrupted_as_other_waits_are(fibers, n):
    def cases():
        return [weft.receive(weft.Channel()) for _ in range(n)] + [weft.send(weft.Channel(), 1), weft.after(LATE)]

    def body(began, seen):
        began.set()
        for _ in range(3):
            try:
                weft.select(*cases(), timeout=LATE)
            except weft.Cancelled:
                seen.append(1)

    def main():
        began, seen = weft.Event(), []
        f = weft.spawn(body, began, seen)
        began.wait()
        weft.sleep(0.001)
        f.cancel()
        f.result()
        assert seen == [1] * 3
        with pytest.raises(TimeoutError, match="weft.timeout"):
            with weft.timeout(SOON):
                weft.select(*cases())
        with weft.scope() as s:
            s.spawn(s.cancel)
            weft.select(*cases())
        with pytest.raises(ZeroDivisionError):
            with weft.scope() as s:
                s.spawn(lambda: 1 / 0)
                weft.select(*cases())
    fibers(main)


def test_a_timeout_ends_the_select_of_a_thread():
    ch = weft.Channel(1)
    with pytest.raises(TimeoutError, match="weft.timeout"):
        with weft.timeout(0.15):      # longer than one look of the main thread for signals
            weft.select(weft.receive(ch), weft.receive(ch))
    assert weft.select(weft.receive(ch), weft.after(0.15)) == (1, None)


def test_an_interrupt_ends_the_select_of_the_main_thread():
    out = in_process("import os, signal\n"
                     "threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
                     "try: weft.select(weft.receive(weft.Channel()))\n"
                     "except KeyboardInterrupt: print('interrupted')\n"
                     "def late(*_): raise TimeoutError('of the handler')\n"
                     "signal.signal(signal.SIGALRM, late)\n"
                     "signal.setitimer(signal.ITIMER_REAL, 0.2)\n"
                     "try: weft.select(weft.after(1000))\n"
                     "except TimeoutError as e: print(e)")
    assert out == "interrupted\nof the handler\n"


# ---- references

class Value:
    pass


def test_counts_its_references(fibers):
    def main():
        value, ch, full = Value(), weft.Channel(1), weft.Channel(1)
        full.send(0)
        before = sys.getrefcount(value)
        cases = [weft.send(full, value), weft.send(full, value), weft.send(ch, value)]
        assert sys.getrefcount(value) == before + 3
        assert weft.select(*cases) == (2, None)
        assert sys.getrefcount(value) == before + 4            # one more, in the channel
        for _ in range(10):
            with pytest.raises(TimeoutError):
                weft.select(*cases, timeout=0)
            assert weft.select(*cases, weft.after(0.0001)) == (3, None)
            with pytest.raises(TimeoutError):
                with weft.timeout(0.0001):
                    weft.select(*cases)
        full.close()
        for _ in range(10):
            with pytest.raises(weft.Closed):
                weft.select(*cases)
        with pytest.raises(TypeError):
            weft.select(*cases, 3)
        assert sys.getrefcount(value) == before + 4
        chosen = weft.select(weft.receive(ch), weft.after(LATE))
        assert sys.getrefcount(value) == before + 4
        assert chosen.value is value
        del chosen, cases
        assert sys.getrefcount(value) == before
    fibers(main)


def test_nothing_is_lost_or_doubled_when_selects_are_interrupted(fibers):
    """Senders and receivers select, give up, are cancelled; fibers and threads. At the end each object was received once."""
    seed = time.time_ns() % 1_000_000
    print("seed", seed)
    seconds = 1.5

    def sends(i, channels, end, sent):
        r = random.Random(seed * 1000 + i)
        while time.monotonic() < end:
            value = Value()
            try:
                with weft.timeout(r.choice((0.0002, LATE))):
                    chosen = weft.select(*(weft.send(ch, value) for ch in r.sample(channels, 3)), weft.after(r.choice((0, 0.0001, 0.01))))
            except TimeoutError:
                continue
            if chosen.index < 3:
                sent.append(value)

    def takes(i, channels, over, got, takers):
        r = random.Random(seed * 1000 + 500 + i)
        cases = [weft.receive(ch) for ch in channels] + [weft.receive(over)]
        while True:
            try:
                with weft.timeout(r.choice((0.0002, LATE))):
                    got.append(weft.select(*cases, timeout=r.choice((0, 0.0001, LATE))).value)
            except TimeoutError:
                weft.yield_now()
            except weft.Closed:
                return
            except weft.Cancelled:      # of cancels(): another takes its place
                takers.append(weft.spawn(takes, i, channels, over, got, takers))
                return

    def main():
        channels, over, end = [weft.Channel(c) for c in (0, 0, 1, 5)], weft.Channel(), time.monotonic() + seconds
        sent, got, takers = [], [], []
        takers += [weft.spawn(takes, i, channels, over, got, takers) for i in range(6)]
        threads = [threading.Thread(target=takes, args=(10 + i, channels, over, got, takers)) for i in range(2)]
        senders = [weft.spawn(sends, 20 + i, channels, end, sent) for i in range(6)]
        thread_senders = [threading.Thread(target=sends, args=(30 + i, channels, end, sent)) for i in range(2)]
        for t in threads + thread_senders:
            t.start()
        for victim in takers[:3]:
            weft.sleep(0.1)
            victim.cancel()
        for f in senders:
            f.result()
        for t in thread_senders:
            t.join()
        over.close()
        for t in threads:
            t.join()
        for f in takers:
            f.join()
        for ch in channels:
            ch.close()
            got.extend(ch)
        assert len(sent) > 100
        return sent, got

    sent, got = fibers(main, workers=3)
    assert collections.Counter(map(id, sent)) == collections.Counter(map(id, got))
    assert {sys.getrefcount(v) for v in sent} == {4}      # of two lists, the loop, and the call
    del sent, got
    gc.collect()
    assert not [o for o in gc.get_objects() if type(o) is Value]


def test_a_case_may_be_used_by_many_at_once(fibers):
    def main():
        ch, got = weft.Channel(), weft.Channel(1000)
        send, receive = weft.send(ch, "x"), weft.receive(ch)
        fs = [weft.spawn(lambda: [weft.select(send) for _ in range(20)]) for _ in range(10)]
        fs += [weft.spawn(lambda: [got.send(weft.select(receive).value) for _ in range(20)]) for _ in range(10)]
        for f in fs:
            f.result()
        got.close()
        assert list(got) == ["x"] * 200
    fibers(main)
