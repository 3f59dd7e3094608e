# weft/_core.pxd - how a status becomes an exception. weft/__init__.pxd hands it on.
cdef int check(int status) except -1 nogil
