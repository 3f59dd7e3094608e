"""openssl s_client against weft's server."""
import re
import subprocess

from place import alphabet, call, needed

VERSIONS = {"1.2": "-tls1_2", "1.3": "-tls1_3"}


def request(target):
    return f"GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


class Openssl:
    def __init__(self, place, server):
        self.place = place
        self.common = ["openssl", "s_client", "-connect", f"127.0.0.1:{server.port}", "-servername", "localhost", "-CAfile", place["authority.pem"],
                       "-verify_return_error", "-verify_hostname", "localhost"]

    def asks(self, target, *more):
        """(exit code, all that it says) of one request."""
        return call(*self.common, "-ign_eof", *more, say=request(target))

    def session(self, *more):
        code, said = self.asks("/session", *more)
        found = re.search(r"^version=(\S+) cipher=(\S+) resumed=(\S+) alpn=(\S*) name=(\S*) peer=(.*)$", said, re.M)
        return (dict(zip(("version", "cipher", "resumed", "alpn", "name", "peer"), found.groups())) if found else {"exit": code}), said


def versions(openssl, checks):
    for version, option in VERSIONS.items():
        agreed, said = openssl.session(option)
        checks.that(agreed.get("version") == version and agreed["name"] == "localhost" and agreed["resumed"] == "no", f"TLS {version} is agreed on", said)
        checks.that("Verify return code: 0 (ok)" in said, f"TLS {version}: the certificate is good for the name", said)
        checks.that("Compression: NONE" in said, f"TLS {version}: nothing is compressed", said)
        code, said = openssl.asks("/bytes/1000000", option, "-quiet")
        checks.that(code == 0 and said.endswith(alphabet(1000000)), f"TLS {version}: a megabyte arrives whole", said)
    for option in ("-tls1", "-tls1_1"):
        code, said = openssl.asks("/hello", option, "-cipher", "ALL:@SECLEVEL=0")
        checks.that(code != 0 and "alert protocol version" in said, f"{option} is refused with the alert protocol_version", said)


def resumption(openssl, checks):
    for version, option in VERSIONS.items():
        kept = openssl.place[f"session{version}"]
        first, said = openssl.session(option, "-sess_out", kept)
        checks.that(first.get("resumed") == "no", f"TLS {version}: the first session is new", said)
        for i in range(3):
            again, said = openssl.session(option, "-sess_in", kept)
            checks.that(again.get("resumed") == "yes" and "Reused, TLS" in said, f"TLS {version}: session {i + 1} is resumed", said)
    code, said = call(*openssl.common, "-tls1_2", "-reconnect")
    checks.that(code == 0 and said.count("Reused, TLS") == 5 and said.count("New, TLS") == 1, "-reconnect resumes five times", said)


def ciphers(openssl, checks):
    for name in ("ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-CHACHA20-POLY1305"):
        agreed, said = openssl.session("-tls1_2", "-cipher", name)
        checks.that(agreed.get("cipher") == name, f"{name} works", said)
    for name in ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"):
        agreed, said = openssl.session("-tls1_3", "-ciphersuites", name)
        checks.that(agreed.get("cipher") == name, f"{name} works", said)
    for name in ("ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA384", "NULL:aNULL", "AES128-SHA", "DHE-RSA-AES128-GCM-SHA256"):
        code, said = openssl.asks("/hello", "-tls1_2", "-cipher", f"{name}:@SECLEVEL=0")
        checks.that(code != 0 and "alert handshake failure" in said, f"{name} is refused with the alert handshake_failure", said)
    for group in ("X25519", "P-256", "P-384"):
        agreed, said = openssl.session("-groups", group)
        checks.that("version" in agreed, f"the group {group} works", said)
    for group in ("ffdhe2048", "ffdhe8192"):   # such a handshake costs the server as much as many others
        code, said = openssl.asks("/hello", "-tls1_3", "-groups", group)
        checks.that(code != 0 and "alert handshake failure" in said, f"the group {group} is refused with the alert handshake_failure", said)


