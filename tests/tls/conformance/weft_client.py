"""weft's client against servers of others: openssl s_server and tlslite-ng."""
import contextlib
import os
import pathlib
import random
import re
import socket
import subprocess
import threading


from place import needed
from python_clients import settings, tlslite

ERRC = {name: n for n, name in enumerate(
    "certificate_expired certificate_not_yet_valid certificate_wrong_name certificate_self_signed certificate_unknown_authority certificate_revoked "
    "certificate_missing certificate_rejected refused_by_peer no_common_version no_common_cipher no_common_protocol not_tls truncated broken "
    "no_certificate_here".split(), 1)}


def is_failure(lines, *names):
    return any(line.startswith(f"failed: {ERRC[name]} of weft.tls: ") for line in lines for name in names)


@contextlib.contextmanager
def s_server(place, *more, certificate="server"):
    """A port on which openssl s_server listens, in the folder of the place, whose files it serves with -WWW."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    words = ["openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-cert", place[certificate + ".pem"], "-key", place[certificate + ".key"], *more]
    with subprocess.Popen(words, cwd=place.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as server:
        try:
            os.set_blocking(server.stdout.fileno(), True)
            said = b""
            while b"ACCEPT" not in said:
                line = server.stdout.readline()
                if not line:
                    raise RuntimeError(f"s_server does not listen: {said.decode(errors='replace')}")
                said += line
            drain = threading.Thread(target=server.stdout.read, daemon=True)
            drain.start()
            yield port
        finally:
            server.kill()


def whole_files(place, checks, name, *more, certificate="server"):
    with s_server(place, "-WWW", *more, certificate=certificate) as port:
        for size in (1, 16384, 1 << 20):
            sent = random.Random(size).randbytes(size)
            pathlib.Path(place["file.txt"]).write_bytes(sent)
            code, lines = place.client(port, "/file.txt", "--name", "localhost")
            checks.that(code == 0 and place.saved() == sent, f"{name}: {size} bytes arrive whole", lines)
        code, lines = place.client(port, "/file.txt", "--name", "localhost", "--connections", "4")
        resumed = [re.search(r"resumed=(\S+)", line)[1] for line in lines if "resumed=" in line]
        checks.that(code == 0 and resumed == ["no", "yes", "yes", "yes"], f"{name}: sessions are resumed", lines)


def refusals(place, checks):
    with s_server(place, "-WWW") as port:
        _, lines = place.client(port, "/file.txt", "--name", "localhost", authority="stranger")
        checks.that(is_failure(lines, "certificate_unknown_authority", "certificate_self_signed"), "an authority that is not trusted", lines)
        _, lines = place.client(port, "/file.txt", "--name", "other.example")
        checks.that(is_failure(lines, "certificate_wrong_name"), "a name that the certificate does not have", lines)
    with s_server(place, "-WWW", "-tls1_2") as port:
        _, lines = place.client(port, "/file.txt", "--name", "localhost", "--least", "1.3")
        checks.that(is_failure(lines, "no_common_version", "refused_by_peer"), "a server of TLS 1.2 where 1.3 is the least", lines)
    with s_server(place, "-WWW", "-tls1_1", "-cipher", "ALL:@SECLEVEL=0") as port:
        _, lines = place.client(port, "/file.txt", "--name", "localhost")
        checks.that(is_failure(lines, "no_common_version", "refused_by_peer"), "a server of TLS 1.1", lines)
    with s_server(place, "-WWW", "-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA") as port:
        _, lines = place.client(port, "/file.txt", "--name", "localhost")
        checks.that(is_failure(lines, "no_common_cipher", "refused_by_peer"), "a server whose suite has no AEAD", lines)
    with s_server(place, "-WWW", "-alpn", "h2") as port:
        _, lines = place.client(port, "/file.txt", "--name", "localhost", "--alpn", "http/1.1")
        checks.that(is_failure(lines, "no_common_protocol"), "a server of another protocol", lines)


def client_certificates(place, checks):
    for option in ("-tls1_2", "-tls1_3"):
        with s_server(place, "-WWW", option, "-Verify", "2", "-verify_return_error", "-CAfile", place["authority.pem"]) as port:
            who = ["--certificate", place["alice.pem"], "--key", place["alice.key"]]
            code, lines = place.client(port, "/file.txt", "--name", "localhost", *who)
            checks.that(code == 0, f"{option}: a certificate is shown to the server that asks for it", lines)
            code, lines = place.client(port, "/file.txt", "--name", "localhost")
            checks.that(is_failure(lines, "refused_by_peer"), f"{option}: without one, the server's refusal has a name", lines)


def check_openssl(place, checks):
    needed("openssl", "openssl")
    whole_files(place, checks, "TLS 1.2", "-tls1_2")
    whole_files(place, checks, "TLS 1.3", "-tls1_3")
    whole_files(place, checks, "TLS 1.3, a key of RSA", certificate="rsa")
    whole_files(place, checks, "records in small pieces", "-max_send_frag", "512")
    whole_files(place, checks, "padded records", "-record_padding", "1024")
    for option in ("-tls1_2", "-tls1_3"):
        with s_server(place, "-rev", option, "-groups", "P-384") as port:   # the client has offered another first: a second hello
            code, lines = place.client(port, "/", "--name", "localhost", "--lines", "200", "--alpn", "weft")
            checks.that(code == 0, f"{option}: 200 lines come back reversed", lines)
    with s_server(place, "-rev", "-alpn", "other,weft") as port:
        code, lines = place.client(port, "/", "--name", "localhost", "--lines", "1", "--alpn", "weft,more")
        checks.that(code == 0 and " alpn=weft " in lines[0], "a protocol is chosen", lines)
    refusals(place, checks)
    client_certificates(place, checks)


class TlsliteServer(threading.Thread):
    """Answers each connection by `body`, with or without the end of the TLS stream."""

    def __init__(self, api, place, version, body, in_order=True, **more):
        super().__init__(daemon=True)
        self.api, self.body, self.in_order = api, body, in_order
        self.settings = settings(api, version, **more)
        self.settings.ticketKeys = [bytearray(32)]
        self.chain = api.X509CertChain()
        self.chain.parsePemList(pathlib.Path(place["server.pem"]).read_text())
        self.key = api.parsePEMKey(pathlib.Path(place["server.key"]).read_text(), private=True)
        self.sessions = api.SessionCache()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.failures = []
        self.start()

    def run(self):
        while True:
            try:
                below, _ = self.listener.accept()
            except OSError:
                return
            try:
                below.settimeout(20)
                self.serve(self.api.TLSConnection(below))
            except (OSError, self.api.TLSError) as why:
                self.failures.append(f"{type(why).__name__}: {why}")
            below.close()

    def serve(self, c):
        c.handshakeServer(certChain=self.chain, privateKey=self.key, settings=self.settings, sessionCache=self.sessions, alpn=[bytearray(b"weft")])
        asked = b""
        while b"\r\n\r\n" not in asked:
            asked += c.recv(4096)
        c.send(b"HTTP/1.0 200 OK\r\n\r\n" + self.body)
        if self.in_order:
            c.closeSocket = False
            c.close()

    def end(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.join(20)


def check_tlslite(place, checks):
    api = tlslite()
    body = random.Random(2).randbytes(100000)
    for version, name in (((3, 3), "TLS 1.2"), ((3, 4), "TLS 1.3")):
        for more in ({}, {"cipherNames": ["aes256gcm"]}, {"cipherNames": ["chacha20-poly1305"]}, {"record_size_limit": 600}):
            server = TlsliteServer(api, place, version, body, **more)
            code, lines = place.client(server.port, "/", "--name", "localhost", "--alpn", "weft", "--connections", "2")
            checks.that(code == 0 and place.saved() == body and " alpn=weft " in lines[0], f"{name} {more}: 100,000 bytes arrive whole", (lines, server.failures))
            checks.that(code == 0 and "resumed=yes" in lines[-1], f"{name} {more}: a session is resumed", lines)
            server.end()
        server = TlsliteServer(api, place, version, body, in_order=False)
        _, lines = place.client(server.port, "/", "--name", "localhost")
        checks.that(is_failure(lines, "truncated"), f"{name}: a connection that is cut is no end of the stream", lines)
        server.end()
    for more in ({"cipherNames": ["aes128"]}, {"keyExchangeNames": ["rsa"]}):
        server = TlsliteServer(api, place, (3, 3), body, **more)
        _, lines = place.client(server.port, "/", "--name", "localhost")
        checks.that(is_failure(lines, "no_common_cipher", "refused_by_peer"), f"{more}: there is no suite in common", lines)
        server.end()
