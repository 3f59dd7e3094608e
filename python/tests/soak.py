"""Everything of fibers at once, for long: threads, the pool, asyncio, the collector, calls that block, code that computes,
channels, select, locks, timeouts, scopes, cancels, failures. Half of the rounds change the threads of fibers all the time.

    soak.py [MINUTES] [SEED]

A round is one weft.run() of a few seconds. After each, what was sent must have been received, and descriptors, threads and
thread states must be as many as before; memory must stay at the level of the first rounds. Prints its seed, and a line for
each round. Exit code 1 if anything failed.
"""
import asyncio
import ctypes
import faulthandler
import gc
import hashlib
import os
import queue
import random
import sys
import threading
import time
import zlib

import weft
from weft import _fibers

MINUTES = 20
ROUND_SECONDS = 8
WARM_ROUNDS = 4          # the level of memory is that of these
STUCK_SECONDS = 120      # a round that takes so much longer has failed
GROWTH_KIB = 24 * 1024   # chosen: allocators keep what bursts have needed

BLOB = bytes(range(256)) * 64
add_one = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda n: (weft.yield_now(), n + 1)[1])


class Failed(Exception):
    """Raised and caught by the works below."""


class Round:
    """What the works of one round share."""

    def __init__(self, seed, seconds):
        self.random = random.Random(seed)
        self.end = time.monotonic() + seconds
        self.channels = [weft.Channel(capacity) for capacity in (0, 1, 16, 200)]
        self.over = weft.Channel()
        self.lock, self.semaphore, self.queue = weft.Lock(), weft.Semaphore(3), queue.Queue(8)
        self.rlock = None      # made in main(): one that is made without a runtime belongs to a thread
        self.inside = 0
        self.sent = self.taken = self.done = 0
        self.count = threading.Lock()
        self.by_kind = dict.fromkeys(KINDS, 0)
        self.odd = []

    def add(self, **counts):
        with self.count:
            for name, n in counts.items():
                setattr(self, name, getattr(self, name) + n)

    def expect(self, what, fact):
        if not fact:
            self.odd.append(what)


# ---- what fibers and threads do; each takes the round and a source of random numbers, and gives back what it took

def sends(r, rnd):
    try:
        r.channels[rnd.randrange(4)].send({"k": [rnd.random()]}, timeout=rnd.choice((0, 0.001, None)))
    except TimeoutError:
        return
    r.add(sent=1)


def selects(r, rnd):
    cases = [weft.send(ch, {"k": [1.0]}) for ch in rnd.sample(r.channels, 2)]
    if weft.select(*cases, weft.after(rnd.choice((0, 0.0005)))).index < 2:
        r.add(sent=1)


def collects(r, rnd):
    cycle = []
    cycle.append((cycle, object()))
    gc.collect(rnd.randrange(2))


def compresses(r, rnd):
    r.expect("zlib", zlib.decompress(zlib.compress(BLOB)) == BLOB and len(hashlib.sha256(BLOB * 8).digest()) == 32)


def blocks(r, rnd):
    time.sleep(rnd.random() * 0.001)


def computes(r, rnd):
    until = time.perf_counter() + rnd.random() * (0.02 if rnd.random() < 0.05 else 0.001)
    while time.perf_counter() < until:
        pass


def waits(r, rnd):
    weft.sleep(rnd.random() * 0.002)
    weft.yield_now()


def raises(r, rnd):
    try:
        try:
            raise Failed(rnd)
        except Failed as e:
            weft.yield_now()
            r.expect("the exception that is handled", sys.exc_info()[1] is e)
            raise KeyError(1) from e
    except KeyError as e:
        weft.yield_now()
        r.expect("the cause", isinstance(e.__cause__, Failed))


def cancels(r, rnd):
    victim = weft.spawn(rnd.choice((lambda: weft.sleep(60), weft.Channel().receive, lambda: weft.select(weft.receive(weft.Channel())))))
    for _ in range(rnd.randrange(3)):
        weft.yield_now()
    victim.cancel()
    try:
        victim.result()
        r.expect("a fiber that was cancelled", False)
    except weft.Cancelled:
        pass


