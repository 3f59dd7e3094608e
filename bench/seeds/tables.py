"""The tables of the page, by the names that stand in page.md as {{table NAME}}."""
import shape
from results import NONE, cell, readable, short, table

NAMES = {
    "threads": "threads", "threads/yield": "threads that yield", "coroutines": "coroutines, called in a loop",
    "coroutines/ring": "coroutines in a ring", "fibers/yield": "fibers that yield", "fibers/every-256": "fibers that yield at each 256th bite",
}


def on(workers):
    return f"{workers} worker{'s' * (workers != 1)}"


def own(variant):
    return variant.split("/")[0] in ("fibers", "coroutines", "threads", "reductions", "calls", "weft")


def who(row):
    """A variant as a reader knows it: "go/channels, 2 workers"."""
    first = "weft: " if row["variant"].split("/")[0] in ("fibers", "coroutines", "reductions") else ""
    return f"{first}{row['variant']}, {on(row['workers'])}"


def percent(value, unit="x"):
    """What is added, of a ratio or of a percentage."""
    return NONE if value is None else f"{value if unit == '%' else (value - 1) * 100:.2f} %"


def added(row):
    return NONE if row is None else percent(row["median"], row["unit"])


# --- all of them -----------------------------------------------------------------------------------------------------------------------------

def crossing(results, variant, workers):
    """For each load: from how many people on threads are faster."""
    found = [shape.threads_faster_from(results, variant, workers, load) for load in shape.LOADS]
    return ", ".join({None: "never", "?": NONE}.get(f, f"{f:,}" if isinstance(f, int) else "") for f in found)


def seed_crossing(seeds):
    def winner(load):
        threads, fibers = (seeds.value("feed", f"{way}/nutrients-{load}") for way in ("threads", "coroutines"))
        return "threads" if threads < fibers else "fibers"
    return "at 1024 people: " + ", ".join(winner(load) for load in shape.LOADS)


def layer(results, seeds):
    """The price of fibers over callbacks of the same I/O engine, by the CPU that a server of one thread needs for a request."""
    fibers, bare = (results.get("service", f"weft/{v}/server-cpu", workers=1) for v in ("fibers", "callbacks"))
    ours = NONE if fibers is None or bare is None else f"{(fibers['min'] / bare['min'] - 1) * 100:+.1f} % of CPU"
    node = [results.value("service", f"node/{v}/requests") for v in ("callbacks", "async")]
    here = NONE if None in node else f"{(1 - node[1] / node[0]) * 100:.1f} % of the rate (Node, async functions)"
    seed = [seeds.value("service", f"node/{v}/requests") for v in ("callbacks", "fibers")]
    return ["what fibers cost over callbacks, of a request", ours, f"{(1 - seed[1] / seed[0]) * 100:.1f} % of the rate (Node, fibers)", here]


def headlines(results, seeds):
    workers = results.workers("feed", "fibers/every-256/nutrients-10")
    most = max(workers, default=1)
    loads = ", ".join(f"{load:,}" for load in shape.LOADS)
    slice_10 = results.get("preempt", "fibers/cost/slice-10")
    rows = [[f"from how many people on threads are faster, fed {loads} nutrients",
             f"{crossing(results, 'coroutines', None)} (coroutines on one thread); {crossing(results, 'fibers/every-256', most)} "
             f"(fibers on {on(most)}, yielding at each 256th bite)", seed_crossing(seeds), NONE],
            ["the share of spawning in starting and running empty ones", cell(results.get("spawn", "fibers/batch/spawn-share", 1)),
             seeds.text("spawn", "fibers/batch/spawn-share"), peer_cell(results, "spawn", "asyncio/batch/spawn-share")],
            ["a hop around a ring of 503, by channels", cell(results.get("ring", "fibers/channels", 1)), seeds.text("ring", "fibers/channels"),
             peer_cell(results, "ring", "quasar/channels")],
            ["what preemption costs a fiber that computes, at a slice of 10 ms", added(slice_10),
             f"{percent(seeds.value('preempt', 'fibers/cost/slice-50'))} ({seeds.of('preempt', 'fibers/cost/slice-50')['of']})",
             f"{added(results.get('preempt', 'reductions/cost'))} (weft, calls counted instead)"],
            layer(results, seeds)]
    return table(["", "weft", "the seed, on its machine", "beside it, in the same run"], rows)


