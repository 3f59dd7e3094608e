# _request.pxi - the plain interface: a function of a Request, which returns a Response, or what can be its body.


@cython.final
cdef class Request(Exchange):
    """A request, as a function of weft.serve() sees it. It is read lazily; an object that outlives its answer keeps all but the body, and
    the parameters of the route."""
    cdef tuple kept            # its parts, when the handler has returned
    cdef object _body

    def __init__(self, *args, **kw):
        raise TypeError("weft: a server makes requests")

    @property
    def method(self):
        """"GET" and so on, as it was sent."""
        return method_of(self.q) if self.q != NULL else self.past()[0]

    @property
    def target(self):
        """The path, and '?' and the query, as they were sent."""
        return latin1(weft_http_target(self.q)) if self.q != NULL else self.past()[1]

    @property
    def path(self):
        """The path, decoded."""
        cdef object raw
        if self.q != NULL:
            raw = latin1(weft_http_path(self.q))
        else:
            raw = self.past()[1].partition("?")[0]
        return _unquote(raw) if "%" in raw else raw

    @property
    def query_string(self):
        """What stands after '?', not decoded."""
        return latin1(weft_http_query(self.q)) if self.q != NULL else self.past()[1].partition("?")[2]

    @property
    def query(self):
        """The parameters of the query, decoded: a dict; of several with one name the last."""
        return dict(_parse_qsl(self.query_string, keep_blank_values=True))

    @property
    def headers(self):
        """All headers in their order: a list of (name, value)."""
        return headers_of(self.q) if self.q != NULL else list(self.past()[2])

    def header(self, name, default=None):
        """The first header of that name, whatever its case."""
        cdef weft_piece value
        cdef bytes key
        if self.q != NULL:
            key = name.encode("latin-1")
            value = weft_http_header(self.q, key)
            return latin1(value) if value.data != NULL else default
        for known, text in self.past()[2]:
            if known.lower() == name.lower():
                return text
        return default

    def parameter(self, name):
        """The text that matched {name} in the pattern of the route, decoded. KeyError: it has no such name."""
        cdef weft_piece value
        cdef bytes key = name.encode()
        value = weft_http_path_parameter(self.here(), key)
        if value.data == NULL:
            raise KeyError(name)
        return bytes_of(value).decode("utf-8", "surrogateescape")

    @property
    def peer(self):
        """(address, port) of the other end of the connection; None: it had gone."""
        return peer_of(self.q) if self.q != NULL else self.past()[3]

    @property
    def body(self):
        """The whole body. It is read at the first use, for which the fiber waits."""
        if self._body is None:
            self._body = self.read_all()
        return self._body

    def read(self, most=READ_BYTES):
        """Up to so many bytes of the body, which is not kept; b"": its end. For bodies that are larger than memory should be."""
        if most < 1:
            raise ValueError("weft: read at least one byte")
        return self.read_some(min(most, MOST_READ_BYTES))

    def __iter__(self):
        """The pieces of the body as they arrive."""
        while True:
            piece = self.read_some(READ_BYTES)
            if not piece:
                return
            yield piece

    def __repr__(self):
        return f"<weft.Request {self.method} {self.target!r}>"

    cdef tuple past(self):
        if self.kept is None:
            raise RuntimeError("weft: the request is over")
        return self.kept

    cdef void end(self, Py_ssize_t references) noexcept:
        """What others may still look at is copied."""
        try:
            if self.kept is None and self.q != NULL and Py_REFCNT(self) > references:
                self.kept = (self.method, self.target, self.headers, self.peer)
        except BaseException as e:
            PyErr_WriteUnraisable(e)
        self.q = NULL


cdef list headers_of(weft_http_request *q):
    cdef size_t i
    cdef weft_http_field f
    cdef list all = []
    for i in range(weft_http_header_count(q)):
        f = weft_http_header_at(q, i)
        all.append((PyUnicode_DecodeLatin1(f.name, f.name_size, NULL), PyUnicode_DecodeLatin1(f.value, f.value_size, NULL)))
    return all