def times_out(r, rnd):
    try:
        with weft.timeout(rnd.random() * 0.001):
            with weft.timeout(60):
                weft.Event().wait()
        r.expect("a timeout", False)
    except TimeoutError:
        pass


def scopes(r, rnd):
    def child(fails):
        weft.sleep(rnd.random() * 0.0005)
        if fails:
            raise Failed(child)
        weft.sleep(0.0005)
    fails = rnd.random() < 0.5
    try:
        with weft.scope() as s:
            fs = [s.spawn(child, fails and i == 1) for i in range(3)]
        r.expect("a scope without a failure", not fails)
    except Failed:
        r.expect("a scope with a failure", fails)
    r.expect("children end with their scope", all(f.done for f in fs))


def locks(r, rnd):
    with r.lock:
        r.inside += 1
        r.expect("one inside of a lock", r.inside == 1)
        weft.yield_now()
        r.inside -= 1
    with r.rlock, r.rlock:
        weft.yield_now()
    with r.semaphore:
        weft.yield_now()


def queues(r, rnd):
    try:
        r.queue.put_nowait(1)
    except queue.Full:
        r.queue.get()


def lends(r, rnd):
    r.expect("blocking", weft.blocking(lambda: (time.sleep(0.0002), weft.yield_now(), 5)[2]) == 5)


def calls_back(r, rnd):
    r.expect("a callback of C", add_one(4) == 5)


async def echo(value):
    await asyncio.sleep(0)
    return value


def runs_a_coroutine(r, rnd):
    try:
        with weft.timeout(rnd.choice((0.0005, 60))):
            r.expect("a coroutine", weft.run_coroutine(echo(7)) == 7)
    except TimeoutError:
        pass


def dumps(r, rnd):
    if rnd.random() < 0.02:
        r.expect("the dump", "'main'" in weft.dump())


KINDS = (sends, selects, collects, compresses, blocks, computes, waits, raises, cancels, times_out, scopes, locks, queues, lends, calls_back,
         runs_a_coroutine, dumps)
local = threading.local()


def works(r, seed):
    """One fiber or thread: does any of these until the round is over."""
    rnd = random.Random(seed)
    local.seed = seed
    while time.monotonic() < r.end:
        sends(r, rnd)
        kind = rnd.choice(KINDS)
        kind(r, rnd)
        with r.count:
            r.by_kind[kind] += 1
            r.done += 1
        r.expect("threading.local", local.seed == seed)


def takes(r, seed):
    rnd, taken = random.Random(seed), 0
    cases = [weft.receive(ch) for ch in r.channels] + [weft.receive(r.over)]
    open_ones = list(r.channels)
    while open_ones:
        try:
            if rnd.random() < 0.5:
                value = weft.select(*cases, timeout=0.01).value
            else:
                value = rnd.choice(open_ones).receive(timeout=0.0005)
            r.expect("what was sent", isinstance(value["k"][0], float))
            taken += 1
        except TimeoutError:
            pass
        except weft.Closed:          # all are closed at once; what is left is drained
            for ch in open_ones:
                taken += sum(1 for _ in ch)
            open_ones = []
    r.add(taken=taken)


async def awaits(r, seed):
    """A loop of asyncio on a thread, which awaits fibers."""
    rnd = random.Random(seed)
    while time.monotonic() < r.end:
        got = await asyncio.gather(*(weft.spawn(waits_and_gives, i, rnd) for i in range(5)))
        r.expect("what fibers gave", got == list(range(5)))
        late = weft.spawn(weft.sleep, 60)
        try:
            await asyncio.wait_for(late, 0.001)
        except TimeoutError:
            pass
        late.cancel()


def waits_and_gives(i, rnd):
    weft.sleep(rnd.random() * 0.001)
    return i