def peer_cell(results, bench, variant, workers=None):
    row = results.get(bench, variant, workers)
    return NONE if row is None else f"{cell(row)} ({variant.split('/')[0]})"


def first_screen(results, seeds):
    """The table of the root README."""
    beside = preempt_name(results, 4)
    late = "99 % of the ticks of a millisecond beside 4 fibers that compute are late by less than"
    rows = [["from one fiber to another", cell(results.get("switch", "fibers/yield", 1)), peer_cell(results, "switch", "go/yield", 1)],
            ["an empty fiber, started and ended", cell(results.get("spawn", "fibers/run-as-spawned", 1)),
             peer_cell(results, "spawn", "go/run-as-spawned", 1)],
            [late, cell(results.get("preempt", f"fibers/{beside}/p99", 1)),
             f"{peer_cell(results, 'preempt', f'go/{beside}/p99', 1)}, {peer_cell(results, 'preempt', f'threads/{beside}/p99')}"],
            ["a user read from Redis over HTTP, 100 connections", cell(best(most_workers(results, "service", "weft/fibers/requests"))),
             peer_cell_best(results, "service", "go/net-http/requests")]]
    rows[-1] = [*rows[-1][:1], *(c if c == NONE else c.replace(" (", " a second (") if "(" in c else f"{c} a second" for c in rows[-1][1:])]
    return table(["", "weft", "beside it, in the same run"], rows)


def most_workers(results, bench, variant):
    return results.get(bench, variant, max(results.workers(bench, variant), default=None))


def best(row):
    """The best of the runs, which is what seed 004 reports."""
    return row and row | {"median": row["max"]}


def peer_cell_best(results, bench, variant):
    row = results.get(bench, variant)
    return NONE if row is None else f"{cell(best(row))} ({variant.split('/')[0]})"


def switch(results, seeds):
    rows = [[who(row), cell(row, spread=True)] for row in sorted(results.all("switch", unit="ns"), key=lambda r: r["median"])]
    return table(["from one to another", "time"], rows)


# --- seed 000 --------------------------------------------------------------------------------------------------------------------------------

def feed_ways(results):
    """(variant, workers) of weft's own ways, in the order in which they were measured."""
    seen = {}
    for row in results.all("feed", unit="us"):
        variant, found, _ = row["variant"].rpartition("/nutrients-")
        if found and variant in NAMES:
            seen[variant, row["workers"]] = None
    return list(seen)


def way_name(variant, workers):
    return NAMES[variant] + ("" if variant.startswith(("threads", "coroutines")) else f", {on(workers)}")


def feed_times(results, seeds):
    rows = []
    for variant, workers in feed_ways(results):
        cells = []
        for load in shape.LOADS:
            time = shape.curve(results, variant, workers, load).get(1024)
            cells.append(NONE if time is None else readable(time, "us"))
        rows.append([way_name(variant, workers), *cells])
    for name, way in (("the seed: threads", "threads"), ("the seed: fibers", "coroutines")):
        rows.append([name, *(readable(seeds.value("feed", f"{way}/nutrients-{load}"), "us") for load in shape.LOADS)])
    return table(["1024 people, each fed", *(f"{load:,}" for load in shape.LOADS)], rows)


