"""What is run: each benchmark with its sizes, in the short form (all in about twelve minutes on two processors) and in the full one.

`weft` are the words behind `weft bench NAME`; `peers` are calls of bench/peers/run: the peers (None: all that know the benchmark), how many
runs, which numbers of workers ("cpus": as many as there are CPUs), and the size where the benchmark's own takes too long.
"""
import dataclasses

PYTHON = ("asyncio", "uvloop", "gevent")
ONE_THREAD = (*PYTHON, "node", "ruby")    # they have no use for more workers
NOT_PREEMPTED = ("java", "asyncio", "uvloop", "gevent", "node", "tokio", "boost_fiber")


@dataclasses.dataclass(frozen=True)
class Peers:
    only: tuple = None
    runs: int = 5
    workers: tuple = (1, "cpus")
    n: int = None


@dataclasses.dataclass(frozen=True)
class Step:
    bench: str
    seed: str
    weft: tuple = ()
    peers: tuple = ()
    full_flag: bool = False     # the benchmark has a --full of its own


REST = ("threads", "go", "java", "akka", "quasar", "erlang", "node", "tokio", "boost_fiber", "onetbb", "openmp")

SHORT = (
    Step("switch", "", ("--runs", "3", "--n", "1000000"), (Peers(runs=1, workers=(1,), n=200_000),)),
    Step("feed", "000", ("--runs", "3"), (Peers(runs=1, workers=(1,), n=64),)),
    Step("spawn", "001", ("--runs", "3"), (Peers(PYTHON, runs=1, workers=(1,), n=100_000),
                                      Peers(("cython",), runs=5), Peers(REST, runs=2, workers=(1,)))),
    Step("fibonacci", "001", ("--runs", "1", "--workers", "1,2,4,8,16"), (Peers(("go",), runs=1, workers=(1, 2, 4, 8, 16)),)),
    Step("channel", "001", ("--runs", "3", "--n", "20000", "--workers", "1,2")),
    Step("ring", "002", ("--runs", "2", "--n", "1000000"), (Peers(runs=2, n=200_000),)),
    Step("choice", "002", ("--runs", "3", "--n", "300")),
    Step("preempt", "003", ("--runs", "3", "--kinds", "recursion", "--hogs", "1,4"),
         (Peers(("go", "ruby", "erlang"), runs=1, workers=(1,)), Peers(NOT_PREEMPTED, runs=1, workers=(1,), n=50))),
)
FULL = (
    Step("switch", "", (), (Peers(workers=(1,)),)),
    Step("feed", "000", (), (Peers(n=1024),), full_flag=True),
    Step("spawn", "001", ("--runs", "9"), (Peers(PYTHON, runs=5, workers=(1,)), Peers(("cython", *REST)))),
    Step("fibonacci", "001", ("--workers", "1,2,4,8,16"), (Peers(workers=(1, 2, 4, 8, 16)),)),
    Step("channel", "001", ("--runs", "9")),
    Step("ring", "002", (), (Peers(),)),
    Step("choice", "002"),
    Step("preempt", "003", ("--kinds", "recursion,loop", "--hogs", "1,4,16", "--n", "5000"), (Peers(),)),
)
SERVICE = {"short": {"warm_up": 1, "seconds": 3, "runs": 3}, "full": {"warm_up": 3, "seconds": 20, "runs": 3}}
FORMS = {"short": SHORT, "full": FULL}
