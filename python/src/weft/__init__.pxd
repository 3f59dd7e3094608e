# weft/__init__.pxd - `cimport weft`: the C interface of weft (weft/c.pxd) and check(), which turns a status into an exception.
#
#     weft.check(weft.weft_send(ch, &value, weft.WEFT_FOREVER))   # in a function that is `except -1`, with or without the GIL
#
# check() is for threads of Python. In the body of a fiber an exception would be lost with the thread state that is made for `with gil`;
# a body looks at statuses, and returns WEFT_EFAILED with the words of weft_fail().
from weft.c cimport *
from weft._core cimport check