def feed_trips(results, seeds):
    suffix = "/round-trip/nutrients-1000"
    rows = [[name, cell(row, spread=True), f"{row['n']:,}"] for name, row in sorted(
        ((who(r | {"variant": r["variant"].removesuffix(suffix)}), r) for v in results.variants("feed") if v.endswith(suffix)
         for r in results.all("feed", v)), key=lambda pair: pair[1]["median"])]
    for load in shape.LOADS:   # the others are in the table of times
        for variant in results.variants("feed"):
            if variant.endswith(f"/round-trip/nutrients-{load}") or not own(variant):
                results.all("feed", variant)
    rows.append(["the seed: D fibers", seeds.text("feed", "coroutines/round-trip/nutrients-1000"), "1,024"])
    return table(["a bite, and the way to the next person and back", "time", "people"], rows)


def feed_shape(results, seeds):
    rows = []
    for variant, workers in feed_ways(results):
        straight = [shape.straightness(results, variant, workers, load) for load in shape.LOADS]
        rows.append([way_name(variant, workers), ", ".join(NONE if s is None else f"{s:.4f}" for s in straight),
                     NONE if variant == "threads" else crossing(results, variant, workers)])
    return table(["nutrients: " + ", ".join(f"{load:,}" for load in shape.LOADS), "R squared of a line through time over people",
                  "threads are faster from so many people on"], rows)


def feed_hybrid(results, seeds):
    rows = []
    for workers in results.workers("feed", "fibers/every-256/nutrients-10"):
        cells = []
        for load in shape.LOADS:
            worst = shape.to_the_better(results, "fibers/every-256", workers, load)
            cells.append(NONE if worst is None else f"{short(worst[0])} (at {worst[1]:,})")
        rows.append([f"fibers on {on(workers)}", *cells])
    return table(["the worst point, as time in that of the better of threads and coroutines; nutrients",
                  *(f"{load:,}" for load in shape.LOADS)], rows)


def feed_ring(results, seeds):
    """The ring of coroutines beside the loop, at the largest crowd."""
    cells, people = [], None
    for load in shape.LOADS:
        loop, ring = (shape.curve(results, way, None, load) for way in ("coroutines", "coroutines/ring"))
        common = loop.keys() & ring.keys()
        people = max(common, default=people)
        cells.append(f"{readable(ring[people], 'us')} and {readable(loop[people], 'us')}" if common else NONE)
    return table([f"{people or 0:,} people: in a ring, and by a loop; nutrients", *(f"{load:,}" for load in shape.LOADS)], [["time", *cells]])


# --- seed 001 --------------------------------------------------------------------------------------------------------------------------------

SPAWNED = 500_000   # as many as the seed starts


def spawn(results, seeds):
    """Each way of starting empty ones, the fastest first."""
    rows = []
    for row in results.all("spawn", unit="ns"):
        share = results.get("spawn", row["variant"] + "/spawn-share", row["workers"])
        memory = results.get("spawn", row["variant"] + "/peak-memory", row["workers"])
        rows.append((row["median"], [who(row), cell(row, spread=True), readable(row["median"] * SPAWNED, "ns"), cell(share), cell(memory)]))
    for variant, name in (("fibers/run-as-spawned", ""), ("fibers/batch", ""), ("asyncio", ""), ("uvloop", ""), ("gevent", "")):
        value = seeds.value("spawn", variant)
        share = seeds.value("spawn", variant + "/spawn-share")
        rows.append((value, [f"the seed: {seeds.of('spawn', variant)['of']}", readable(value, "ns"), readable(value * SPAWNED, "ns"),
                             NONE if share is None else readable(share, "%"), NONE]))
    return table(["empty ones", "each", f"time for {SPAWNED:,}", "share of spawning", "peak memory"],
                 [cells for _, cells in sorted(rows, key=lambda pair: pair[0])])


def scaling(results, seeds):
    variants = [v for v in results.variants("fibonacci") if any(r["unit"] == "ms" for r in results.all("fibonacci", v))]
    workers = sorted({w for v in variants for w in results.workers("fibonacci", v)})
    rows = [[variant.removesuffix("/total"), *(cell(results.get("fibonacci", variant, w)) for w in workers)] for variant in variants]
    for variant in results.variants("fibonacci"):
        results.all("fibonacci", variant)
    return table(["64 times the 100,000th Fibonacci number, on", *map(on, workers)], rows)


