"""The command python -m weft.serve MODULE:APP, which runs weft.serve(). The function itself is one of weft._serve."""
import argparse
import os
import signal
import subprocess
import sys
import threading
import time

import weft as _weft
from weft._application import find

try:
    from weft._serve import SIZES, TIMES    # type: ignore[import-not-found,unused-ignore]
except ModuleNotFoundError:     # the library was built without HTTP, as weft.Server says
    SIZES = TIMES = ()
LOOK = 0.5     # seconds between two looks for changed files


def number_or_none(make):
    def read(text):
        return None if text == "none" else make(text)
    read.__name__ = make.__name__
    return read


def arguments(words):
    p = argparse.ArgumentParser(prog="python -m weft.serve", allow_abbrev=False,
                                description="Serves an application by HTTP, each request on a fiber of its own.")
    p.add_argument("app", metavar="MODULE:APP", help="what answers, for example shop.main:app; without :APP it is called app")
    p.add_argument("--listen", metavar="HOST:PORT", default="127.0.0.1:8080",
                   help="or unix:/path; default: %(default)s; port 0 picks one")
    p.add_argument("--interface", choices=["plain", "wsgi", "asgi"], default="wsgi", help="default: %(default)s")
    p.add_argument("--loop", metavar="MODULE:FUNCTION", help="for asgi: what makes the event loop, for example uvloop:new_event_loop")
    p.add_argument("--factory", action="store_true", help="APP is a function that makes the application")
    p.add_argument("--workers", type=int, metavar="N", help="threads that run fibers; default: one for each CPU")
    p.add_argument("--processes", type=number_or_none(int), metavar="N", default=1,
                   help='processes, each with a GIL of its own; "none": one for each CPU; default: 1')
    p.add_argument("--interpreters", type=int, metavar="N",
                   help="interpreters of one process, each with a GIL of its own, from CPython 3.13 on; default: none but the main one")
    p.add_argument("--grace", type=float, metavar="SECONDS", default=10, help="time of requests under way at the end; default: 10")
    p.add_argument("--static", action="append", default=[], metavar="PREFIX=FOLDER", help="serves the files of a folder; may be repeated")
    p.add_argument("--access-log", metavar="FILE", help='"-" is standard output; default: none')
    p.add_argument("--access-log-format", choices=["common", "combined", "json"], default="combined", help="default: %(default)s")
    p.add_argument("--chdir", metavar="FOLDER", help="where the module is looked for; default: here")
    p.add_argument("--reload", action="store_true", help="starts anew when a file of Python below the folder changes; for development")
    limits = p.add_argument_group("limits", 'see weft.Server; "none" is no limit')
    for name in SIZES:
        limits.add_argument("--" + name.replace("_", "-"), type=number_or_none(int), metavar="N", default=argparse.SUPPRESS)
    for name in TIMES:
        limits.add_argument("--" + name.replace("_", "-"), type=number_or_none(float), metavar="SECONDS", default=argparse.SUPPRESS)
    o = p.parse_args(words)
    for pair in o.static:
        if "=" not in pair or not pair.startswith("/"):
            p.error(f"--static {pair}: it is not /PREFIX=FOLDER")
    return o


def run(o):
    options = {name: getattr(o, name) for name in (*SIZES, *TIMES) if hasattr(o, name)}
    options |= {"interface": o.interface, "static": dict(pair.split("=", 1) for pair in o.static),
                "access_log": True if o.access_log == "-" else o.access_log, "access_log_format": o.access_log_format}
    sys.path.insert(0, os.getcwd())
    try:
        if o.interpreters is None:
            server = _weft.Server(find(o.app, o.factory), loop=find(o.loop, False) if o.loop else None, **options)
        else:
            server = _weft.Server(o.app, interpreters=o.interpreters, factory=o.factory, loop=o.loop, **options)
        server.serve(o.listen, workers=o.workers, processes=o.processes, grace=o.grace,
                     on_ready=lambda at: print(f"weft: serving {o.app} at {at if at.startswith('unix:') else 'http://' + at}",
                                               file=sys.stderr, flush=True))
    except (OSError, ValueError) as e:
        raise SystemExit(f"weft.serve: {e}") from None


def state_of_files():
    """When each file of Python below this folder was changed."""
    state = {}
    for folder, folders, files in os.walk("."):
        folders[:] = [f for f in folders if not f.startswith(".") and f not in ("__pycache__", "node_modules")]
        for name in files:
            if name.endswith(".py"):
                try:
                    state[os.path.join(folder, name)] = os.stat(os.path.join(folder, name)).st_mtime_ns
                except OSError:
                    pass     # it has gone meanwhile
    return state


def run_and_reload(words):
    """Runs this command without --reload as a child, and anew after each change. A child that has failed waits for the next one."""
    command = [sys.executable, "-m", "weft.serve", *(w for w in words if w != "--reload")]
    end = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: end.set())
    while not end.is_set():
        state = state_of_files()
        child = subprocess.Popen(command)
        while not end.wait(LOOK) and state_of_files() == state:
            pass
        if child.poll() is None:
            child.terminate()
        child.wait()
        if not end.is_set():
            print("weft: a file has changed", file=sys.stderr, flush=True)
    return 0


def main(words=None):
    words = sys.argv[1:] if words is None else words
    o = arguments(words)
    if o.chdir:
        folder = os.path.abspath(o.chdir)
        os.chdir(folder)
        # A process that this one starts begins in the folder. Of two words the last one counts.
        words = [*words, "--chdir", folder]
        sys.orig_argv += ["--chdir", folder]
    if o.reload:
        return run_and_reload(words)
    return run(o)


if __name__ == "__main__":
    sys.exit(main())
else:
    sys.modules[__name__] = _weft.serve     # type: ignore[assignment]  # `import weft.serve` changes nothing
