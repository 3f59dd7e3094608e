"""Runs bench/peers/run and serve: wrong arguments are refused in one line, and what the peers print is what `weft bench` reads.

    check_peers.py SOURCE_DIR COMPILER WORK_DIR
"""
import json
import os
import pathlib
import re
import subprocess
import sys

source, compiler, work = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
FIELDS = ["bench", "variant", "workers", "n", "unit", "min", "median", "max", "runs"]
failures = []


def expect(what, fact):
    print(("ok      " if fact else "FAILED  ") + what)
    if not fact:
        failures.append(what)


def run(*arguments, **changed):
    return subprocess.run([source / "bench/peers/run", *arguments], text=True, capture_output=True,
                          env=os.environ | {"CXX": compiler, "XDG_CACHE_HOME": str(work)} | changed)


def check_refusals():
    for words in ("", "juggling", "ring --workers 0", "ring --workers 2000", "ring --runs many", "ring --runs -1", "ring --n 0", "ring --n 1.5",
                  "forkjoin --n 41", "ring --only abacus", "ring --build /proc/no", "ring --n", "ring extra", "ring --work 1",
                  "ring --seconds 0"):
        done = run(*words.split())
        one_line = done.stderr.count("\n") == 1 and done.stderr.startswith("run: ")
        expect(f"'{words}' is refused in one line with exit code 2", done.returncode == 2 and one_line and not done.stdout)


def check_figures():
    for bench, variant in (("spawn", "threads/detached"), ("parked", "threads/memory"), ("skynet", "threads/joins")):
        done = run(bench, "--workers", "2", "--runs", "3", "--n", "20", "--only", "threads")
        results = [json.loads(line) for line in done.stdout.splitlines()]
        expect(f"{bench} of the threads peer ends with 0 and nothing on stderr", done.returncode == 0 and not done.stderr)
        expect(f"{bench} prints {variant} with three runs", [r["runs"] for r in results if r["variant"] == variant] == [3])
        for r in results:
            in_order = isinstance(r["min"], float) and r["min"] <= r["median"] <= r["max"]
            named = r["bench"] == bench and r["variant"].startswith("threads/") and r["workers"] == 2 and r["n"] == 20
            expect(f"{r['variant']} has the fields of weft bench, in order", list(r) == FIELDS and named and in_order)


def check_python():
    """The peers in Python need nothing but the Python that runs this, where they use its own event loop."""
    for bench, variants in (("switch", {"yield", "call-and-yield"}), ("ring", {"channels", "promises"}),
                            ("python", {f"{v}{c}" for v in ("spawn-and-join", "yield-of-2", "yield-of-100", "round-trip") for c in ("", "/cpu")}),
                            ("spawn", {"run-as-spawned", "batch", "batch/spawn-share", "run-as-spawned/peak-memory", "batch/peak-memory"})):
        done = run(bench, "--workers", "1", "--runs", "2", "--n", "600", "--only", "asyncio")
        figures = {r["variant"]: r for r in map(json.loads, done.stdout.splitlines())}
        expect(f"{bench} of asyncio has its figures", done.returncode == 0 and set(figures) == {f"asyncio/{v}" for v in variants} and
               all(r["median"] > 0 and list(r) == FIELDS for r in figures.values()))


def check_limit():
    # A thousand runs of the peer's longest ring, 50,000 elements, need 100 s on the fastest machine.
    done = run("ring", "--only", "asyncio", "--n", "1000000", "--runs", "1000", "--seconds", "1")
    expect("a peer that needs longer than its limit is left out", done.returncode == 1 and "needs more than 1 s" in done.stderr and not done.stdout)


def check_who():
    done = run("ring", "--peers")
    expect("those who measure a benchmark are listed", {"go", "akka", "quasar", "asyncio", "gevent", "node"} <= set(done.stdout.split()))
    expect("what is of Python only, too", run("blocking", "--peers").stdout.split() == ["asyncio", "uvloop", "gevent", "python"])


