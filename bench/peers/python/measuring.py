"""Arguments, repetitions, and the lines that `run` reads, for the peers in Python: KIND BENCH WORKERS RUNS N."""
import collections
import time

BETWEEN_YIELDS = 256
MEMBERS = 503
NUTRIENTS = (10, 100, 1000, 10_000)
HOGS_BESIDE_TICKS = (1, 4, 16)

Request = collections.namedtuple("Request", "workers runs n")


def nanoseconds(work):
    begin = time.perf_counter_ns()
    work()
    return time.perf_counter_ns() - begin


def wall_and_cpu(work, n):
    """What each of n operations took, in nanoseconds: by the clock, and of CPU time of all threads."""
    cpu, begin = time.process_time_ns(), time.perf_counter_ns()
    work()
    return [(time.perf_counter_ns() - begin) / n, (time.process_time_ns() - cpu) / n]


def measure_both(request, variant, n, work):
    """Prints `variant` and `variant/cpu` of a function that does n operations."""
    measure(request, [(variant, n, "ns"), (f"{variant}/cpu", n, "ns")], lambda: wall_and_cpu(work, n))


def in_python(r, spawn, yields, round_trips):
    """The benchmark `python`: each function does n operations, as (n) or, of so many fibers, (fibers, n)."""
    measure_both(r, "spawn-and-join", r.n, lambda: spawn(r.n))
    for fibers in (2, 100):
        each = max(r.n // fibers, 1)
        measure_both(r, f"yield-of-{fibers}", fibers * each, lambda: yields(fibers, each))
    trips = max(r.n // 5, 1)
    measure_both(r, "round-trip", trips, lambda: round_trips(trips))


def sleep():
    time.sleep(0.5)


def sleeps(r, run, variant="time.sleep"):
    """The benchmark `blocking`: run(n, f) calls f, which blocks as a C library does that no one has patched, n times."""
    measure(r, [(variant, r.n, "ms")], lambda: [nanoseconds(lambda: run(r.n, sleep)) / 1e6])


def measure(request, labels, once):
    """Calls `once` to warm up and then for each run; without runs, a single time. It returns a figure for each label (variant, n, unit)."""
    if request.runs > 0:
        once()
    figures = [once() for _ in range(max(request.runs, 1))]
    for i, label in enumerate(labels):
        print(*label, *(values[i] for values in figures), flush=True)


def peak_resident_kib():
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def fib(n):
    return 1 if n < 2 else fib(n - 1) + fib(n - 2)


def turn_a_number():
    x = 1
    for _ in range(5_000):
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF


HOGS = {"recursion": lambda: fib(15), "loop": turn_a_number}   # a round takes 0.1 to 0.5 ms


def compute(round_of_work, seconds, is_over):
    """A hog: computes for its time, or until it is over, and never gives way."""
    end = time.monotonic() + seconds
    while not is_over() and time.monotonic() < end:
        round_of_work()


def quantiles(late):
    late.sort()
    n = len(late)
    return [late[n // 2], late[n * 9 // 10], late[n * 99 // 100], late[-1]]


class Person:
    __slots__ = ("fiber", "calcium", "iron")

    def __init__(self):
        self.fiber = self.calcium = self.iron = 0

    def satisfied(self, nutrients):
        return self.fiber == nutrients and self.calcium == nutrients and self.iron == nutrients

    def eat(self):
        self.fiber += 1
        self.calcium += 1
        self.iron += 1