cdef object peer_of(weft_http_request *q):
    cdef weft_piece host = weft_http_peer_host(q)
    return (latin1(host), weft_http_peer_port(q)) if host.data != NULL else None


@cython.final
cdef class Response:
    """An answer with a status and headers.

    body: bytes; str, sent as UTF-8; or an iterable of these, sent piece by piece. headers: pairs, or a dict. content_type: None is
    "text/plain; charset=utf-8" for str and "application/octet-stream" otherwise, unless the headers say; "" is no such header.
    An empty piece of an iterable sends what was gathered, which is the head before the first one. Its length is that of a Content-Length
    among the headers, and without it the body is sent in chunks.
    """
    cdef readonly object body, headers
    cdef readonly int status
    cdef readonly object content_type

    def __init__(self, body=b"", status=200, headers=(), content_type=None):
        if isinstance(status, bool) or not isinstance(status, int) or not 200 <= status <= 999:
            raise ValueError(f"weft.Response: the status is 200 to 999, not {status!r}")
        if not isinstance(body, (bytes, str, bytearray, memoryview)) and (isinstance(body, dict) or not hasattr(body, "__iter__")):
            raise TypeError(f"weft.Response: the body is bytes, str, or an iterable of them, not {type(body).__name__}")
        self.body = body
        self.status = status
        self.headers = [tuple(pair) for pair in (headers.items() if hasattr(headers, "items") else headers)]
        self.content_type = content_type


cdef object _text_type = "text/plain; charset=utf-8", _bytes_type = "application/octet-stream"
cdef list _no_headers = []


cdef object type_of(Response answer, object body, int status):
    """The content type, where the headers have none."""
    if answer is not None:
        if answer.content_type is not None:
            return answer.content_type or None
        for pair in <list>answer.headers:
            if isinstance(pair[0], str) and (<str>pair[0]).lower() == "content-type":
                return None
    if status == 204 or status == 304:
        return None
    return _text_type if isinstance(body, str) else _bytes_type


cdef int call_function(Route r, weft_http_request *q, void *visit, object context) except -2:
    cdef Request request = Request.__new__(Request)
    cdef Response answer = None
    cdef Answer streamed
    cdef object body, content_type
    cdef list headers = _no_headers
    cdef int status = 200
    cdef int64_t length = -1
    cdef bint is_over = True
    request.q = q
    request.visit = visit
    try:
        body = r.app(request)
        if type(body) is Response:
            answer = <Response>body
            body, status, headers = answer.body, answer.status, answer.headers
        elif body is None:
            body, status = b"", 204
        elif not isinstance(body, (bytes, str, bytearray, memoryview)) and not hasattr(body, "__next__"):
            raise TypeError(f"weft: a handler returns bytes, str, None, a generator or a weft.Response, not {type(body).__name__}")
        content_type = type_of(answer, body, status)
        if isinstance(body, str):
            body = (<str>body).encode()
        elif isinstance(body, (bytearray, memoryview)):
            body = bytes(body)
        if PyBytes_Check(body):
            if PyBytes_GET_SIZE(body) <= COPIED_BYTES:
                return give_answer(q, status, headers, content_type, <bytes>body, None, 0)
            length = PyBytes_GET_SIZE(body)
        streamed = streamed_by(r, request, context)
        streamed.ends = body
        streamed.flushes = True
        try:
            streamed.pieces = iter(body if length < 0 else (body,))
            if length < 0:
                length = length_of(headers)
            request.end(2)     # until the pieces are asked for
            is_over = give_answer(q, status, headers, content_type, None, streamed, length) != STREAMS
        except BaseException:
            streamed.end()
            raise
        return STREAMS
    finally:
        if is_over:
            request.end(1)