def commands(openssl, checks):
    """A letter at the beginning of what s_client reads tells it to do something."""
    for letter, what in (("k", "a change of its own key"), ("K", "a change of both keys")):
        with subprocess.Popen([*openssl.common, "-tls1_3"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as client:
            said = b""
            # It reads all that is there at once, so each comes after what the one before has caused.
            for piece, until in ((request("/hello").replace("close", "keep-alive"), b"hello"), (letter + "\n", b"KEYUPDATE"), (request("/session"), b"version=1.3")):
                client.stdin.write(piece.encode())
                client.stdin.flush()
                while until not in said:
                    line = client.stdout.readline()
                    if not line:
                        break
                    said += line
            said += client.communicate(timeout=30)[0]
            text = said.decode(errors="replace")
            checks.that("KEYUPDATE" in text and "version=1.3" in text, f"{what} within a connection is followed", text)
    code, said = call(*openssl.common, "-tls1_2", say="R\n", seconds=20)
    checks.that(code != 0 and "RENEGOTIATING" in said and "no renegotiation" in said, "a renegotiation is refused with the alert no_renegotiation", said)


def protocols(place, checks):
    with place.serving(checks, "--alpn", "http/1.1,weft") as server:
        openssl = Openssl(place, server)
        for offered, chosen in (("http/1.1", "http/1.1"), ("weft", "weft"), ("weft,http/1.1", "http/1.1"), ("h2,weft", "weft")):
            agreed, said = openssl.session("-alpn", offered)
            checks.that(agreed.get("alpn") == chosen and f"ALPN protocol: {chosen}" in said, f"of {offered}, {chosen} is chosen", said)
        agreed, said = openssl.session()
        checks.that(agreed.get("alpn") == "", "a client without ALPN is served", said)
        code, said = openssl.asks("/hello", "-alpn", "h2")
        checks.that(code != 0 and "no application protocol" in said, "a client of h2 alone is refused with the alert no_application_protocol", said)
        checks.that(server.refused("ALPN"), "the server names ALPN as the reason", server.lines())


def client_certificates(place, checks):
    with place.serving(checks, "--peer", "required", "--ca", place["authority.pem"]) as server:
        openssl = Openssl(place, server)
        for version, option in VERSIONS.items():
            agreed, said = openssl.session(option, "-cert", place["alice.pem"], "-key", place["alice.key"])
            checks.that(agreed.get("peer") == "CN=alice", f"TLS {version}: the server sees the client's certificate", said)
            kept = place["session.alice"]
            openssl.session(option, "-cert", place["alice.pem"], "-key", place["alice.key"], "-sess_out", kept)
            agreed, said = openssl.session(option, "-sess_in", kept)
            checks.that(agreed.get("peer") == "CN=alice" and agreed["resumed"] == "yes", f"TLS {version}: a resumed session has it as well", said)
            code, said = openssl.asks("/session", option)
            alert = "certificate required" if version == "1.3" else "handshake failure"
            checks.that("version=" not in said and alert in said, f"TLS {version}: a client without one is refused with an alert", said)
            code, said = openssl.asks("/session", option, "-cert", place["mallory.pem"], "-key", place["mallory.key"])
            checks.that("version=" not in said and "unknown ca" in said, f"TLS {version}: a stranger is refused with the alert unknown_ca", said)
        checks.that(server.refused("the client has no certificate"), "the server names the certificate that is missing", server.lines())
        checks.that(server.refused("no trusted authority"), "the server names the authority that is not trusted", server.lines())


def least_version(place, checks):
    with place.serving(checks, "--least", "1.3", certificate="rsa") as server:
        openssl = Openssl(place, server)
        code, said = openssl.asks("/hello", "-tls1_2")
        checks.that(code != 0 and "alert protocol version" in said, "TLS 1.2 is refused where 1.3 is the least", said)
        agreed, said = openssl.session()
        checks.that(agreed.get("version") == "1.3", "TLS 1.3 works with a key of RSA", said)
        checks.that(server.refused("no version of TLS"), "the server names the version as the reason", server.lines())


def check(place, checks):
    needed("openssl", "openssl")
    with place.serving(checks) as server:
        openssl = Openssl(place, server)
        openssl.asks("/hello")
        at_rest = server.descriptors()
        versions(openssl, checks)
        resumption(openssl, checks)
        ciphers(openssl, checks)
        commands(openssl, checks)
        checks.that(server.descriptors() <= at_rest, "every descriptor comes back", (at_rest, server.descriptors()))
    protocols(place, checks)
    client_certificates(place, checks)
    least_version(place, checks)