def waking(results, seeds):
    rows = [[on(row["workers"]), cell(row, spread=True), cell(results.get("channel", "fibers/idle-cpu", row["workers"]))]
            for row in results.all("channel", "fibers/wake-idle")]
    return table(["a runtime without work, of", "from an event to the fiber that it wakes", "CPU while idle"], rows)


# --- seed 002 --------------------------------------------------------------------------------------------------------------------------------

THREADS_OF = {"quasar": "quasar/java-threads", "akka": "quasar/java-threads", "java": "quasar/java-threads"}


def ring(results, seeds):
    """Every ring, with how many times faster it is than the threads of its language where these were measured."""
    rows = []
    threads = results.value("ring", "threads/condition-variables")
    for row in results.all("ring", unit="ns"):
        if row["variant"].endswith(("/interval-99.9", "/standard-deviation")):
            continue
        interval = results.get("ring", row["variant"] + "/interval-99.9", row["workers"])
        deviation = results.get("ring", row["variant"] + "/standard-deviation", row["workers"])
        base = threads if own(row["variant"]) else results.value("ring", THREADS_OF.get(row["variant"].split("/")[0], ""))
        mean = interval or row
        between = f"{readable(mean['min'], 'ns')} to {readable(mean['max'], 'ns')}" + ("" if interval else " (extremes)")
        rows.append((mean["median"], [who(row), readable(mean["median"], "ns"), between, cell(deviation),
                                      NONE if base is None else short(base / mean["median"])]))
    for name in ("to-channels", "speed-up", "standard-deviation"):
        for variant in results.variants("ring"):
            if variant.endswith(name):
                results.all("ring", variant)
    for variant in ("fibers/channels", "fibers/actors", "quasar/actors", "threads/condition-variables"):
        speed_up = seeds.value("ring", variant + "/speed-up")
        deviation = seeds.value("ring", variant + "/standard-deviation")
        rows.append((seeds.value("ring", variant), [f"the seed: {seeds.of('ring', variant)['of']}", readable(seeds.value("ring", variant), "ns"), NONE,
                                                    NONE if deviation is None else readable(deviation, "ns"),
                                                    "1" if speed_up is None else short(speed_up)]))
    return table(["a ring of 503", "a hop", "99.9 % interval of the mean", "standard deviation", "times as fast as threads"],
                 [cells for _, cells in sorted(rows, key=lambda pair: pair[0])])


def ring_targets(results, seeds):
    """What the seed reports of the best, and weft's beside it."""
    threads = results.value("ring", "threads/condition-variables")
    channels, actors = (results.value("ring", f"fibers/{v}", workers=1) for v in ("channels", "actors"))
    java, quasar = (results.value("ring", f"quasar/{v}") for v in ("java-threads", "channels"))
    akka = results.value("ring", "akka/actors")

    def times(slow, fast):
        return NONE if not slow or not fast else f"{short(slow / fast)} times"
    rows = [["fibers with channels, how much faster than threads", times(threads, channels),
             f"{short(seeds.value('ring', 'fibers/channels/speed-up'))} times (Quasar)", f"{times(java, quasar)} (Quasar)"],
            ["a hop between actors", NONE if actors is None else readable(actors, "ns"), seeds.text("ring", "fibers/actors"),
             NONE if akka is None else f"{readable(akka, 'ns')} (Akka)"]]
    return table(["", "weft", "the seed, on its machine", "beside it, in the same run"], rows)


def choice(results, seeds):
    """Fibers and threads where bodies wait often, and where they compute for long."""
    rows = []
    for variant, name in (("threads", "threads"), ("fibers", "fibers"), ("fibers/never-preempted", "fibers that are never preempted")):
        computes, waits = (f"{variant}/{case}" for case in ("computes", "waits"))
        for workers in sorted({*results.workers("choice", waits), *results.workers("choice", computes)}):
            rows.append([name if variant == "threads" else f"{name}, {on(workers)}",
                         *(cell(results.get("choice", v, workers), spread=True) for v in (waits, computes, f"{computes}/latest-tick"))])
    return table(["sixteen bodies, as", "a step, where each is a wait", "all of them, where they compute", "the latest tick of a millisecond beside these"], rows)


