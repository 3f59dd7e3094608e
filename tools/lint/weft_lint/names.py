"""Names as the source has them, by the C++ library's own demangler."""
import ctypes
import functools


@functools.lru_cache(maxsize=None)
def demangled(name):
    if not name.startswith("_Z"):
        return name
    library = ctypes.CDLL("libstdc++.so.6")
    library.__cxa_demangle.restype = ctypes.c_void_p
    library.free.argtypes = [ctypes.c_void_p]
    status = ctypes.c_int()
    text = library.__cxa_demangle(name.encode(), None, None, ctypes.byref(status))
    if not text:
        return name
    found = ctypes.string_at(text).decode()
    library.free(text)
    return found
