"""Checks what `make seeds` publishes: that docs/seeds/README.md and the table of README.md are made of docs/seeds/results.json, that
their charts are there, and that bench/seeds makes a page of any results, those that it does not know and those that are missing among them.

    check_seeds.py SOURCE_DIR
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

sys.dont_write_bytecode = True
source = pathlib.Path(sys.argv[1])
sys.path[:0] = [str(source / "bench/seeds"), str(source / "bench/peers")]
import peers
import plan
import results
import service
import shape
import tables

LARGEST_CHART = 100_000
failures = []


def expect(what, fact):
    print(("ok      " if fact else "FAILED  ") + what)
    if not fact:
        failures.append(what)


def line(bench, variant, median, unit="ns", workers=1, n=10, runs=3):
    return {"bench": bench, "variant": variant, "workers": workers, "n": n, "unit": unit, "min": median * 0.5, "median": median,
            "max": median * 2, "runs": runs}


SAMPLE = [
    *(line("feed", f"threads/nutrients-10", 100 if people < 8 else 10, "us", 2, people) for people in (1, 2, 4, 8)),
    *(line("feed", f"coroutines/nutrients-10", 5 + 2 * people, "us", 1, people) for people in (1, 2, 4, 8)),
    *(line("feed", f"fibers/every-256/nutrients-10", 50, "us", 2, people) for people in (1, 2, 4, 8)),
    line("spawn", "fibers/batch", 50), line("spawn", "fibers/batch/spawn-share", 31.4, "%"), line("spawn", "asyncio/batch", 4321),
    line("ring", "fibers/channels", 40), line("ring", "fibers/actors", 55), line("ring", "threads/condition-variables", 4000, workers=2),
    line("ring", "quasar/channels", 300), line("ring", "quasar/java-threads", 6000), line("ring", "akka/actors", 150),
    line("ring", "fibers/by-pigeon", 777, "B"),
    line("preempt", "fibers/cost/slice-10", 1.005, "x"), line("preempt", "fibers/recursion-4/p50", 20, "us"),
    line("preempt", "fibers/recursion-4/p99", 90, "us"), line("preempt", "fibers/recursion-4/max", 95, "us"),
    line("service", "weft/fibers/requests", 50_000, "1/s"), line("service", "weft/fibers/server-cpu", 10_300),
    line("service", "weft/callbacks/server-cpu", 10_000),
]
LEFT_OUT = [{"bench": "ring", "peer": "erlang", "reason": "there is no erl; install erlang-base"}]


def page_of(rows, left_out=()):
    """The page as a file of results gives it, by the program."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "results.json"
        results.Results({"load": 3.5, "machine": "a machine"}, left_out, rows).save(path)
        done = subprocess.run([sys.executable, "-B", source / "bench/seeds/page", "--print", "--results", path], text=True, capture_output=True)
        expect("a page is made without a word of complaint", done.returncode == 0 and not done.stderr)
        return done.stdout


def uneven_rows(page):
    """Rows of tables that have another number of cells than the one above."""
    lines = page.splitlines()
    return [below for above, below in zip(lines, lines[1:]) if above.startswith("|") and below.startswith("|") and
            above.count("|") != below.count("|")]


def check_sample():
    page = page_of(SAMPLE, LEFT_OUT)
    expect(f"all rows of a table have its cells {uneven_rows(page)}", not uneven_rows(page))
    expect("every place of the template is filled", "{{" not in page)
    for text in ("100 times | 29.0 times (Quasar) | 20.0 times (Quasar)", "55.0 ns | 91.1 ns (Akka actors) | 150 ns (Akka)"):
        expect(f"the targets of the ring stand beside Quasar and Akka: {text}", text in page)
    top = page[page.index("## Five figures"):page.index("## Seed 000")]
    for text in ("8, –, –, – (coroutines on one thread)", "31.4 % | 77.0 % (Lwan in Cython)", "40.0 ns | 72.1 ns (Quasar fibers) | 300 ns (quasar)",
                 "0.50 % | 4.00 %", "+3.0 % of CPU | 24.2 %"):
        expect(f"the five figures have: {text}", text in top)
    expect("a line that no table knows is shown all the same", "| ring | fibers/by-pigeon | 1 worker | 10 | 777 B (388 B to 1,554 B) |" in page)
    expect("a peer that is missing is named with the reason", "| erlang | ring | there is no erl; install erlang-base |" in page)
    expect("the page says that others used the machine", "its load was 3.5" in page)


def check_nothing():
    page = page_of([])
    expect("a page of nothing has the seeds' figures and says so of ours", results.NONE in page and "24.2 %" in page and "{{" not in page)


def check_shape():
    sample = results.Results(rows=SAMPLE)
    expect("a straight line has an R squared of 1", abs(shape.straightness(sample, "coroutines", None, 10) - 1) < 1e-9)
    expect("threads are faster from the first crowd on from which they stay so", shape.threads_faster_from(sample, "coroutines", None, 10) == 8)
    expect("the hybrid is compared with the better of both", shape.to_the_better(sample, "fibers/every-256", 2, 10) == (50 / 7, 1))
    told = results.Results(rows=SAMPLE + [line("feed", "coroutines/threads-faster-from/nutrients-10", 0, "people")])
    expect("what weft bench says of the crossing counts", shape.threads_faster_from(told, "coroutines", None, 10) is None)