# --- seed 003 --------------------------------------------------------------------------------------------------------------------------------

def sleepers(results, seeds):
    rows = []
    for variant in results.variants("preempt"):
        if variant.endswith("/sleepers-beside-fib"):
            for row in results.all("preempt", variant, "ms"):
                rows.append((row["median"] - row["n"], [who(row), f"{row['n']:,} ms", cell(row, spread=True), readable(row["median"] - row["n"], "ms")]))
    for variant in ("fibers/sleepers-beside-fib", "ruby/sleepers-beside-fib"):
        seed = seeds.of("preempt", variant)
        rows.append((seed["value"] - seed["n"], [f"the seed: {seed['of']}", f"{seed['n']:,} ms", readable(seed["value"], "ms"),
                                                 readable(seed["value"] - seed["n"], "ms")]))
    return table(["two fibers that sleep beside one that computes", "asked for", "back after", "late by"],
                 [cells for _, cells in sorted(rows, key=lambda pair: pair[0])])


def preempt_name(results, hogs, kind="recursion"):
    """recursion-4, or the largest crew that was measured if that is not there."""
    sizes = sorted({int(v.split("/")[1].rpartition("-")[2]) for v in results.variants("preempt") if v.startswith(f"fibers/{kind}-")})
    return f"{kind}-{hogs if hogs in sizes or not sizes else sizes[-1]}"


def lateness(results, seeds):
    """How late ticks of a millisecond are, by crew."""
    crews = sorted({v.split("/")[1] for v in results.variants("preempt") if v.startswith("fibers/") and v.endswith("/p99")},
                   key=lambda c: (c.rpartition("-")[0], int(c.rpartition("-")[2])))
    rows = []
    for crew in crews:
        kind, _, hogs = crew.rpartition("-")
        found = []
        for variant in results.variants("preempt"):
            name, _, figure = variant.partition(f"/{crew}/")
            if figure == "p99":
                for p99 in results.all("preempt", variant):
                    p50, most = (results.get("preempt", f"{name}/{crew}/{f}", p99["workers"]) for f in ("p50", "max"))
                    first = results.get("preempt", f"{name}/{crew}/first-p99", p99["workers"])
                    work = results.get("preempt", f"{name}/{crew}/throughput", p99["workers"])
                    found.append((p99["median"], [f"{hogs} ({kind})", who(p99 | {"variant": name}), cell(p50), cell(p99, spread=True), cell(most),
                                                  cell(first), cell(work)]))
        rows += [cells for _, cells in sorted(found, key=lambda pair: pair[0])]
    for variant in results.variants("preempt"):   # the peers have more crews than weft was asked for
        if variant.rpartition("/")[2] in ("first-p50", "p90") or not own(variant):
            results.all("preempt", variant)
    return table(["beside", "", "half of the ticks", "99 %", "the latest", "99 % of the first second's", "the hogs' work, that of threads as 1"], rows)


def preempt_cost(results, seeds):
    rows = []
    for slice_ms in (1, 5, 10, 50):
        row = results.get("preempt", f"fibers/cost/slice-{slice_ms}")
        rows.append([f"weft, a slice of {slice_ms} ms", *cost_cells(row)])
    rows.append(["weft, calls counted instead", *cost_cells(results.get("preempt", "reductions/cost"))])
    for variant, name in (("fibers/cost/slice-50", ""), ("reductions/cost", "")):
        rows.append([f"the seed: {seeds.of('preempt', variant)['of']}", percent(seeds.value("preempt", variant)), NONE])
    hand_off = results.get("preempt", "fibers/hand-off")
    text = table(["what preemption adds to the time of a fiber that computes", "median", "least to most"], rows)
    return text if hand_off is None else f"{text}\n\nOne hand-off costs {cell(hand_off, spread=True)} of CPU."


