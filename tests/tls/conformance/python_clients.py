"""Clients in Python against weft's server: the module ssl, httpx, and tlslite-ng, whose TLS is its own."""
import asyncio
import random
import socket
import ssl

from place import LeftOut, alphabet


def answer_of(stream):
    """(status, body) of an answer with a length, which is all that this server gives."""
    head, size, body = b"", None, b""
    while b"\r\n\r\n" not in head:
        piece = stream.recv(4096)
        if not piece:
            return None, head
        head += piece
    head, _, body = head.partition(b"\r\n\r\n")
    size = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
    while len(body) < size:
        body += stream.recv(65536)
    return int(head.split()[1]), body.decode()


def request(target):
    return f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


def check_ssl(place, checks):
    with place.serving(checks) as server:
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context = ssl.create_default_context(cafile=place["authority.pem"])
            context.minimum_version = context.maximum_version = version
            session = None
            for i in range(3):
                with socket.create_connection(("127.0.0.1", server.port), timeout=20) as below:
                    with context.wrap_socket(below, server_hostname="localhost", session=session, suppress_ragged_eofs=False) as s:
                        sizes = [random.Random(i).randrange(100000) for _ in range(20)]
                        s.sendall(b"".join(request(f"/bytes/{n}") for n in sizes[:1]))
                        good = answer_of(s) == (200, alphabet(sizes[0]))
                        for n in sizes[1:]:
                            for byte in request(f"/bytes/{n}"):   # a record for each byte
                                s.send(bytes([byte]))
                            good &= answer_of(s) == (200, alphabet(n))
                        checks.that(good, f"{version.name}: requests in records of one byte are answered")
                        checks.that(s.session_reused == (i > 0), f"{version.name}: connection {i + 1} is {'resumed' if i else 'new'}")
                        session = s.session
                        s.unwrap().close()   # waits for the other's end, and raises what is wrong with it
                        checks.that(True, "the end of the stream is answered")


def check_httpx(place, checks):
    try:
        import httpx
    except ImportError as missing:
        raise LeftOut("there is no httpx: scripts/setup python") from missing

    async def one(client, at, n):
        posted = random.Random(n).randbytes(n * 500)
        got, back = await asyncio.gather(client.get(f"{at}/bytes/{n * 1000}"), client.post(at + "/echo", content=posted))
        return got.text == alphabet(n * 1000) and back.content == posted

    async def many(server):
        context = ssl.create_default_context(cafile=place["authority.pem"])
        async with httpx.AsyncClient(verify=context, timeout=60, limits=httpx.Limits(max_connections=100)) as client:
            return await asyncio.gather(*(one(client, f"https://localhost:{server.port}", n) for n in range(100)))

    with place.serving(checks) as server:
        good = asyncio.run(many(server))
        checks.that(len(good) == 100 and all(good), "100 clients at once get their own answers", good)


def tlslite():
    try:
        import tlslite.api
        return tlslite.api
    except ImportError as missing:
        raise LeftOut("there is no tlslite-ng: scripts/setup python") from missing


def settings(api, version, **more):
    s = api.HandshakeSettings()
    s.minVersion = s.maxVersion = version
    for name, value in more.items():
        setattr(s, name, value)
    return s


def asks_by_tlslite(api, server, target, version, session=None, times=1, chain=None, key=None, alpn=None, **more):
    """(the connection, its version, its answers) of a client that closes in good order."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as below:
        c = api.TLSConnection(below)
        c.handshakeClientCert(certChain=chain, privateKey=key, session=session, settings=settings(api, version, **more), serverName="localhost",
                              alpn=[bytearray(p) for p in alpn] if alpn else None)
        answers = []
        for _ in range(times):
            c.send(request(target))
            answers.append(answer_of(c))
        version = c.version     # close() forgets it
        c.close()
        return c, version, answers


def check_tlslite(place, checks):
    api = tlslite()
    with place.serving(checks, "--alpn", "http/1.1") as server:
        for version, name in (((3, 3), "TLS 1.2"), ((3, 4), "TLS 1.3")):
            first, agreed, answers = asks_by_tlslite(api, server, "/bytes/100000", version, times=3, alpn=[b"http/1.1"])
            checks.that(answers == [(200, alphabet(100000))] * 3, f"{name}: three answers arrive whole")
            checks.that(agreed == version and not first.resumed, f"{name} is agreed on", agreed)
            checks.that(first.session.appProto == b"http/1.1", f"{name}: a protocol is chosen", first.session.appProto)
            again, _, answers = asks_by_tlslite(api, server, "/session", version, session=first.session, alpn=[b"http/1.1"])
            checks.that(again.resumed and "resumed=yes" in answers[0][1], f"{name}: a session is resumed", answers)
            for cipher in ("aes128gcm", "aes256gcm", "chacha20-poly1305"):
                *_, answers = asks_by_tlslite(api, server, "/bytes/20000", version, cipherNames=[cipher])
                checks.that(answers == [(200, alphabet(20000))], f"{name}: {cipher}")
            *_, answers = asks_by_tlslite(api, server, "/bytes/50000", version, record_size_limit=100)
            checks.that(answers == [(200, alphabet(50000))], f"{name}: a client that asks for small records is served")
        for more in ({"cipherNames": ["aes128"]}, {"cipherNames": ["3des"]}, {"keyExchangeNames": ["rsa"]}):
            try:
                asks_by_tlslite(api, server, "/hello", (3, 3), **more)
                checks.that(False, f"{more} is refused")
            except api.TLSRemoteAlert as alert:
                checks.that("handshake_failure" in str(alert), f"{more} is refused with the alert handshake_failure", alert)
        for version in ((3, 1), (3, 2)):
            try:
                asks_by_tlslite(api, server, "/hello", version)
                checks.that(False, f"version {version} is refused")
            except api.TLSRemoteAlert as alert:
                checks.that("protocol_version" in str(alert), f"version {version} is refused with the alert protocol_version", alert)
    with place.serving(checks, "--peer", "required", "--ca", place["authority.pem"]) as server:
        chain = api.X509CertChain()
        chain.parsePemList(open(place["alice.pem"], encoding="ascii").read())
        key = api.parsePEMKey(open(place["alice.key"], encoding="ascii").read(), private=True)
        # In TLS 1.3 tlslite-ng's own message after its certificate is unexpected, also to openssl s_server.
        *_, answers = asks_by_tlslite(api, server, "/session", (3, 3), chain=chain, key=key)
        checks.that(answers[0][1] and "peer=CN=alice" in answers[0][1], "TLS 1.2: the server sees the client's certificate", answers)
