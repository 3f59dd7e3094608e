"""weft: fibers for Python functions, and on all cores for Cython.

weft.spawn(f) runs a function as a fiber, weft.run(main) a program of them.
`cimport weft` declares the C interface (weft/c.h), and `from weft.scheduler cimport *` a scheduler of coroutines; both work without the
GIL. An extension is built with the keyword arguments of extension_options().
"""
import os as _os

from weft._core import Cancelled, Closed, Error, version_info
from weft._fibers import (Case, Channel, Event, Fiber, Lock, Selected, Semaphore, after, as_future, blocking, dump, receive, run,
                          run_coroutine, scope, select, send, sleep, spawn, timeout, yield_now)

try:
    from weft._serve import BodyError, Request, Response, Server, serve
except ModuleNotFoundError:     # the library was built without HTTP
    from weft._no_http import BodyError, Request, Response, Server, serve

__all__ = ["BodyError", "Cancelled", "Case", "Channel", "Closed", "Error", "Event", "Fiber", "Lock", "Request", "Response", "Selected",
           "Semaphore", "Server", "after", "as_future", "blocking", "dump", "extension_options", "get_include", "get_library_dir", "receive",
           "run", "run_coroutine", "scope", "select", "send", "serve", "sleep", "spawn", "timeout", "version_info", "yield_now"]
__version__ = ".".join(map(str, version_info))

_here = _os.path.dirname(_os.path.abspath(__file__))


def get_include():
    """The folder of the headers: it has weft/c.h. (`cimport weft` needs it when the C code is compiled.)"""
    return _os.path.join(_here, "include")


def get_library_dir():
    """The folder of libweft_c.so.0."""
    return _here


def extension_options():
    """Keyword arguments for setuptools.Extension.

    The extension finds the library at its present place. One that is shipped to other machines leaves `runtime_library_dirs` out,
    and imports weft before the extension is loaded: the library is then there already.
    """
    return {
        "include_dirs": [get_include()],
        "extra_link_args": [_os.path.join(_here, "libweft_c.so.0")],
        "runtime_library_dirs": [_here],
    }
