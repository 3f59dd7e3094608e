"""The rows L1 to L16 of the seeds (docs/seeds/rows.md), from Cython. L17, the HTTP server, is in test_serve.py."""
import pathlib
import os
import re
import threading

import pytest

import weft

PACKAGE = pathlib.Path(weft.__file__).parent


def test_seed_L1_the_sample_runs(build):
    assert build("seed").main() == 10_000
    assert build("seed").main(12) == 10_000


def test_seed_L1_the_sample_runs_without_noexcept(build):
    assert build("seed_as_it_stands").main() == 10


def test_seed_L1_all_is_nogil():
    blocks = [line for pxd in PACKAGE.glob("*.pxd") for line in pxd.read_text().splitlines() if line.startswith("cdef extern")]
    assert len(blocks) >= 3 and all(line.endswith(" nogil:") for line in blocks)
    inline = [line for pxd in PACKAGE.glob("*.pxd") for line in pxd.read_text().splitlines() if line.startswith("cdef inline")]
    assert len(inline) >= 5 and all(line.endswith("noexcept nogil:") for line in inline)


@pytest.mark.parametrize("header, declarations, least", [("c", "c", 90), ("c_http", "http", 30), ("c_prefork", "prefork", 5)])
def test_seed_L1_the_declarations_name_every_function(header, declarations, least):
    def functions(text, pattern):
        return set(re.findall(pattern, re.sub(r"/\*.*?\*/|#[^\n]*", "", text, flags=re.S)))
    exported = functions((PACKAGE / f"include/weft/{header}.h").read_text(), r"WEFT_API\s+(?:WEFT_CHECK\s+)?[^;]*?\b(weft_\w+)\(")
    declared = functions((PACKAGE / f"{declarations}.pxd").read_text(), r"\b(weft_\w+)\(")
    assert len(exported) >= least and not exported - declared


@pytest.mark.parametrize("workers", [1, 2, 12, 0])
def test_seed_L2_L3_L7_each_coroutine_runs_to_its_finish(rows, workers):
    assert rows.run_counted(1000, workers) == (1000, 10_000, 0)


@pytest.mark.parametrize("as_spawned", [False, True])
def test_seed_L7_none_is_lost_or_run_twice(rows, as_spawned):
    assert rows.run_counted(100_000, 4, as_spawned) == (100_000, 1_000_000, 0)


def test_seed_L4_workers(rows, monkeypatch):
    monkeypatch.delenv("WEFT_WORKERS", raising=False)
    assert rows.workers(12) == 12
    assert 1 <= rows.workers() <= len(os.sched_getaffinity(0))


def test_seed_L5_own_work_in_order_and_who_yields_goes_to_the_back(rows):
    order = rows.order_on_one_worker(10)
    first, second = order[:10], order[10:]
    assert sorted(first) == [*range(10)] and second == first
    assert [n for n in first if n < 8] == [*range(8)]   # the last ones lie in the worker's next slot, and go before the others


def test_seed_L6_a_stolen_coroutine_runs_once(rows):
    for _ in range(20):
        runs, threads = rows.runs_of_each(20_000, 4)
        assert runs == 1
        if threads > 1:
            return
    pytest.fail("no coroutine was stolen in 20 runs")


def test_seed_L8_idle_wakes_by_an_event_and_uses_no_cpu(rows):
    medians, shares = [], []
    for _ in range(100):   # a neighbour on the machine can only make both larger, and one of these is short enough to be without
        taken, share = rows.wake_latencies(12, 2000)
        shares.append(share)
        medians.append(sorted(taken)[len(taken) // 2])
        if min(medians) < 50_000 and min(shares) < 0.10:
            return
    pytest.fail(f"a wake took {min(medians) / 1000:.0f} us at the median, and an idle scheduler {min(shares):.0%} of a CPU")


def test_seed_L9_as_spawned_they_begin_while_others_are_added(rows):
    assert rows.begins_while_adding(30.0) == (True, 2)


def test_seed_L10_in_a_batch_none_begins_before_the_run(rows):
    before, begun, _ = rows.begins_in_run(1000, 20_000)
    assert (before, begun) == (0, 1000)


def test_seed_L11_added_coroutines_lie_in_chunks(rows):
    n = 100_000
    before, begun, taken = rows.begins_in_run(n, 0)
    assert (before, begun) == (0, n)
    assert taken <= 20 * n   # 16 bytes each in chunks; one malloc takes 32 at least


def test_seed_L12_a_blocking_call_goes_to_a_thread_and_comes_back(rows):
    naps = 20
    alone, results = rows.nap_together(naps, True)
    assert results == 7 * naps and alone < 0.1 * naps   # one after the other on the one worker


def test_seed_L13_L14_threads_and_coroutines_share_channels_semaphores_and_events(rows):
    c = rows.Crossing()
    c.start_coroutines(8)
    received, lock = [], threading.Lock()

    def take():
        while (value := c.receive()) is not None:
            with lock:
                received.append(value)
            c.take_permit()

    def give(first):
        for value in range(first, first + 50):
            c.send(value)

    threads = [threading.Thread(target=take) for _ in range(3)]
    givers = [threading.Thread(target=give, args=(first,)) for first in (0, 50, 100, 150)]
    for t in threads + givers:
        t.start()   # while the coroutines wait: they are woken by these threads, and these by them
    for t in givers:
        t.join()
    c.close()
    c.run()
    c.wait_for_end(30)
    for t in threads:
        t.join()
    assert sorted(received) == [2 * v for v in range(200)]
    assert 1 <= c.most_inside <= 2


def test_seed_L15_one_source_for_one_worker_and_for_many(rows):
    results = {rows.pipeline(2000, workers) for workers in (1, 2, 4, 0)}
    assert len(results) == 1
