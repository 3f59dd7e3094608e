"""Which benchmarks there are, with the sizes of `weft bench`, and which peer measures which of them.

A peer's `most` names the benchmarks it knows. The number is the size it gets at most, where its own way of doing the work needs
more time or memory than the benchmark is worth; figures are per operation, so that they stay comparable. None: no such limit.
"""
import dataclasses
import functools
from collections.abc import Callable

import building


@dataclasses.dataclass(frozen=True)
class Benchmark:
    n: int                     # its own size
    most: int = 10**9          # the largest that makes sense
    workers: int = 1024        # at most so many are used
    fresh: bool = False        # each run is a process of its own
    parts: tuple = ()          # what else the peers are called with, once each


BENCHMARKS = {
    "switch": Benchmark(5_000_000, workers=1),
    "spawn": Benchmark(500_000, 10**8, parts=("peak-memory/run-as-spawned", "peak-memory/batch")),
    "parked": Benchmark(1_000_000, 10**8, fresh=True),
    "ring": Benchmark(10_000_000),
    "skynet": Benchmark(1_000_000, 10**8),
    "forkjoin": Benchmark(32, 40),
    "fibonacci": Benchmark(100_000, 10**7),
    "feed": Benchmark(1024, 32_768),
    "mutex": Benchmark(2_000_000),
    "channel": Benchmark(1_000_000),
    "timers": Benchmark(1_000_000, 20_000_000),
    "preempt": Benchmark(1000, 100_000),
    "python": Benchmark(500_000, workers=1),
    "blocking": Benchmark(100, 1000),
    "http": Benchmark(1),      # peers are servers here: see README.md
    "users": Benchmark(20_000),
}


@dataclasses.dataclass(frozen=True)
class Peer:
    name: str
    most: dict
    build: Callable            # (folder, workers) -> how to call it; raises building.Missing


ALL = tuple(name for name in BENCHMARKS if name not in ("http", "users", "python", "blocking"))


def knows(*names, **most):
    """The benchmarks of a peer: those without a limit of its own, and those with one."""
    return dict.fromkeys(names) | most


def cxx(name, header=None, install="g++", flags=()):
    return functools.partial(building.build_cxx, name, header=header, install=install, flags=list(flags))


def python(kind, program):
    return functools.partial(building.build_python, kind=kind, program=program)


UNPREEMPTED = 200   # nobody ticks until all hogs have ended, each after so many milliseconds

IN_PYTHON = knows("blocking", switch=200_000, spawn=500_000, ring=50_000, feed=32, timers=100_000, preempt=UNPREEMPTED, python=50_000)

PEERS = {peer.name: peer for peer in (
    Peer("threads", knows("fibonacci", switch=500_000, spawn=10_000, parked=10_000, ring=100_000, skynet=1000, forkjoin=13), cxx("threads")),
    Peer("go", knows(*ALL, "users"), building.build_go),
    Peer("java", knows(*ALL, ring=1_000_000, forkjoin=25, channel=200_000, feed=256, preempt=UNPREEMPTED), building.build_java),
    Peer("akka", knows(ring=2_000_000), building.build_akka),
    Peer("quasar", knows(ring=1_000_000), building.build_quasar),
    Peer("erlang", knows("switch", "spawn", "parked", "skynet", "fibonacci", "feed", "channel", "timers", "preempt", ring=2_000_000,
                         forkjoin=24),
         building.build_erlang),
    Peer("ruby", knows("preempt"), building.build_ruby),
    Peer("asyncio", IN_PYTHON, python("asyncio", "loops.py")),
    Peer("uvloop", IN_PYTHON, python("uvloop", "loops.py")),
    Peer("gevent", IN_PYTHON, python("gevent", "greenlets.py")),
    Peer("cython", knows("switch", "spawn"), building.build_cython),
    Peer("python", knows("python", "blocking"), building.build_fibers),
    Peer("node", knows(switch=1_000_000, spawn=500_000, ring=1_000_000, feed=256, timers=100_000, preempt=UNPREEMPTED), building.build_node),
    Peer("tokio", knows(*ALL, forkjoin=27, preempt=UNPREEMPTED), building.build_tokio),
    Peer("boost_fiber", knows("switch", "fibonacci", "feed", "mutex", spawn=100_000, parked=100_000, ring=200_000, channel=50_000,
                              skynet=100_000, forkjoin=22, preempt=UNPREEMPTED),
         cxx("boost_fiber", "boost/fiber/all.hpp", "libboost-fiber-dev", ["-lboost_fiber", "-lboost_context"])),
    Peer("onetbb", knows("spawn", "skynet", "forkjoin", "fibonacci"), cxx("onetbb", "oneapi/tbb/task_group.h", "libtbb-dev", ["-ltbb"])),
    Peer("openmp", knows("spawn", "fibonacci", skynet=100_000, forkjoin=27), cxx("openmp", "omp.h", "g++, or libomp-dev for clang", ["-fopenmp"])),
)}

# The users service on Redis, elsewhere: what `serve` starts. (folder) -> how to call it, before the ports of HTTP and Redis.
SERVERS = {
    "go/net-http": building.build_go_server,
    **{f"node/{style}": functools.partial(building.build_node_server, style=style) for style in ("http", "callbacks", "promises", "async")},
}

# How each peer says its version.
VERSIONS = {
    "go": ["go", "version"], "node": ["node", "--version"], "python": ["python3", "--version"], "java": ["java", "--version"],
    "erlang": ["erl", "-noshell", "-eval", 'io:format("Erlang/OTP ~s~n", [erlang:system_info(otp_release)]), halt().'],
    "ruby": ["ruby", "--version"], "tokio": ["cargo", "--version"],
}
