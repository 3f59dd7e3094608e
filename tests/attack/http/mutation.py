"""Requests made from requests: rows of the table, changed a little, with what parsers have disagreed about."""

FRAGMENTS = [
    *(bytes([byte]) for byte in b"\r\n \t:;,\"\\0159afX\0\x0b\x0c\x1b\x7f\x80\x85\xa0\xff"),
    b"\r\n", b"\n\r", b"\r\r\n", b"\r\n\r\n", b"\n\n", b"\r\n ", b"\r\n\t", b" :", b"0x", b"+", b"-", b"00", b"10", b"ffffffffffffffff",
    b"chunked", b"Chunked", b"identity", b", chunked", b"chunked, ", b";a=b", b";a=\"b\"", b"0\r\n\r\n", b"5\r\nhello\r\n", b"1\r\nZ\r\nQ\r\n",
    b"Content-Length: 5\r\n", b"Content-Length: 0\r\n", b"Content-Length:5\r\n", b"Content-Length : 5\r\n", b"Content-Length: 5, 5\r\n",
    b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding:\tchunked\r\n", b"Transfer-Encoding: identity\r\n", b"Transfer-Encoding : chunked\r\n",
    b"Connection: close\r\n", b"Connection: keep-alive\r\n", b"Connection: Upgrade\r\nUpgrade: x\r\n", b"Expect: 100-continue\r\n",
    b"Host: b\r\n", b"X: y\r\n", b"X:\r\n", b"HTTP/1.1", b"HTTP/1.0", b"http://b/", b"GET ", b"POST ", b"HEAD ",
    b"GET /evil HTTP/1.1\r\nHost: a\r\n\r\n", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
]


def put_in(data, rnd, others):
    at = rnd.randrange(len(data) + 1)
    data[at:at] = rnd.choice(FRAGMENTS)


def take_out(data, rnd, others):
    at = rnd.randrange(len(data))
    del data[at : at + rnd.choice((1, 1, 1, 2, 3, 8))]


def change(data, rnd, others):
    data[rnd.randrange(len(data))] = rnd.randrange(256)


def flip(data, rnd, others):
    data[rnd.randrange(len(data))] ^= 1 << rnd.randrange(8)


def replace(data, rnd, others):
    at = rnd.randrange(len(data))
    data[at : at + rnd.choice((1, 1, 2, 4))] = rnd.choice(FRAGMENTS)


def repeat(data, rnd, others):
    a = rnd.randrange(len(data))
    b = rnd.randrange(a, min(len(data), a + 40)) + 1
    data[a:a] = data[a:b]


def repeat_line(data, rnd, others):
    lines = bytes(data).split(b"\r\n")
    moved = rnd.choice(lines)
    lines.insert(rnd.randrange(len(lines) + 1), moved)
    data[:] = b"\r\n".join(lines)


def cross(data, rnd, others):
    other = rnd.choice(others)
    data[rnd.randrange(len(data) + 1) :] = other[rnd.randrange(len(other) + 1) :]


def follow(data, rnd, others):
    data += rnd.choice(others)


CHANGES = (put_in, put_in, take_out, change, flip, replace, repeat, repeat_line, cross, follow)


def mutated(accepted, others, rnd):
    """Mostly from what is accepted unchanged, because what is refused at once tells little."""
    data = bytearray(rnd.choice(accepted if rnd.random() < 0.9 else others))
    for _ in range(rnd.choice((1, 1, 1, 2, 2, 3, 5))):
        if data:
            rnd.choice(CHANGES)(data, rnd, others)
    return bytes(data)
