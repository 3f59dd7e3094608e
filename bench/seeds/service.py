"""Seed 004's experiment: the users service on Redis under wrk, with 100 connections, the way the seed's script does it.

Redis is started for it and not tuned; it, wrk and the server share the machine. One user is stored, each server is loaded for a moment to
warm up, and then three times. Requests a second, the 50, 75, 90 and 99th percentile, and the CPU that the server, Redis and wrk used.
"""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request

CONNECTIONS = 100
PERCENTILES = (50, 75, 90, 99)
TO_MICROSECONDS = {"us": 1, "ms": 1e3, "s": 1e6, "m": 60e6}


class Failed(Exception):
    """The text says why a server was not measured."""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def cpu_seconds(session):
    """CPU time of the processes of a session that live."""
    ticks = 0
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[3]) == session:
                ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def running(command, log, **options):
    """A process in a session of its own, which ends with all of it."""
    with open(log, "a") as said:
        started = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True, **options)
    try:
        yield started
    finally:
        for how in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(started.pid, how)
            with contextlib.suppress(subprocess.TimeoutExpired):
                started.wait(timeout=5)


def until(ready, process, what, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if process.poll() is not None:
            raise Failed(f"{what} ended with {process.returncode}")
        with contextlib.suppress(OSError):
            if ready():
                return
        time.sleep(0.05)
    raise Failed(f"{what} does not answer within {seconds} s")


def answers(url):
    with urllib.request.urlopen(url, timeout=2) as reply:
        return reply.status == 200


@contextlib.contextmanager
def redis(folder):
    """A Redis server with one user. Gives its port and its session."""
    port = free_port()
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(folder)]
    with running(command, folder / "redis.log") as server:
        def stored():
            done = subprocess.run(["redis-cli", "-p", str(port), "set", "user:1", "Ann"], capture_output=True, text=True)
            return done.stdout.strip() == "OK"
        until(stored, server, "redis-server")
        yield port, server.pid


def read_wrk(text):
    """Requests a second, and the percentiles in us, from what wrk prints."""
    if bad := re.search(r"Non-2xx or 3xx responses: (\d+)|Socket errors: .*", text):
        raise Failed(f"wrk saw errors: {bad[0]}")
    rate = re.search(r"Requests/sec:\s+([\d.]+)", text)
    found = dict(re.findall(r"^\s+(\d+)%\s+([\d.]+[a-z]+)\s*$", text, re.M))
    if rate is None or not {str(p) for p in PERCENTILES} <= found.keys():
        raise Failed("wrk printed no rate and percentiles")
    late = {}
    for percentile in PERCENTILES:
        number, unit = re.fullmatch(r"([\d.]+)([a-z]+)", found[str(percentile)]).groups()
        late[f"p{percentile}"] = float(number) * TO_MICROSECONDS[unit]
    count = int(re.search(r"(\d+) requests in", text)[1])
    return float(rate[1]), late, count