def check_serve():
    serve = source / "bench/peers/serve"
    listed = subprocess.run([serve, "--list"], text=True, capture_output=True)
    expect("the servers are listed", listed.stdout.split() == ["go/net-http", "node/http", "node/callbacks", "node/promises", "node/async"])
    for words in ([], ["juggler"], ["go/net-http", "1"], ["go/net-http", "one", "2"]):
        done = subprocess.run([serve, *words], text=True, capture_output=True)
        expect(f"serve {words} is refused with exit code 2", done.returncode == 2 and not done.stdout)
    for name, tool in (("go/net-http", "go"), ("node/async", "node")):
        done = subprocess.run([serve, name, "1", "2", "--build", work / "servers"], text=True, capture_output=True,
                              env=os.environ | {"PATH": str(none_installed())})
        expect(f"without {tool}, serve {name} says what to install", done.returncode == 1 and
               re.fullmatch(rf"peers: {name} left out: there is no {tool}; install [^\n]+\n", done.stderr) is not None)


def check_lateness():
    """The C++ peer of preempt, where this machine has its library; otherwise its package is named."""
    done = run("preempt", "--workers", "1", "--runs", "1", "--n", "5", "--only", "boost_fiber")
    if done.returncode == 1:
        expect("boost_fiber is named as missing", names_its_package(done))
        return
    figures = {r["variant"].removeprefix("boost_fiber/"): r["median"] for r in map(json.loads, done.stdout.splitlines())}
    kinds = [f"{kind}-{hogs}" for kind in ("recursion", "loop") for hogs in (1, 4, 16)]
    expect("preempt has the kinds and figures of weft bench", done.returncode == 0 and set(figures) ==
           {"sleepers-beside-fib"} | {f"{kind}/{figure}" for kind in kinds for figure in ("p50", "p90", "p99", "max")})
    expect("R1 who is not preempted makes two who sleep for 5 ms wait for fib's 15", figures.get("sleepers-beside-fib", 0) >= 15)
    expect("and ticks wait for all sixteen hogs", figures.get("recursion-16/p50", 0) >= 70_000)


def names_its_package(done):
    return re.fullmatch(r"peers: boost_fiber left out: [^\n]+; install libboost-fiber-dev\n", done.stderr) is not None and not done.stdout


# Stands for a compiler on a machine that has nothing of Boost.Fiber, only its headers (package libboost-dev), or its library as well.
COMPILER = """#!/bin/sh
has={has}
case "$*" in
    *-fsyntax-only*) grep -q boost/fiber && [ $has = nothing ] && exit 1 ;;
    *-lboost_fiber*) [ $has = library ] || exit 1 ;;
esac
while [ $# -gt 1 ]; do
    if [ "$1" = -o ]; then
        printf '#!/bin/sh\necho channels 20 us 1.5\n' > "$2" && chmod +x "$2"
    fi
    shift
done
"""


def check_parts_of_a_library():
    for has in ("nothing", "headers", "library"):
        compiler = work / f"compiler-with-{has}"
        compiler.write_text(COMPILER.replace("{has}", has))
        compiler.chmod(0o755)
        done = run("ring", "--n", "20", "--only", "boost_fiber", "--build", str(work / f"with-{has}"), CXX=str(compiler))
        if has == "library":
            figures = [json.loads(line) for line in done.stdout.splitlines()]
            expect("with headers and library boost_fiber is built and measured", done.returncode == 0 and not done.stderr and
                   [(r["variant"], r["median"]) for r in figures] == [("boost_fiber/channels", 1.5)])
        else:
            expect(f"with {has} of it boost_fiber is named as missing", done.returncode == 1 and names_its_package(done))


def none_installed():
    """A folder for PATH that has what the script itself needs."""
    none = work / "nothing-installed"
    none.mkdir(parents=True, exist_ok=True)
    for tool in ("python3", "env"):
        if not (none / tool).exists():
            (none / tool).symlink_to(sys.executable if tool == "python3" else "/usr/bin/env")
    return none


def check_what_is_missing():
    none = none_installed()
    done = run("channel", "--only", "go", PATH=str(none))
    said = re.fullmatch(r"peers: go left out: there is no go; install [^\n]+\n", done.stderr)
    expect("a peer without its tools is named with what to install", said is not None and done.returncode == 1 and not done.stdout)
    done = run("http")
    expect("a benchmark without peers ends with 0", done.returncode == 0 and not done.stdout and "no peer measures http" in done.stderr)


work.mkdir(parents=True, exist_ok=True)
check_refusals()
check_figures()
check_python()
check_limit()
check_who()
check_serve()
check_lateness()
check_parts_of_a_library()
check_what_is_missing()
sys.exit(1 if failures else 0)
