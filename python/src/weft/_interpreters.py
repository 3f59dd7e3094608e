"""Both sides of an interpreter that serves: what the main one prepares, and what begins in the other one, which runs this file first.

An extension module of weft has variables of C that belong to one interpreter, so each interpreter loads a copy of its file: the system gives
each copy variables of its own. docs/design/python.md says why it is so. libweft_c is loaded once, and what it has is shared.
"""
import datetime  # noqa: F401 - the main interpreter has it first: CPython 3.13.0 frees its types twice if two others load and end it
import importlib.machinery
import importlib.util
import json
import os
import sys
import traceback

FIRST = (3, 13)
COPIED = ("weft._core", "weft._fibers", "weft._serve")


# ---- in the main interpreter


def refusal():
    """Why there can be no interpreters here; None: there can."""
    if sys.implementation.name == "cpython" and sys.version_info >= FIRST:
        return None
    return f"weft: interpreters=N needs CPython {FIRST[0]}.{FIRST[1]} or later, and this is {sys.version.split()[0]}; processes=N works here"


def copies():
    """Paths of new copies of the extension modules. Their descriptors stay open, since a path that comes again would mean the old copy."""
    paths = {}
    for name in COPIED:
        with open(sys.modules[name].__file__, "rb") as file:
            size, at = os.fstat(file.fileno()).st_size, 0
            copy = os.memfd_create(name)
            while at < size:
                at += os.sendfile(copy, file.fileno(), at, size - at)
        paths[name] = f"/proc/self/fd/{copy}"
    return paths


def code(place, programs):
    """What a new interpreter runs. place: the address of its place. programs: [name, is_factory, interface, loop] of each."""
    words = json.dumps({"place": place, "programs": programs, "path": sys.path, "argv": sys.argv, "copies": copies()})
    return (f"space = {{'__name__': 'weft._interpreters', '__file__': {__file__!r}}}\n"
            f"with open({__file__!r}, encoding='utf-8') as file:\n"
            f"    exec(compile(file.read(), {__file__!r}, 'exec'), space)\n"
            f"failure = space['work']({words!r})\n")


def exception_of(failure):
    """What work() has returned, as an exception."""
    if not failure:
        return RuntimeError("weft: an interpreter could not be made")
    try:
        kind, words, trace = json.loads(failure)
    except ValueError:
        return RuntimeError(f"weft: an interpreter could not be made: {failure}")
    if kind == "name":
        return ValueError(words)
    if kind == "import":
        return ImportError(f"weft: an interpreter of its own cannot import the application: {words}; a module that refuses interpreters "
                           f"works with processes=N\n{trace}")
    return RuntimeError(f"weft: the application failed in an interpreter of its own: {words}\n{trace}")


# ---- in an interpreter of its own


class Loader(importlib.machinery.ExtensionFileLoader):
    """Of a copy: CPython's check whether the module may be here does not know that no other interpreter has this file."""

    def create_module(self, spec):
        with importlib.util._incompatible_extension_module_restrictions(disable_check=True):
            return super().create_module(spec)


class Finder:
    """Finds the copies, and remembers what was looked for last, since not every refusal names its module."""

    def __init__(self, paths):
        self.paths, self.last = paths, None

    def find_spec(self, name, path=None, target=None):
        self.last = name
        if name not in self.paths:
            return None
        return importlib.util.spec_from_file_location(name, self.paths[name], loader=Loader(name, self.paths[name]))


def work(words):
    """Loads the programs and serves them. \\returns None, or why they could not be loaded, for exception_of()."""
    asked = json.loads(words)
    sys.path[:], sys.argv[:] = asked["path"], asked["argv"]
    finder = Finder(asked["copies"])
    sys.meta_path.insert(0, finder)
    not_found = ()
    try:
        from weft import _serve
        from weft._application import NotFound as not_found, find
        _serve._work_in_interpreter(asked["place"], asked["programs"], find)
    except not_found as e:
        return json.dumps(["name", str(e), ""])
    except ImportError as e:
        words, name = str(e), e.name or finder.last
        return json.dumps(["import", words if name in words else f"{name}: {words}", traceback.format_exc()])
    except BaseException as e:
        return json.dumps(["other", f"{type(e).__name__}: {e}", traceback.format_exc()])
    return None
