"""The workloads for coroutines of Cython: peer.py FOLDER BENCH WORKERS RUNS N, where FOLDER has the built module."""
import pathlib
import sys

sys.path[:0] = [sys.argv[1], str(pathlib.Path(__file__).resolve().parents[1] / "python")]
import coroutines
import measuring


def with_scheduler(r, as_spawned, work):
    scheduler = coroutines.Scheduler(r.workers, as_spawned)
    work(scheduler)
    scheduler.close()


def spawn(r):
    def share(scheduler):
        adding, both = scheduler.spawn(r.n)
        return [both / r.n, 100 * adding / both]
    with_scheduler(r, True, lambda s: measuring.measure(r, [("run-as-spawned", r.n, "ns")], lambda: [s.spawn(r.n)[1] / r.n]))
    with_scheduler(r, False, lambda s: measuring.measure(r, [("batch", r.n, "ns"), ("batch/spawn-share", r.n, "%")], lambda: share(s)))


def switch(r):
    with_scheduler(r, False, lambda s: measuring.measure(r, [("yield", r.n, "ns")], lambda: [s.switch(r.n) / r.n]))


def peak_memory(part, as_spawned):
    def once(r):
        with_scheduler(r, as_spawned, lambda s: s.spawn(r.n))
        print(f"{part}/peak-memory", r.n, "KiB", measuring.peak_resident_kib())
    return once


BENCHMARKS = {"spawn": spawn, "switch": switch, "peak-memory/run-as-spawned": peak_memory("run-as-spawned", True),
              "peak-memory/batch": peak_memory("batch", False)}
_, _, bench, *counts = sys.argv
BENCHMARKS[bench](measuring.Request(*map(int, counts)))
