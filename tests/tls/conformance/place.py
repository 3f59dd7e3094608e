"""What the suites share: checks with names, certificates by openssl, and the programs of weft that are tested."""
import contextlib
import pathlib
import re
import shutil
import subprocess
import time

ALPHABET = "abcdefghijklmnopqrstuvwxyz"


class LeftOut(Exception):
    """What a suite needs is not there; the text says what, and what installs it."""


def alphabet(n):
    """What /bytes/N answers."""
    return (ALPHABET * (n // 26 + 1))[:n]


def needed(program, package):
    if shutil.which(program) is None:
        raise LeftOut(f"there is no {program}; install {package}")
    return program


def call(*words, say=None, seconds=60, cwd=None):
    """(exit code, what was printed to both streams) of a program that has ended."""
    try:
        done = subprocess.run([str(w) for w in words], input=say if say is not None else "", text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=seconds, cwd=cwd, errors="replace", check=False)
    except subprocess.TimeoutExpired as late:
        return -1, f"it has not ended after {seconds} s; it printed {(late.stdout or b'').decode(errors='replace')[-1000:]}"
    return done.returncode, done.stdout


class Checks:
    """Counts what holds and prints what does not."""

    def __init__(self, suite):
        self.suite, self.held, self.failures = suite, 0, []

    def that(self, fact, name, detail=""):
        if fact:
            self.held += 1
            return True
        self.failures.append(name)
        print(f"{self.suite}: FAILS: {name}\n    " + str(detail).strip()[-1500:].replace("\n", "\n    "), flush=True)
        return False


class Place:
    """A folder with certificates, and the programs of weft."""

    def __init__(self, programs, folder):
        self.programs, self.folder = pathlib.Path(programs), pathlib.Path(folder)
        for name in ("server", "client"):
            if not (self.programs / f"conformance_{name}").exists():
                raise SystemExit(f"run: no program conformance_{name} in {programs}: cmake --build --preset dev --target weft_conformance")
        needed("openssl", "openssl")
        self.authority("authority")
        self.authority("stranger")
        self.issue("server", "authority", "localhost", "DNS:localhost,IP:127.0.0.1")
        self.issue("rsa", "authority", "localhost", "DNS:localhost,IP:127.0.0.1", rsa=True)
        self.issue("alice", "authority", "alice", "DNS:alice.example")
        self.issue("mallory", "stranger", "mallory", "DNS:mallory.example")

    def __getitem__(self, name):
        return str(self.folder / name)

    def openssl(self, *words):
        code, said = call("openssl", *words)
        if code != 0:
            raise SystemExit(f"run: openssl {' '.join(words)}: {said}")

    def key(self, name, rsa):
        how = ["RSA", "-pkeyopt", "rsa_keygen_bits:2048"] if rsa else ["EC", "-pkeyopt", "ec_paramgen_curve:P-256"]
        self.openssl("genpkey", "-algorithm", *how, "-out", self[name + ".key"])

    def authority(self, name):
        self.key(name, False)
        self.openssl("req", "-x509", "-new", "-key", self[name + ".key"], "-subj", f"/CN={name}", "-days", "2", "-out", self[name + ".pem"],
                     "-addext", "keyUsage=critical,keyCertSign,cRLSign")

    def issue(self, name, by, subject, names, rsa=False):
        self.key(name, rsa)
        self.openssl("req", "-new", "-key", self[name + ".key"], "-subj", f"/CN={subject}", "-out", self[name + ".csr"])
        pathlib.Path(self[name + ".ext"]).write_text(f"subjectAltName={names}\nbasicConstraints=CA:FALSE\n")
        self.openssl("x509", "-req", "-in", self[name + ".csr"], "-CA", self[by + ".pem"], "-CAkey", self[by + ".key"], "-CAcreateserial",
                     "-days", "2", "-extfile", self[name + ".ext"], "-out", self[name + ".pem"])

    @contextlib.contextmanager
    def serving(self, checks, *more, certificate="server"):
        """conformance_server, from its first line to its end, which must be in good order."""
        said = self.folder / "server.said"
        with open(said, "w", encoding="utf-8") as out:
            process = subprocess.Popen([self.programs / "conformance_server", "--certificate", self[certificate + ".pem"], "--key",
                                        self[certificate + ".key"], *more], stdout=out, stderr=subprocess.STDOUT)
        server = Server(process, said)
        try:
            yield server
        finally:
            alive = process.poll() is None
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                alive = False
            strange = [line for line in server.lines() if not line.startswith(("listening on ", "refused: "))]
            checks.that(alive and process.returncode == 0 and not strange, "the server ends in good order", (process.returncode, strange))

    def client(self, port, *words, authority="authority"):
        """conformance_client. \\returns (exit code, its lines)"""
        trust = ["--ca", self[authority + ".pem"]] if authority else []
        code, said = call(self.programs / "conformance_client", port, *words, *trust, "--save", self["saved"])
        return code, said.splitlines()

    def saved(self):
        """The body of what the client has saved last."""
        return pathlib.Path(self["saved"]).read_bytes().partition(b"\r\n\r\n")[2]


class Server:
    def __init__(self, process, said):
        self.process, self.said = process, said
        until = time.monotonic() + 20
        while time.monotonic() < until and process.poll() is None:
            if found := re.match(r"listening on 127.0.0.1:(\d+)\n", said.read_text()):
                self.port = int(found[1])
                return
            time.sleep(0.02)
        process.kill()
        raise SystemExit(f"run: conformance_server does not listen: {said.read_text()}")

    def lines(self):
        return self.said.read_text(errors="replace").splitlines()

    def descriptors(self):
        return len(list(pathlib.Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def refused(self, words, seconds=10):
        """Whether a handshake was refused for a reason with these words."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if any(line.startswith("refused: ") and words in line for line in self.lines()):
                return True
            time.sleep(0.02)
        return False
