"""The workloads for tasks of asyncio, on its own loop or on uvloop's: loops.py asyncio|uvloop BENCH WORKERS RUNS N."""
import asyncio
import random
import sys
import time

import measuring
from measuring import MEMBERS, measure, nanoseconds


async def empty():
    pass


async def yields(times):
    for _ in range(times):
        await asyncio.sleep(0)


def switches(loop, r):
    half = max(r.n // 2, 1)

    async def both():
        await asyncio.gather(yields(half), yields(half))

    def calls():
        for _ in range(r.n):
            yield

    def call_all():
        for _ in calls():
            pass
    measure(r, [("yield", r.n, "ns")], lambda: [nanoseconds(lambda: loop.run_until_complete(both())) / r.n])
    measure(r, [("call-and-yield", r.n, "ns")], lambda: [nanoseconds(call_all) / r.n])


async def batch(n):
    """All tasks are made before the first of them runs."""
    begin = time.perf_counter_ns()
    loop = asyncio.get_running_loop()
    tasks = [loop.create_task(empty()) for _ in range(n)]
    spawned = time.perf_counter_ns()
    for task in tasks:
        await task
    return begin, spawned, time.perf_counter_ns()


async def as_spawned(n):
    loop = asyncio.get_running_loop()
    tasks = []
    for i in range(n):
        tasks.append(loop.create_task(empty()))
        if i % measuring.BETWEEN_YIELDS == measuring.BETWEEN_YIELDS - 1:
            await asyncio.sleep(0)
            tasks.clear()
    for task in tasks:
        await task


def spawn(loop, r):
    def once():
        begin, spawned, end = loop.run_until_complete(batch(r.n))
        return [(end - begin) / r.n, 100 * (spawned - begin) / (end - begin)]
    measure(r, [("run-as-spawned", r.n, "ns")], lambda: [nanoseconds(lambda: loop.run_until_complete(as_spawned(r.n))) / r.n])
    measure(r, [("batch", r.n, "ns"), ("batch/spawn-share", r.n, "%")], once)


def peak_memory(part, work):
    def once(loop, r):
        loop.run_until_complete(work(r.n))
        print(f"{part}/peak-memory", r.n, "KiB", measuring.peak_resident_kib())
    return once


class Queue(asyncio.Queue):
    """asyncio has no rendezvous; this holds one number."""

    def __init__(self):
        super().__init__(1)


class Promises:
    """Futures one after the other: each brings a number, and the next future."""

    def __init__(self):
        self.open = self.next = asyncio.get_running_loop().create_future()

    async def put(self, number):
        fresh = asyncio.get_running_loop().create_future()
        self.open.set_result((number, fresh))
        self.open = fresh

    async def get(self):
        number, self.next = await self.next
        return number


async def take_part(mine, following, last):
    """Who receives 0 sends the end, -1, around; `last` has nobody left to pass it to."""
    while (number := await mine.get()) > 0:
        await following.put(number - 1)
    if number == 0 or not last:
        await following.put(-1)


async def around(hops, seat):
    seats = [seat() for _ in range(MEMBERS)]
    ender = hops % MEMBERS
    members = [asyncio.create_task(take_part(seats[i], seats[(i + 1) % MEMBERS], (i + 1) % MEMBERS == ender)) for i in range(MEMBERS)]
    await seats[0].put(hops)
    await asyncio.gather(*members)


def ring(loop, r):
    for variant, seat in (("channels", Queue), ("promises", Promises)):
        measure(r, [(variant, r.n, "ns")], lambda: [nanoseconds(lambda: loop.run_until_complete(around(r.n, seat))) / r.n])


async def eat(person, nutrients):
    while not person.satisfied(nutrients):
        person.eat()
        await asyncio.sleep(0)


def feed(loop, r):
    for nutrients in measuring.NUTRIENTS:
        people = []

        async def everybody():
            people[:] = [measuring.Person() for _ in range(r.n)]
            await asyncio.gather(*(eat(p, nutrients) for p in people))

        def once():
            spent = nanoseconds(lambda: loop.run_until_complete(everybody()))
            return [spent / 1e3, spent / r.n / nutrients]
        measure(r, [(f"yield/nutrients-{nutrients}", r.n, "us"), (f"yield/round-trip/nutrients-{nutrients}", r.n, "ns")], once)


def far():
    return random.uniform(3600, 7200)


async def firing(n):
    """The percentage of one CPU that is used while n sleeps of as many tasks end, 100,000 in a second."""
    length = n / 100_000
    loop = asyncio.get_running_loop()
    begin = loop.time() + 0.05 + n * 20e-6   # all are asleep by then

    async def until(due):
        await asyncio.sleep(max(0, due - loop.time()))
    tasks = [loop.create_task(until(begin + length * i / n)) for i in range(n)]
    await until(begin)
    used, since = time.process_time(), time.perf_counter()
    await until(begin + length)
    for task in tasks:
        await task
    return 100 * (time.process_time() - used) / (time.perf_counter() - since)


def timers(loop, r):
    async def insert_and_cancel():
        here = asyncio.get_running_loop()
        pending = [here.call_later(far(), empty) for _ in range(r.n)]
        spent = nanoseconds(lambda: [here.call_later(far(), empty).cancel() for _ in range(r.n)])
        for timer in pending:
            timer.cancel()
        return [spent / r.n]
    measure(r, [("insert-and-cancel", r.n, "ns")], lambda: loop.run_until_complete(insert_and_cancel()))
    fired = max(r.n // 10, 1)
    measure(r, [("fire", fired, "%")], lambda: [loop.run_until_complete(firing(fired))])


async def beside(hogs, round_of_work, seconds, work):
    over = False

    async def hog():
        measuring.compute(round_of_work, seconds, lambda: over)
    tasks = [asyncio.create_task(hog()) for _ in range(hogs)]
    result = await work
    over = True
    await asyncio.gather(*tasks)
    return result


async def lateness(n):
    due, late = time.monotonic(), []
    for _ in range(n):
        due += 1e-3
        await asyncio.sleep(max(0, due - time.monotonic()))
        late.append((time.monotonic() - due) * 1e6)
    return measuring.quantiles(late)


async def two_sleep(seconds):
    begin = time.perf_counter()
    await asyncio.gather(asyncio.sleep(seconds), asyncio.sleep(seconds))
    return [(time.perf_counter() - begin) * 1e3]


def preempt(loop, r):
    seconds = r.n / 1e3
    recursion = measuring.HOGS["recursion"]
    measure(r, [("sleepers-beside-fib", r.n, "ms")],
            lambda: loop.run_until_complete(beside(1, recursion, 3 * seconds, two_sleep(seconds))))
    for name, round_of_work in measuring.HOGS.items():
        for k in measuring.HOGS_BESIDE_TICKS:
            labels = [(f"{name}-{k}/{figure}", r.n, "us") for figure in ("p50", "p90", "p99", "max")]
            measure(r, labels, lambda: loop.run_until_complete(beside(k, round_of_work, seconds, lateness(r.n))))


async def yields_of(fibers, each):
    await asyncio.gather(*(yields(each) for _ in range(fibers)))


async def answer(asked, answers, trips):
    for _ in range(trips):
        await answers.put(await asked.get())


async def round_trips(trips):
    asked, answers = asyncio.Queue(1), asyncio.Queue(1)
    answering = asyncio.create_task(answer(asked, answers, trips))
    for i in range(trips):
        await asked.put(i)
        await answers.get()
    await answering


def in_python(loop, r):
    measuring.in_python(r, lambda n: loop.run_until_complete(batch(n)), lambda fibers, each: loop.run_until_complete(yields_of(fibers, each)),
                        lambda trips: loop.run_until_complete(round_trips(trips)))


async def call_each(n, f):
    async def call():
        f()
    await asyncio.gather(*(call() for _ in range(n)))


def blocking(loop, r):
    measuring.sleeps(r, lambda n, f: loop.run_until_complete(call_each(n, f)))


BENCHMARKS = {"switch": switches, "python": in_python, "blocking": blocking, "spawn": spawn, "ring": ring, "feed": feed, "timers": timers, "preempt": preempt,
              "peak-memory/run-as-spawned": peak_memory("run-as-spawned", as_spawned), "peak-memory/batch": peak_memory("batch", batch)}


def main():
    kind, bench, *counts = sys.argv[1:]
    if kind == "uvloop":
        import uvloop
        loop = uvloop.new_event_loop()
    else:
        loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    BENCHMARKS[bench](loop, measuring.Request(*map(int, counts)))
    loop.close()


main()
