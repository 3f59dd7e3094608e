"""curl against weft's server."""
import pathlib
import random

from place import alphabet, call, needed


def check(place, checks):
    needed("curl", "curl")
    with place.serving(checks) as server:
        at = f"https://localhost:{server.port}"
        curl = ["curl", "--silent", "--show-error", "--max-time", "30", "--cacert", place["authority.pem"], "--resolve", f"localhost:{server.port}:127.0.0.1"]

        def body(*words):
            code, _ = call(*curl, "--output", place["body"], *words)
            return (code, pathlib.Path(place["body"]).read_bytes())

        for version in ("1.2", "1.3"):
            only = ["--tlsv" + version, "--tls-max", version]
            checks.that(body(*only, at + "/hello") == (0, b"hello\n"), f"TLS {version}: hello")
            _, said = body(*only, at + "/session")
            checks.that(said.startswith(f"version={version} ".encode()), f"TLS {version} is agreed on", said)
            for size in (0, 1, 16383, 16384, 16385, 1 << 20):
                got = body(*only, f"{at}/bytes/{size}")
                checks.that(got == (0, alphabet(size).encode()), f"TLS {version}: {size} bytes arrive whole", (got[0], len(got[1])))
            sent = random.Random(1).randbytes(1000000)
            pathlib.Path(place["sent"]).write_bytes(sent)
            got = body(*only, "--data-binary", "@" + place["sent"], "--header", "Expect: 100-continue", at + "/echo")
            checks.that(got == (0, sent), f"TLS {version}: what is posted comes back whole", (got[0], len(got[1])))
            many = [f"{at}/bytes/{n}" for n in range(0, 60000, 3000)]
            code, said = call(*curl, *only, "--write-out", "[%{num_connects}]", *many)
            expected = "".join(alphabet(n) + ("[1]" if n == 0 else "[0]") for n in range(0, 60000, 3000))
            checks.that(code == 0 and said == expected, f"TLS {version}: 20 requests share a connection", (code, said[-200:]))
        code, said = call(*curl, "--tls-max", "1.1", "--ciphers", "ALL:@SECLEVEL=0", at + "/hello")
        checks.that(code == 35 and "protocol version" in said, "TLS 1.1 is refused", (code, said))
        code, said = call(*curl, "--no-progress-meter", "--parallel", "--parallel-max", "20", *[at + "/bytes/100000"] * 40)
        checks.that(code == 0 and sorted(said) == sorted(alphabet(100000) * 40), "40 transfers in parallel", (code, len(said)))
        code, said = call("curl", "--silent", "--show-error", "--cacert", place["stranger.pem"], at + "/hello")
        checks.that(code == 60, "curl does not trust another authority", (code, said))
        checks.that(server.refused("unknown CA: the peer refuses the connection"), "the server names curl's alert", server.lines())
        code, said = call("curl", "--silent", "--show-error", "--max-time", "20", f"http://localhost:{server.port}/hello")
        checks.that(code in (52, 56) and server.refused("does not speak TLS"), "a request without TLS is refused by name", (code, said, server.lines()))
    with place.serving(checks, "--peer", "required", "--ca", place["authority.pem"]) as server:
        at = ["--cacert", place["authority.pem"], "--max-time", "30", f"https://localhost:{server.port}/session"]
        code, said = call("curl", "--silent", "--show-error", "--cert", place["alice.pem"], "--key", place["alice.key"], *at)
        checks.that(code == 0 and said.endswith("peer=CN=alice\n"), "a client certificate is seen", said)
        code, said = call("curl", "--silent", "--show-error", *at)
        checks.that(code != 0, "a client without a certificate is refused", said)