def check_files():
    sample = results.Results({"taken": {"ring": "then"}}, LEFT_OUT, SAMPLE)
    sample.replace(["ring"], results.Results({"taken": {"ring": "now"}}, [], [line("ring", "fibers/channels", 41)]))
    ring = [r["median"] for r in sample.rows if r["bench"] == "ring"]
    expect("figures of a benchmark that is measured anew replace the old ones", ring == [41] and not sample.left_out and
           sample.about["taken"]["ring"] == "now" and sample.get("spawn", "fibers/batch") is not None)
    with tempfile.TemporaryDirectory() as folder:
        json_path, csv_path = pathlib.Path(folder) / "r.json", pathlib.Path(folder) / "r.csv"
        sample.save(json_path)
        sample.save_csv(csv_path)
        expect("results are read as they were written", results.Results.load(json_path).rows == sample.rows)
        expect("the CSV has the columns of weft bench", csv_path.read_text().splitlines()[0] == "bench,variant,workers,n,unit,min,median,max,runs")


WRK = """Running 4s test @ http://127.0.0.1:1/users/1
  Latency Distribution
     50%  812.00us
     75%    1.10ms
     90%    1.61ms
     99%    1.02s 
  404721 requests in 4.10s, 45.16MB read
Requests/sec:  98712.34
"""


def check_wrk():
    rate, late, count = service.read_wrk(WRK)
    expect("wrk's rate, count and percentiles are read", (rate, count) == (98712.34, 404721) and
           [round(late[p]) for p in ("p50", "p75", "p90", "p99")] == [812, 1100, 1610, 1_020_000])
    try:
        service.read_wrk(WRK + "  Non-2xx or 3xx responses: 7\n")
        expect("answers that are errors are refused", False)
    except service.Failed as failure:
        expect("answers that are errors are refused", "7" in str(failure))


def check_plan():
    known = set(peers.BENCHMARKS) | {"choice"}
    for form, steps in plan.FORMS.items():
        named = {name for step in steps for call in step.peers for name in call.only or ()}
        expect(f"the {form} form names benchmarks and peers that exist", {s.bench for s in steps} <= known and named <= set(peers.PEERS))
        expect(f"the {form} form has the experiment of each seed", {s.seed for s in steps} >= {"000", "001", "002", "003"})
    expect("the service has a length in each form", set(plan.SERVICE) == set(plan.FORMS))


def check_seed_figures():
    """The command and the page state the same of a seed."""
    text = (source / "tools/weft/bench/seeds.cpp").read_text()
    seeds = results.Seeds()
    rows = re.findall(r'row\{"([^"]+)", "([^"]+)", "([^"]+)", \w+, \{([\d.\']+), "([^"]+)"\}\}', text)
    differing = [(bench, variant) for bench, variant, _, value, _ in rows if seeds.value(bench, variant) != float(value.replace("'", ""))]
    expect(f"weft bench and the page quote the same figures of the seeds {differing}", len(rows) > 20 and not differing)


def check_published():
    done = subprocess.run([sys.executable, "-B", source / "bench/seeds/page", "--check"], text=True, capture_output=True)
    expect("docs/seeds/README.md and README.md are what bench/seeds/page makes of results.json", done.returncode == 0)
    print(done.stdout[:4000], done.stderr, sep="")
    page = (source / "docs/seeds/README.md").read_text()
    expect(f"all rows of a published table have its cells {uneven_rows(page)}", not uneven_rows(page))
    charts = re.findall(r"!\[[^\]]+\]\((charts/[a-z]+\.svg)\)", page)
    expect("each seed has a chart", len(charts) == 5)
    for chart in charts:
        path = source / "docs/seeds" / chart
        expect(f"{chart} is there and small", path.exists() and 1000 < path.stat().st_size < LARGEST_CHART)
        expect(f"{chart} is a picture", path.exists() and xml.etree.ElementTree.parse(path).getroot().tag.endswith("svg"))
    published = json.loads((source / "docs/seeds/results.json").read_text())["results"]
    for variant in ("fibers/channels", "fibers/promises", "fibers/actors", "threads/condition-variables", "akka/actors", "quasar/channels"):
        expect(f"the published ring has {variant}", any(r["bench"] == "ring" and r["variant"] == variant for r in published))
    screen = (source / "README.md").read_text().splitlines()[:20]
    expect("the first screen of the README has the table and links the page", any("seeds: begin" in line for line in screen) and
           any("docs/seeds/README.md" in line for line in screen))
    template = (source / "bench/seeds/page.md").read_text()
    typed = re.findall(r"\d[\d.,]* ?(?:ns|us|ms|s|%|x|times|MiB|KiB|requests)\b", template)
    expect(f"no figure is typed by hand into the page's words {typed}", not typed)


check_sample()
check_nothing()
check_shape()
check_files()
check_wrk()
check_plan()
check_seed_figures()
check_published()
sys.exit(1 if failures else 0)