def main(r):
    caught, r.rlock = [], threading.RLock()

    def on_thread(f, *args):
        def call():
            try:
                f(*args)
            except BaseException as e:
                caught.append(e)
        thread = threading.Thread(target=call, daemon=False)
        thread.start()
        return thread

    def seed():
        return r.random.randrange(2**40)
    taking_threads = [on_thread(takes, r, seed()) for _ in range(2)]
    working_threads = [on_thread(works, r, seed()) for _ in range(3)] + [on_thread(lambda s: asyncio.run(awaits(r, s)), seed())]
    takers = [weft.spawn(takes, r, seed()) for _ in range(6)]
    workers = [weft.spawn(works, r, seed()) for _ in range(r.random.choice((5, 40, 150)))]
    left = [weft.spawn(weft.Event().wait) for _ in range(50)]      # the end of the round stops them
    for f in workers:
        f.result()
    for t in working_threads:
        weft.blocking(t.join)
    for ch in r.channels:
        ch.close()
    for f in takers:
        f.result()
    for t in taking_threads:
        weft.blocking(t.join)
    r.expect(f"no failure on a thread: {caught}", not caught)
    r.expect("what is left waits", not any(f.done for f in left))


# ---- rounds

def level():
    gc.collect()
    with open("/proc/self/status", encoding="ascii") as lines:
        rss = next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
    return {"descriptors": len(os.listdir("/proc/self/fd")), "threads": len(os.listdir("/proc/self/task")),
            "thread states": _fibers._counts()["thread_states"], "fibers": _fibers._counts()["runners_now"], "KiB": rss}


def watch(ended):
    if not ended.wait(ROUND_SECONDS + STUCK_SECONDS):
        print("soak: FAILED: a round does not end", weft.dump(), sep="\n", file=sys.stderr, flush=True)
        faulthandler.dump_traceback()
        os._exit(1)


def one_round(seed, number):
    torture = number % 2 == 1
    if torture:
        os.environ["WEFT_MIGRATION"] = "torture"      # read when a runtime starts
    else:
        os.environ.pop("WEFT_MIGRATION", None)
    ended = threading.Event()
    watcher = threading.Thread(target=watch, args=(ended,))
    watcher.start()
    try:
        r = Round(seed, ROUND_SECONDS)
        weft.run(main, r, workers=r.random.choice((1, 2, 4)))
    finally:
        ended.set()
        watcher.join()
    failures = list(dict.fromkeys(r.odd))
    if r.sent != r.taken:
        failures.append(f"{r.sent} were sent and {r.taken} received")
    if not all(r.by_kind.values()):
        failures.append("some works were never done: " + ", ".join(k.__name__ for k, n in r.by_kind.items() if not n))
    return r, failures


def soak(minutes, seed):
    print(f"soak: seed {seed}, {minutes:g} minutes", flush=True)
    rnd, end, number, before, kib, failed = random.Random(seed), time.monotonic() + 60 * minutes, 0, None, [], False
    while time.monotonic() < end or number < WARM_ROUNDS + 2:
        r, failures = one_round(rnd.randrange(2**40), number)
        now = level()
        kib.append(now.pop("KiB"))
        if number == 0:
            before = now          # the watch of the gate is a thread that stays, and libraries are loaded
        elif now != before:
            failures.append(f"left behind: {now}, and before {before}")
        print(f"soak: round {number}{', torture' if number % 2 else ''}: {r.done} works, {r.sent} messages, {kib[-1]} KiB", flush=True)
        for failure in failures:
            print(f"soak: FAILED: {failure}", file=sys.stderr, flush=True)
        failed = failed or bool(failures)
        number += 1
    if min(kib[-2:]) > max(kib[:WARM_ROUNDS]) + GROWTH_KIB:
        print(f"soak: FAILED: memory has grown from {max(kib[:WARM_ROUNDS])} to {min(kib[-2:])} KiB", file=sys.stderr)
        failed = True
    print(f"soak: {'FAILED' if failed else 'passed'}, {number} rounds", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) > 3 or not all(a.replace(".", "", 1).isdigit() for a in sys.argv[1:]):
        sys.exit(__doc__)
    sys.exit(soak(float(sys.argv[1]) if len(sys.argv) > 1 else MINUTES, int(sys.argv[2]) if len(sys.argv) > 2 else time.time_ns() % 2**32))