def load(url, seconds, sessions):
    """One run of wrk: figures by name. `sessions` are those of the server and of Redis."""
    before = [cpu_seconds(s) for s in sessions]
    children = os.times()
    begin = time.monotonic()
    done = subprocess.run(["wrk", "-t2", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency", url], capture_output=True, text=True)
    spent, after = time.monotonic() - begin, os.times()
    if done.returncode != 0:
        raise Failed(f"wrk: {done.stderr.strip() or done.returncode}")
    rate, late, count = read_wrk(done.stdout)
    server, store = (cpu_seconds(s) - b for s, b in zip(sessions, before))
    wrk = after.children_user + after.children_system - children.children_user - children.children_system
    return {"requests": rate, **late, "server-cpu": server / count * 1e9, "redis-cpu": 100 * store / spent, "wrk-cpu": 100 * wrk / spent}


UNITS = {"requests": "1/s", "server-cpu": "ns", "redis-cpu": "%", "wrk-cpu": "%"}


def measure(name, threads, command, redis_count, plan, folder):
    """Lines of one server. `command` makes its command line from the ports of HTTP and of the Redis servers."""
    with contextlib.ExitStack() as stack:
        stores = [stack.enter_context(redis(folder)) for _ in range(redis_count)]
        port = free_port()
        server = stack.enter_context(running(command(port, [p for p, _ in stores]), folder / f"{name.replace('/', '-')}.log"))
        url = f"http://127.0.0.1:{port}/users/1"
        until(lambda: answers(url), server, name)
        sessions = (server.pid, stores[0][1])
        load(url, plan["warm_up"], sessions)
        figures = [load(url, plan["seconds"], sessions) for _ in range(plan["runs"])]
    for figure in figures[0]:
        values = sorted(f[figure] for f in figures)
        yield {"bench": "service", "variant": f"{name}/{figure}", "workers": threads, "n": CONNECTIONS, "unit": UNITS.get(figure, "us"),
               "min": round(values[0], 3), "median": round(values[len(values) // 2], 3), "max": round(values[-1], 3), "runs": len(values)}


def own_servers(weft, cpus):
    """(name, threads, command, Redis servers) of weft's: all variants where they are built, and the service of `weft serve` otherwise."""
    variants = pathlib.Path(weft).parent.parent / "bench/users_variants"

    def store(ports):
        return f"redis://127.0.0.1:{ports[0]}"
    if not variants.exists():
        for threads in dict.fromkeys((1, cpus)):
            yield "weft/fibers", threads, lambda port, stores, w=threads: [weft, "serve", "--listen", f"127.0.0.1:{port}", "--store", store(stores),
                                                                         "--workers", str(w)], 1
        return

    def variant(style, *more, workers, servers=1):
        return lambda port, stores: [str(variants), "--style", style, "--listen", f"127.0.0.1:{port}", *more, "--workers", str(workers),
                                     *(word for p in stores[:servers] for word in ("--redis", f"redis://127.0.0.1:{p}"))]
    yield "weft/callbacks", 1, variant("callbacks", workers=1), 1
    yield "weft/fibers", 1, variant("fibers", workers=1), 1
    yield "weft/callbacks", cpus, variant("callbacks", "--processes", str(cpus), workers=1), 1
    for style in ("bare", "fibers", "promises", "framework"):
        yield f"weft/{style}", cpus, variant(style, workers=cpus), 1
    yield "weft/fibers-cached", cpus, variant("fibers", "--store", "cached", workers=cpus), 1
    yield "weft/fibers-spread", cpus, variant("fibers", "--store", "spread", workers=cpus, servers=2), 2


def peer_servers(serve, build, cpus):
    """The same of the peers, which `bench/peers/serve` starts. What cannot be built is told by `left_out`."""
    for name in subprocess.run([serve, "--list"], capture_output=True, text=True, check=True).stdout.split():
        done = subprocess.run([serve, name, "--only-build", "--build", str(build)], capture_output=True, text=True)
        if done.returncode == 0:
            yield name, cpus, lambda port, stores, who=name: [str(serve), who, str(port), str(stores[0]), "--build", str(build)], 1
        else:
            yield name, cpus, done.stderr.strip().rpartition(" left out: ")[2], 0


def run(weft, serve, build, plan, cpus, tell):
    """Lines of all servers, and (name, reason) of those that are missing, in one list each."""
    rows, left_out = [], []
    for tool in ("redis-server", "redis-cli", "wrk"):
        if shutil.which(tool) is None:
            return [], [("weft and all peers", f"there is no {tool}; install redis-server and wrk")]
    with tempfile.TemporaryDirectory() as folder:
        for name, threads, command, stores in [*own_servers(weft, cpus), *peer_servers(serve, build, cpus)]:
            tell(f"service: {name}, {threads}")
            try:
                if not stores:
                    raise Failed(command)
                rows += measure(name, threads, command, stores, plan, pathlib.Path(folder))
            except (Failed, OSError, subprocess.SubprocessError) as failure:
                left_out.append((name, str(failure)))
    return rows, left_out
