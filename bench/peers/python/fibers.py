"""The workloads for Python functions as fibers of weft: fibers.py weft BENCH WORKERS RUNS N."""
import sys
import threading

import weft

import measuring


def empty():
    pass


def spawn(n):
    for fiber in [weft.spawn(empty) for _ in range(n)]:
        fiber.join()


def yield_often(n):
    for _ in range(n):
        weft.yield_now()


def yields_of(fibers, each):
    for fiber in [weft.spawn(yield_often, each) for _ in range(fibers)]:
        fiber.join()


def round_trips(trips):
    asked, answers = weft.Channel(1), weft.Channel(1)

    def answer():
        for _ in range(trips):
            answers.send(asked.receive())
    answering = weft.spawn(answer)
    for i in range(trips):
        asked.send(i)
        answers.receive()
    answering.join()


def in_python(r):
    weft.run(measuring.in_python, r, spawn, yields_of, round_trips, workers=r.workers)


def call_each(n, f):
    for fiber in [weft.spawn(f) for _ in range(n)]:
        fiber.join()


def call_on_threads(n, f):
    threads = [threading.Thread(target=f) for _ in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def blocking(r):
    weft.run(measuring.sleeps, r, call_each, workers=r.workers)
    measuring.sleeps(r, call_on_threads, "threads/time.sleep")


BENCHMARKS = {"python": in_python, "blocking": blocking}

bench, *counts = sys.argv[2:]
BENCHMARKS[bench](measuring.Request(*map(int, counts)))
