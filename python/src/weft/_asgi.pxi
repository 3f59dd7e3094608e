# _asgi.pxi - what weft._asgi asks of a request: its parts as bytes, and whether its body goes on.


def asgi_parts(Request q):
    """(minor version, method, path and query as they were sent, headers with names in lower case)."""
    cdef weft_http_request *of = q.here()
    cdef weft_http_field f
    cdef size_t i
    cdef list headers = []
    for i in range(weft_http_header_count(of)):
        f = weft_http_header_at(of, i)
        headers.append((PyBytes_FromStringAndSize(f.name, f.name_size).lower(), PyBytes_FromStringAndSize(f.value, f.value_size)))
    return weft_http_minor_version(of), method_of(of), bytes_of(weft_http_path(of)), bytes_of(weft_http_query(of)), headers


def asgi_body_goes_on(Request q):
    """Whether something is left of the body, or may be."""
    return weft_http_body_left(q.here()) != 0
