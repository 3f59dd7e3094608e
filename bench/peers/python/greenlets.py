"""The workloads for greenlets of gevent: greenlets.py gevent BENCH WORKERS RUNS N."""
import random
import sys
import time

import gevent
import gevent.event
import gevent.queue
import greenlet

import measuring
from measuring import MEMBERS, measure, nanoseconds


def empty():
    pass


def yields(times):
    for _ in range(times):
        gevent.sleep(0)


def switches(r):
    half = max(r.n // 2, 1)

    def calls():
        outside = greenlet.getcurrent().parent
        for _ in range(r.n):
            outside.switch()

    def call_all():
        inside = greenlet.greenlet(calls)
        while not inside.dead:
            inside.switch()
    measure(r, [("yield", r.n, "ns")],
            lambda: [nanoseconds(lambda: gevent.joinall([gevent.spawn(yields, half), gevent.spawn(yields, half)])) / r.n])
    measure(r, [("call-and-yield", r.n, "ns")], lambda: [nanoseconds(call_all) / r.n])


def batch(n):
    """All greenlets are made before the first of them runs."""
    begin = time.perf_counter_ns()
    all_of_them = [gevent.spawn(empty) for _ in range(n)]
    spawned = time.perf_counter_ns()
    gevent.joinall(all_of_them)
    return begin, spawned, time.perf_counter_ns()


def as_spawned(n):
    started = []
    for i in range(n):
        started.append(gevent.spawn(empty))
        if i % measuring.BETWEEN_YIELDS == measuring.BETWEEN_YIELDS - 1:
            gevent.sleep(0)
            started.clear()
    gevent.joinall(started)


def spawn(r):
    def once():
        begin, spawned, end = batch(r.n)
        return [(end - begin) / r.n, 100 * (spawned - begin) / (end - begin)]
    measure(r, [("run-as-spawned", r.n, "ns")], lambda: [nanoseconds(lambda: as_spawned(r.n)) / r.n])
    measure(r, [("batch", r.n, "ns"), ("batch/spawn-share", r.n, "%")], once)


def peak_memory(part, work):
    def once(r):
        work(r.n)
        print(f"{part}/peak-memory", r.n, "KiB", measuring.peak_resident_kib())
    return once


class Promises:
    """Results one after the other: each brings a number, and the next result."""

    def __init__(self):
        self.open = self.next = gevent.event.AsyncResult()

    def put(self, number):
        fresh = gevent.event.AsyncResult()
        self.open.set((number, fresh))
        self.open = fresh

    def get(self):
        number, self.next = self.next.get()
        return number


def take_part(mine, following, last):
    """Who receives 0 sends the end, -1, around; `last` has nobody left to pass it to."""
    while (number := mine.get()) > 0:
        following.put(number - 1)
    if number == 0 or not last:
        following.put(-1)


def around(hops, seat):
    seats = [seat() for _ in range(MEMBERS)]
    ender = hops % MEMBERS
    members = [gevent.spawn(take_part, seats[i], seats[(i + 1) % MEMBERS], (i + 1) % MEMBERS == ender) for i in range(MEMBERS)]
    seats[0].put(hops)
    gevent.joinall(members, raise_error=True)


def ring(r):
    for variant, seat in (("channels", gevent.queue.Channel), ("promises", Promises)):
        measure(r, [(variant, r.n, "ns")], lambda: [nanoseconds(lambda: around(r.n, seat)) / r.n])


def eat(person, nutrients):
    while not person.satisfied(nutrients):
        person.eat()
        gevent.sleep(0)


def feed(r):
    for nutrients in measuring.NUTRIENTS:
        def everybody():
            people = [measuring.Person() for _ in range(r.n)]
            gevent.joinall([gevent.spawn(eat, p, nutrients) for p in people], raise_error=True)

        def once():
            spent = nanoseconds(everybody)
            return [spent / 1e3, spent / r.n / nutrients]
        measure(r, [(f"yield/nutrients-{nutrients}", r.n, "us"), (f"yield/round-trip/nutrients-{nutrients}", r.n, "ns")], once)


def insert_and_cancel(n):
    hub = gevent.get_hub()

    def timer():
        made = hub.loop.timer(random.uniform(3600, 7200))
        made.start(empty)
        return made

    def end(made):
        made.stop()
        made.close()
    pending = [timer() for _ in range(n)]
    spent = nanoseconds(lambda: [end(timer()) for _ in range(n)])
    for made in pending:
        end(made)
    return [spent / n]


def firing(n):
    """The percentage of one CPU that is used while n sleeps of as many greenlets end, 100,000 in a second."""
    length = n / 100_000
    begin = time.monotonic() + 0.05 + n * 40e-6   # all are asleep by then

    def until(due):
        gevent.sleep(max(0, due - time.monotonic()))
    asleep = [gevent.spawn(until, begin + length * i / n) for i in range(n)]
    until(begin)
    used, since = time.process_time(), time.perf_counter()
    until(begin + length)
    gevent.joinall(asleep)
    return [100 * (time.process_time() - used) / (time.perf_counter() - since)]


def timers(r):
    measure(r, [("insert-and-cancel", r.n, "ns")], lambda: insert_and_cancel(r.n))
    fired = max(r.n // 10, 1)
    measure(r, [("fire", fired, "%")], lambda: firing(fired))


def beside(hogs, round_of_work, seconds, work):
    over = False
    computing = [gevent.spawn(measuring.compute, round_of_work, seconds, lambda: over) for _ in range(hogs)]
    result = work()
    over = True
    gevent.joinall(computing, raise_error=True)
    return result


def lateness(n):
    due, late = time.monotonic(), []
    for _ in range(n):
        due += 1e-3
        gevent.sleep(max(0, due - time.monotonic()))
        late.append((time.monotonic() - due) * 1e6)
    return measuring.quantiles(late)


def two_sleep(seconds):
    begin = time.perf_counter()
    gevent.joinall([gevent.spawn(gevent.sleep, seconds) for _ in range(2)])
    return [(time.perf_counter() - begin) * 1e3]


def preempt(r):
    seconds = r.n / 1e3
    measure(r, [("sleepers-beside-fib", r.n, "ms")],
            lambda: beside(1, measuring.HOGS["recursion"], 3 * seconds, lambda: two_sleep(seconds)))
    for name, round_of_work in measuring.HOGS.items():
        for k in measuring.HOGS_BESIDE_TICKS:
            labels = [(f"{name}-{k}/{figure}", r.n, "us") for figure in ("p50", "p90", "p99", "max")]
            measure(r, labels, lambda: beside(k, round_of_work, seconds, lambda: lateness(r.n)))


def yields_of(fibers, each):
    gevent.joinall([gevent.spawn(yields, each) for _ in range(fibers)])


def round_trips(trips):
    asked, answers = gevent.queue.Queue(1), gevent.queue.Queue(1)

    def answer():
        for _ in range(trips):
            answers.put(asked.get())
    answering = gevent.spawn(answer)
    for i in range(trips):
        asked.put(i)
        answers.get()
    answering.join()


def bare_switches(n):
    """The least that two greenlets can do: a switch there, and one back, are two."""
    outside = greenlet.getcurrent()

    def inside():
        for _ in range(n // 2 + 1):
            outside.switch()
    other = greenlet.greenlet(inside)
    for _ in range(n // 2):
        other.switch()


def in_python(r):
    measuring.measure_both(r, "bare-switch", r.n, lambda: bare_switches(r.n))
    measuring.in_python(r, batch, yields_of, round_trips)


def blocking(r):
    measuring.sleeps(r, lambda n, f: gevent.joinall([gevent.spawn(f) for _ in range(n)]))


BENCHMARKS = {"switch": switches, "python": in_python, "blocking": blocking, "spawn": spawn, "ring": ring, "feed": feed, "timers": timers, "preempt": preempt,
              "peak-memory/run-as-spawned": peak_memory("run-as-spawned", as_spawned), "peak-memory/batch": peak_memory("batch", batch)}

bench, *counts = sys.argv[2:]
BENCHMARKS[bench](measuring.Request(*map(int, counts)))
