# _wsgi.pxi - the interface of PEP 3333: the environ, start_response, and the iterable of an answer.

# ---- the environ ---------------------------------------------------------------------------------------------
#
# Names of headers repeat, so their keys ("HTTP_USER_AGENT") are kept in a table, by a hash of their length and some of their bytes.

cdef enum:
    KEYS = 256                 # chosen: browsers and their proxies know some 60 names
    LONGEST_KEY = 40           # names that are longer are not kept

cdef struct key_entry:
    char name[LONGEST_KEY]
    size_t size
    PyObject *key              # NULL: the entry is free

cdef key_entry _keys[KEYS]


cdef object key_of_name(const char *name, size_t size):
    """None: the name has a '_', so it could pass for another one that has a '-'."""
    if memchr(name, c'_', size) != NULL:
        return None
    text = PyUnicode_DecodeLatin1(name, size, NULL).upper().replace("-", "_")
    if text == "HOST":
        return _HTTP_HOST
    return text if text == "CONTENT_TYPE" or text == "CONTENT_LENGTH" else "HTTP_" + text


cdef inline object key_of(const char *name, size_t size):
    cdef key_entry *e
    if size == 0 or size > LONGEST_KEY:
        return key_of_name(name, size)
    e = &_keys[(size * 31 + <unsigned char>name[0] * 7 + <unsigned char>name[size - 1] + <unsigned char>name[size // 2] * 3) % KEYS]
    if e.size == size and e.key != NULL and memcmp(e.name, name, size) == 0:
        return <object>e.key
    key = key_of_name(name, size)
    if key is not None:
        Py_INCREF(key)
        if e.key != NULL:
            Py_DECREF(<object>e.key)
        e.key = <PyObject *>key
        e.size = size
        memcpy(e.name, name, size)
    return key


cdef object _REQUEST_METHOD = "REQUEST_METHOD", _PATH_INFO = "PATH_INFO", _QUERY_STRING = "QUERY_STRING", _RAW_URI = "RAW_URI"
cdef object _SERVER_PROTOCOL = "SERVER_PROTOCOL", _REMOTE_ADDR = "REMOTE_ADDR", _REMOTE_PORT = "REMOTE_PORT", _wsgi_input = "wsgi.input"
cdef object _http_1_0 = "HTTP/1.0", _http_1_1 = "HTTP/1.1", _HTTP_COOKIE = "HTTP_COOKIE", _HTTP_HOST = "HTTP_HOST"
cdef object _REQUEST_URI = "REQUEST_URI"
# Each request sets these keys. The server's part of the environ has them already, so its copy does not grow when they are set.
cdef tuple _of_each_request = (_REQUEST_METHOD, _PATH_INFO, _QUERY_STRING, _RAW_URI, _REQUEST_URI, _SERVER_PROTOCOL, _REMOTE_ADDR, _REMOTE_PORT,
                               _wsgi_input, _HTTP_HOST)

# Of clients, by the ports of their connections. Their addresses repeat with each request, and mostly so do their headers: where two heads
# of one client have had the same headers, the environ of the second is kept, and copied for those that follow.
cdef enum:
    CLIENTS = 512              # chosen
    LONGEST_HOST = 46
    LONGEST_HEAD = 4096        # chosen: heads that are longer are not compared

cdef struct client:
    char host[LONGEST_HOST]
    size_t host_size
    unsigned port
    PyObject *host_text        # NULL: the entry is free
    PyObject *port_text
    uint64_t server            # its number
    char *head                 # that of the last request which was not as the one before
    size_t head_size, room
    PyObject *environ          # of that head; NULL: it came once

cdef client _clients[CLIENTS]

cdef enum likeness:
    OTHER, SAME_HEADERS, SAME_HEAD


cdef void forget_client(client *c) noexcept:
    cdef PyObject *host = c.host_text
    cdef PyObject *port = c.port_text
    cdef PyObject *environ = c.environ
    c.host_text = c.port_text = c.environ = NULL
    c.head_size = 0
    if environ != NULL:
        Py_DECREF(<object>environ)
    if host != NULL:
        Py_DECREF(<object>host)
        Py_DECREF(<object>port)


cdef void forget_clients(uint64_t server) noexcept:
    cdef size_t i
    for i in range(CLIENTS):
        if _clients[i].server == server:
            forget_client(&_clients[i])
            PyMem_RawFree(_clients[i].head)
            _clients[i].head = NULL
            _clients[i].room = 0


cdef client *client_of(weft_http_request *q) except? NULL:
    """NULL: it has gone, or has a strange address."""
    cdef weft_piece host = weft_http_peer_host(q)
    cdef unsigned port = weft_http_peer_port(q)
    cdef client *c = &_clients[(port >> 1) % CLIENTS]     # those of one host mostly have even numbers, or odd ones
    if host.data == NULL or host.size > LONGEST_HOST:
        return NULL
    if c.host_text != NULL and c.port == port and c.host_size == host.size and memcmp(c.host, host.data, host.size) == 0:
        return c
    host_text, port_text = latin1(host), str(port)
    forget_client(c)
    Py_INCREF(host_text)
    Py_INCREF(port_text)
    c.host_text, c.port_text = <PyObject *>host_text, <PyObject *>port_text
    c.port, c.host_size = port, host.size
    memcpy(c.host, host.data, host.size)
    return c


cdef size_t line_size(const void *head, size_t size) noexcept:
    """Of the first line."""
    cdef const char *end = <const char *>memchr(head, c'\n', size)
    return end - <const char *>head + 1 if end != NULL else size


cdef likeness compare(client *c, uint64_t server, weft_piece head) noexcept:
    cdef size_t line, known_line
    if c.head_size == 0 or c.server != server:
        return OTHER
    if c.head_size == head.size and memcmp(c.head, head.data, head.size) == 0:
        return SAME_HEAD
    line, known_line = line_size(head.data, head.size), line_size(c.head, c.head_size)
    if head.size - line != c.head_size - known_line or memcmp(c.head + known_line, <const char *>head.data + line, head.size - line) != 0:
        return OTHER
    return SAME_HEADERS


cdef int remember(client *c, uint64_t server, weft_piece head, object environ) except -1:
    """environ: None, if the head came once."""
    cdef PyObject *before = c.environ
    cdef char *memory
    if c.room < head.size:
        memory = <char *>PyMem_RawMalloc(head.size)
        if memory == NULL:
            raise MemoryError()
        PyMem_RawFree(c.head)
        c.head, c.room = memory, head.size
    memcpy(c.head, head.data, head.size)
    c.head_size, c.server = head.size, server
    if environ is not None:
        Py_INCREF(environ)
    c.environ = <PyObject *>environ if environ is not None else NULL
    if before != NULL:
        Py_DECREF(<object>before)
    return 0


cdef bint is_comparable(weft_http_request *q, weft_piece head) noexcept:
    """Whether its headers say all of the rest, as they do not where the target names a host."""
    cdef size_t method = weft_http_method(q).size
    return method + 1 < head.size <= LONGEST_HEAD and (<const char *>head.data)[method + 1] == c'/'


def environ_of_server(address):
    """The part of the environ that all requests share, and places for what each has."""
    # A Unix socket has neither, and both must be there: what completes a URL if a request does not say its host.
    host, _, port = ("localhost", "", "80") if address.startswith("unix:") else address.rpartition(":")
    return {key: None for key in _of_each_request} | {
        "SERVER_NAME": host.strip("[]"),
        "SERVER_PORT": port,
        "SERVER_SOFTWARE": "weft",
        "SCRIPT_NAME": "",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.errors": _sys.stderr,
        "wsgi.multithread": True,       # fibers, which run Python in turn and change wherever threads would
        "wsgi.multiprocess": "WEFT_PREFORK" in _os.environ,
        "wsgi.run_once": False,
        "wsgi.input_terminated": True,  # reading ends at the end of the body, also of one in chunks
        "wsgi.file_wrapper": FileWrapper,
    }


cdef int set_line(dict environ, weft_http_request *q) except -1:
    """What the first line of the head says."""
    cdef weft_piece text = weft_http_path(q)
    cdef object value
    PyDict_SetItem(environ, _REQUEST_METHOD, method_of(q))
    if memchr(text.data, c'%', text.size) != NULL:
        value = _unquote_to_bytes(bytes_of(text)).decode("latin-1")
    else:
        value = latin1(text)
    PyDict_SetItem(environ, _PATH_INFO, value)
    text = weft_http_target(q)
    if <size_t>PyUnicode_GET_LENGTH(value) != text.size or memcmp(PyUnicode_DATA(value), text.data, text.size) != 0:
        value = latin1(text)
    PyDict_SetItem(environ, _RAW_URI, value)
    PyDict_SetItem(environ, _REQUEST_URI, value)
    text = weft_http_query(q)
    PyDict_SetItem(environ, _QUERY_STRING, latin1(text) if text.size else _empty)
    PyDict_SetItem(environ, _SERVER_PROTOCOL, _http_1_1 if weft_http_minor_version(q) else _http_1_0)
    return 0


cdef int set_peer(dict environ, weft_http_request *q) except -1:
    cdef weft_piece host = weft_http_peer_host(q)
    cdef client *c = client_of(q)
    if c != NULL:
        PyDict_SetItem(environ, _REMOTE_ADDR, <object>c.host_text)
        PyDict_SetItem(environ, _REMOTE_PORT, <object>c.port_text)
    elif host.data != NULL:
        PyDict_SetItem(environ, _REMOTE_ADDR, latin1(host))
        PyDict_SetItem(environ, _REMOTE_PORT, str(weft_http_peer_port(q)))
    else:                                  # it has gone
        del environ[_REMOTE_ADDR]
        del environ[_REMOTE_PORT]
    return 0


cdef int set_headers(dict environ, weft_http_request *q) except -1:
    cdef weft_http_field f
    cdef size_t i
    cdef Py_ssize_t n
    cdef object key, value
    cdef PyObject *there
    cdef bint has_host = False
    for i in range(weft_http_header_count(q)):
        f = weft_http_header_at(q, i)
        key = key_of(f.name, f.name_size)
        if key is None:
            continue
        value = PyUnicode_DecodeLatin1(f.value, f.value_size, NULL)
        if key is _HTTP_HOST:      # there is one at most
            has_host = True
            PyDict_SetItem(environ, _HTTP_HOST, value)
            continue
        n = len(environ)
        there = PyDict_SetDefault(environ, key, value)
        if len(environ) == n:      # `there` may be `value` all the same, as texts of one character are
            PyDict_SetItem(environ, key, <object>there + ("; " if key == _HTTP_COOKIE else ",") + value)
    if not has_host:
        del environ[_HTTP_HOST]
    return 0


cdef dict environ_of_head(Server server, weft_http_request *q):
    cdef dict environ = PyDict_Copy(server.base)
    set_line(environ, q)
    set_peer(environ, q)
    set_headers(environ, q)
    return environ


cdef dict environ_of(Server server, weft_http_request *q, Input body):
    """Between a look at a client and its use no code of Python may run, since another request may change what is known of it."""
    cdef weft_piece head = weft_http_head(q)
    cdef client *c = client_of(q) if is_comparable(q, head) else NULL
    cdef likeness how = compare(c, server.number, head) if c != NULL else OTHER
    cdef dict environ, known = None
    if how != OTHER and c.environ != NULL:
        known = <dict>c.environ
        environ = PyDict_Copy(known)
        if how != SAME_HEAD:
            set_line(environ, q)
    else:
        environ = environ_of_head(server, q)
        if how != OTHER:
            known = PyDict_Copy(environ)
        if is_comparable(q, head):
            c = client_of(q)
            if c != NULL:
                remember(c, server.number, head, known)
    PyDict_SetItem(environ, _wsgi_input, body)
    return environ


@cython.final
cdef class Input(Exchange):
    """wsgi.input: the body of the request, read while it arrives."""
    cdef bytes rest            # what a line has read too far, from
    cdef Py_ssize_t at

    cdef bytes take(self, size_t most):
        """b"": the end."""
        cdef bytes piece
        if self.rest is None:
            return self.read_some(most)
        piece = self.rest[self.at:self.at + <Py_ssize_t>most]
        self.pass_by(len(piece))
        return piece

    cdef int pass_by(self, Py_ssize_t n) except -1:
        self.at += n
        if self.at == len(self.rest):
            self.rest = None
            self.at = 0
        return 0

    def read(self, size=-1):
        """The whole rest; or `size` bytes, and less only at the end."""
        cdef list pieces
        cdef size_t left
        cdef bytes piece
        if size is None or size < 0:
            piece = b"" if self.rest is None else self.take(len(self.rest))
            return piece + self.read_all()
        pieces = []
        left = size
        while left:
            piece = self.take(left if left < READ_BYTES else READ_BYTES)
            if not piece:
                break
            pieces.append(piece)
            left -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def readline(self, size=-1):
        cdef list pieces = []
        cdef Py_ssize_t left = -1 if size is None else size
        cdef Py_ssize_t end
        cdef bytes piece
        while left != 0:
            if self.rest is None:
                piece = self.read_some(READ_BYTES)
                if not piece:
                    break
                self.rest = piece
            end = self.rest.find(b"\n", self.at) + 1
            if end == 0:
                end = len(self.rest)
            if 0 <= left < end - self.at:
                end = self.at + left
            piece = self.rest[self.at:end]
            end -= self.at
            self.pass_by(end)
            pieces.append(piece)
            if left > 0:
                left -= end
            if piece.endswith(b"\n"):
                break
        return b"".join(pieces)

    def readlines(self, hint=-1):
        lines, n = [], 0
        for line in self:
            lines.append(line)
            n += len(line)
            if hint is not None and 0 < hint <= n:
                break
        return lines

    def __iter__(self):
        return self

    def __next__(self):
        line = self.readline()
        if not line:
            raise StopIteration
        return line


class FileWrapper:
    """wsgi.file_wrapper: a file as the body of an answer, which the server sends without reading it in Python where it can."""

    def __init__(self, filelike, blksize=65536):
        self.filelike, self.blksize = filelike, blksize
        if hasattr(filelike, "close"):
            self.close = filelike.close

    def __iter__(self):
        return self

    def __next__(self):
        piece = self.filelike.read(self.blksize)
        if not piece:
            raise StopIteration
        return piece

# ---- start_response ------------------------------------------------------------------------------------------


cdef int number_of(object status) noexcept:
    """Of "200 OK"; 0: it is not like that."""
    cdef Py_ssize_t n, i
    cdef const unsigned char *text
    cdef int number = 0
    if type(status) is not str or PyUnicode_KIND(status) != PyUnicode_1BYTE_KIND:
        return 0
    text = <const unsigned char *>PyUnicode_DATA(status)
    n = PyUnicode_GET_LENGTH(status)
    if n < 3 or (n > 3 and text[3] != c' '):
        return 0
    for i in range(3):
        if not c'0' <= text[i] <= c'9':
            return 0
        number = 10 * number + text[i] - c'0'
    return number


cdef object _nothing = object()


@cython.final
@cython.freelist(64)
cdef class StartResponse:
    """start_response(status, headers, exc_info), and the function write(data) that it returns: one object for both, since nearly no program
    calls the second."""
    cdef int status            # 0: it was not called
    cdef list headers
    cdef list written          # by the function that it returns, which PEP 3333 keeps for old programs
    cdef bint has_gone         # with the first piece

    def __call__(self, status, headers=_nothing, exc_info=None):
        cdef int number
        if headers is _nothing:
            if self.status == 0:
                raise TypeError("start_response takes a status and headers")
            self.write(status)
            return None
        if exc_info is not None:
            try:
                if self.has_gone:
                    raise exc_info[1].with_traceback(exc_info[2])
            finally:
                exc_info = None
            self.written = None        # it was for the answer that this one replaces
        elif self.status != 0:
            raise AssertionError("start_response was called twice, the second time without exc_info")
        number = number_of(status)
        if number < 200 or number > 999:
            raise ValueError(f'start_response: the status is a str such as "200 OK", from 200 to 999, not {status!r}')
        if not isinstance(headers, list):
            raise TypeError(f"start_response: the headers are a list, not {type(headers).__name__}")
        self.status = number
        self.headers = headers
        return self

    cdef int write(self, object data) except -1:
        if not isinstance(data, bytes):
            raise TypeError(f"write: the data is bytes, not {type(data).__name__}")
        if self.has_gone:
            raise AssertionError("write: the first piece of the answer has gone already")
        if self.written is None:
            self.written = []
        self.written.append(data)
        return 0

# ---- the call ------------------------------------------------------------------------------------------------


cdef int64_t length_of(list headers) except -2:
    """What the program says in Content-Length; -1: nothing."""
    cdef object name, value
    for name, value in headers:
        if len(name) == 14 and name.lower() == "content-length":
            if not value.isdigit():
                raise ValueError(f"weft: Content-Length is not a number: {value!r}")
            return int(value)
    return -1


cdef list headers_of_start(StartResponse start):
    if start.status == 0:
        raise AssertionError("the program has returned without a call of start_response")
    return start.headers


cdef int call_wsgi(Route r, weft_http_request *q, void *visit, object context) except -2:
    cdef Input body = Input.__new__(Input)
    cdef StartResponse start = StartResponse.__new__(StartResponse)
    cdef Answer a
    cdef object result
    cdef bytes whole
    cdef int64_t length
    cdef int s = WEFT_OK
    body.q = q
    body.visit = visit
    try:
        result = r.app(environ_of(r.server, q, body), start)
        if type(result) is list and start.written is None and not is_head(q):
            whole = (<list>result)[0] if len(<list>result) == 1 and type((<list>result)[0]) is bytes else b"".join(<list>result)
            if PyBytes_GET_SIZE(whole) <= COPIED_BYTES:
                return give_answer(q, start.status, headers_of_start(start), None, whole, None, 0)
            result = [whole]
        a = streamed_by(r, body, context)
        a.ends = result
        try:
            if find_file(result, a, start, q):
                length = a.length
            else:
                length = first_piece(a, result, start, q)
            if a.pieces is None and a.length == 0:
                give_answer(q, start.status, headers_of_start(start), None, a.first, None, 0)
            else:
                start.has_gone = True
                body.end(2)    # until the pieces are asked for
                s = give_answer(q, start.status, headers_of_start(start), None, None, a, length)
        except BaseException:
            a.end()
            raise
        if s == WEFT_OK:
            try:
                a.end()
            except Cancelled:
                raise
            except BaseException as e:     # the answer is there
                r.server.fail(q, e)
        return s
    finally:
        body.end(1)


cdef bint is_raw_file(object f) except -1:
    """Whether what it reads are the bytes of its descriptor. Those of gzip have one, too."""
    if type(f) is _io.BufferedReader or type(f) is _io.BufferedRandom:
        f = f.raw
    return type(f) is _io.FileIO


cdef bint find_file(object result, Answer a, StartResponse start, weft_http_request *q) except -1:
    """Whether the result is the rest of a regular file."""
    cdef int64_t length
    if not isinstance(result, FileWrapper) or start.status == 0 or start.written is not None or is_head(q):
        return False
    try:
        if not is_raw_file(result.filelike):
            return False
        a.descriptor = result.filelike.fileno()
        a.offset = result.filelike.tell()
        status = _os.fstat(a.descriptor)
    except (AttributeError, OSError, ValueError):
        return False
    if not _stat.S_ISREG(status.st_mode) or a.offset >= status.st_size:
        return False
    a.length = status.st_size - a.offset
    length = length_of(start.headers)
    if 0 <= length < a.length:
        a.length = length
    return a.length > 0


cdef int64_t first_piece(Answer a, object result, StartResponse start, weft_http_request *q) except -2:
    """Finds what there is before the headers can be sent: a.first; and a.pieces, if there may be more. \\returns the length to announce."""
    cdef int64_t length
    cdef bytes first = b""
    cdef bint is_all = True
    a.pieces = iter(result)
    for piece in a.pieces:         # start_response may be called as late as here
        if not isinstance(piece, bytes):
            raise TypeError(f"weft: a piece of an answer is bytes, not {type(piece).__name__}")
        if piece:
            first = piece
            is_all = False
            break
    if start.written is not None:
        first = b"".join(start.written) + first
    a.first = first
    length = length_of(start.headers) if start.status else -1
    if is_head(q):
        return length
    if length < 0 and type(result) is list and is_all is False and len(<list>result) == 1:
        return len(first)
    if len(first) <= COPIED_BYTES and (length == len(first) or (is_all and length < 0)):
        a.pieces = None            # nothing more comes, or it would be too much
    return length