def cost_cells(row):
    if row is None:
        return [NONE, NONE]
    return [added(row), f"{percent(row['min'], row['unit'])} to {percent(row['max'], row['unit'])}"]


# --- seed 004 --------------------------------------------------------------------------------------------------------------------------------

SERVERS = {"go/net-http": "Go, net/http and go-redis", "node/http": "Node, its own server", "node/callbacks": "Node, Express, callbacks",
           "node/promises": "Node, Express, promises", "node/async": "Node, Express, async functions", "weft/fibers": "weft, fibers",
           "weft/callbacks": "weft, callbacks of its I/O engine, no fibers", "weft/bare": "weft, fibers without routes",
           "weft/promises": "weft, promises", "weft/framework": "weft, fibers below a framework",
           "weft/fibers-cached": "weft, fibers, Redis cached in the process", "weft/fibers-spread": "weft, fibers, two Redis servers"}
SERVICE_FIGURES = ("p50", "p99", "server-cpu", "redis-cpu")


def cpus(count):
    return f"{count} thread{'s' * (count != 1)}"


def servers_of(results):
    return [v.removesuffix("/requests") for v in results.variants("service") if v.endswith("/requests")]


def service(results, seeds):
    rows = []
    for name in servers_of(results):
        for requests in results.all("service", f"{name}/requests"):
            spread = "" if requests["runs"] < 2 else f" ({requests['min']:,.0f} to {requests['max']:,.0f})"
            figures = (cell(results.get("service", f"{name}/{f}", requests["workers"])) for f in SERVICE_FIGURES)
            rows.append((-requests["max"], [f"{SERVERS.get(name, name)}, {cpus(requests['workers'])}", readable(requests["max"], "1/s"), f"{requests['median']:,.0f}{spread}", *figures]))
        for figure in ("p75", "p90", "wrk-cpu"):
            results.all("service", f"{name}/{figure}")
    for variant in ("go/net-http", "node/http", "node/callbacks", "node/fibers", "node/promises"):
        seed = seeds.of("service", f"{variant}/requests")
        rows.append((-seed["value"], [f"the seed: {seed['of']}", readable(seed["value"], "1/s"), NONE, readable(seeds.value("service", f"{variant}/p50"), "us"),
                                      readable(seeds.value("service", f"{variant}/p99"), "us"), NONE, NONE]))
    return table(["GET /users/1, 100 connections", "best run, requests a second", "median (least to most)", "half of the answers", "99 %",
                  "the server's CPU for one", "CPU of Redis"], [cells for _, cells in sorted(rows, key=lambda pair: pair[0])])


# --- what there is besides -------------------------------------------------------------------------------------------------------------------

def left_out(results, seeds):
    if not results.left_out:
        return "None: every peer ran."
    by_reason = {}
    for entry in results.left_out:
        by_reason.setdefault((entry["peer"], entry["reason"]), []).append(entry["bench"])
    return table(["peer", "benchmarks", "reason"], [[peer, ", ".join(dict.fromkeys(benches)), reason] for (peer, reason), benches in by_reason.items()])


def others(results, *benches):
    """Figures of these benchmarks that no table has asked for: a line that was added to the benchmark since appears here."""
    rows = [[r["bench"], r["variant"], on(r["workers"]), f"{r['n']:,}", cell(r, spread=True)] for r in results.unasked(*benches)]
    return table(["benchmark", "variant", "", "n", "figure"], rows) if rows else ""


TABLES = {"headlines": headlines, "switch": switch, "feed-times": feed_times, "feed-trips": feed_trips, "feed-shape": feed_shape, "feed-hybrid": feed_hybrid,
          "feed-ring": feed_ring, "spawn": spawn, "scaling": scaling, "waking": waking, "ring": ring, "ring-targets": ring_targets, "choice": choice,
          "sleepers": sleepers, "lateness": lateness, "preempt-cost": preempt_cost, "service": service, "left-out": left_out}
