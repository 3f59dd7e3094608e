#!/usr/bin/env python3
"""Clients that others wrote: curl, aiohttp, h11 and Python's http.client, each by itself and through a proxy that cuts at each byte."""

import asyncio
import http.client
import importlib.util
import os
import random
import shutil
import socket
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from attack import arguments, end_with, failed, server  # noqa: E402
from client import PATIENCE  # noqa: E402


class cutting_proxy:
    """Passes everything on, each byte by a system call of its own."""

    def __init__(self, to):
        self.to = to
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.address = self.listener.getsockname()
        self.threads = [threading.Thread(target=self.accept, daemon=True)]
        self.threads[0].start()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:   # closed
                return
            far = socket.create_connection(self.to, timeout=PATIENCE)
            for source, target in ((near, far), (far, near)):
                self.threads.append(threading.Thread(target=self.pass_on, args=(source, target), daemon=True))
                self.threads[-1].start()

    @staticmethod
    def pass_on(source, target):
        target.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        source.settimeout(PATIENCE)
        try:
            while data := source.recv(65536):
                for i in range(len(data)):
                    target.sendall(data[i:i + 1])
            target.shutdown(socket.SHUT_WR)
        except OSError:   # one of them has gone
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for thread in self.threads:
            thread.join(PATIENCE)


class exchange:
    """One request, and what the server must say to it: attack_server answers with what it has read."""

    def __init__(self, method, target, body=None, how="length", status=200):
        self.method, self.target, self.body, self.how, self.status = method, target, body, how, status
        if method == "HEAD" or status == 404:
            self.answer = b""
        elif target == "/mirror":
            self.answer = body
        else:
            self.answer = f"{method} {target}\n\n".encode() + (body or b"")

    def __str__(self):
        return f"{self.method} {self.target} with {len(self.body or b'')} bytes by {self.how}"

    def fault(self, client, status, body):
        """A line if the answer is not the one expected. That of 404 has words, which are not compared."""
        if status == self.status and (body == self.answer or self.status == 404):
            return []
        return [f"{client}: {self}: {status} with {len(body)} bytes {body[:60]!r}"]


def exchanges(rnd, largest):
    """In an order that lets a client use one connection again after each kind of body."""
    def some(n):
        return rnd.randbytes(n)
    all_of_them = [exchange("GET", "/"), exchange("GET", "/a/b?c=d%20e&f"), exchange("HEAD", "/a"), exchange("DELETE", "/a/b/c"),
                   exchange("GET", "/1/2/3/4", status=404), exchange("OPTIONS", "/a")]
    for size in (0, 1, 1000, largest):
        all_of_them += [exchange("POST", "/a", some(size)), exchange("PUT", "/a/b", some(size), "chunks"),
                        exchange("POST", "/a/c", some(size), "expectation")]
        # A client that reads nothing until it has sent all must find room for both in the kernel's buffers.
        mirrored = min(size, 50_000)
        all_of_them += [exchange("POST", "/mirror", some(mirrored)), exchange("POST", "/mirror", some(mirrored), "chunks")]
    rnd.shuffle(all_of_them)
    return all_of_them


def pieces(body):
    """For a chunked body: some of one byte, and some large."""
    at, size = 0, 1
    while at < len(body):
        yield body[at:at + size]
        at, size = at + size, size * 7


def by_curl(address, todo):
    for e in todo:
        command = ["curl", "--silent", "--show-error", "--max-time", str(PATIENCE), "--request", e.method, "--output", "-",
                   "--write-out", "%{stderr}%{http_code}", f"http://{address[0]}:{address[1]}{e.target}"]
        if e.method == "HEAD":
            command.append("--head")
            command[command.index("--output") + 1] = "/dev/null"
        if e.body is not None:
            headers = {"length": "Expect:", "chunks": "Transfer-Encoding: chunked", "expectation": "Expect: 100-continue"}
            command += ["--data-binary", "@-", "--header", headers[e.how]]
            if e.how == "chunks":
                command += ["--header", "Expect:"]
        ended = subprocess.run(command, input=e.body or b"", capture_output=True, check=False)
        said = ended.stderr.decode()
        yield e.fault("curl", int(said) if said.isdigit() else said, ended.stdout)


def by_http_client(address, todo):
    """One connection for all."""
    connection = http.client.HTTPConnection(*address, timeout=PATIENCE)
    for e in todo:
        chunked = e.how == "chunks"
        headers = {"Transfer-Encoding": "chunked"} if chunked else {}
        connection.request(e.method, e.target, pieces(e.body) if chunked else e.body, headers, encode_chunked=chunked)
        answer = connection.getresponse()
        yield e.fault("http.client", answer.status, answer.read())
    connection.close()


def by_aiohttp(address, todo):
    """Several at once over a few connections."""
    import aiohttp

    async def chunks(body):
        for piece in pieces(body):
            yield piece

    async def ask(session, e):
        data = chunks(e.body) if e.how == "chunks" else e.body
        async with session.request(e.method, f"http://{address[0]}:{address[1]}{e.target}", data=data,
                                   expect100=e.how == "expectation") as answer:
            return e.fault("aiohttp", answer.status, await answer.read())

    async def ask_all():
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=3),
                                         timeout=aiohttp.ClientTimeout(total=3 * PATIENCE)) as session:
            return await asyncio.gather(*(ask(session, e) for e in todo))

    yield from asyncio.run(ask_all())


def by_h11(address, todo):
    """One connection for all; h11 checks each byte of the answers against the grammar."""
    import h11

    def next_event(state, peer):
        while (event := state.next_event()) is h11.NEED_DATA:
            state.receive_data(peer.recv(65536))
        return event

    state = h11.Connection(h11.CLIENT)
    with socket.create_connection(address, timeout=PATIENCE) as peer:
        for e in todo:
            fields = [("Host", "a")]
            if e.body is not None:
                fields.append(("Transfer-Encoding", "chunked") if e.how == "chunks" else ("Content-Length", str(len(e.body))))
            if e.how == "expectation":
                fields.append(("Expect", "100-continue"))
            peer.sendall(state.send(h11.Request(method=e.method, target=e.target, headers=fields)))
            first = None
            if e.how == "expectation" and e.body:   # without a body the server has nothing to wait for
                first = next_event(state, peer)
                if not isinstance(first, h11.InformationalResponse) or first.status_code != 100:
                    yield [f"h11: {e}: {first} in place of 100"]
            for piece in pieces(e.body or b""):
                peer.sendall(state.send(h11.Data(data=piece)))
            peer.sendall(state.send(h11.EndOfMessage()))
            answer = next_event(state, peer)
            body = b""
            while not isinstance(event := next_event(state, peer), h11.EndOfMessage):
                body += event.data
            yield e.fault("h11", answer.status_code, body)
            state.start_next_cycle()


CLIENTS = {"curl": by_curl, "http.client": by_http_client, "aiohttp": by_aiohttp, "h11": by_h11}


def missing():
    found = {"curl": shutil.which("curl"), "aiohttp": importlib.util.find_spec("aiohttp"), "h11": importlib.util.find_spec("h11")}
    return [name for name, there in found.items() if not there]


def main():
    asked = arguments(__doc__)
    if missing():
        raise failed(f"missing: {', '.join(missing())} (scripts/setup build)")
    rnd = random.Random(asked.seed)
    rounds = 20 if asked.whole else 1
    counts, faults = dict.fromkeys(CLIENTS, 0), []
    with server(asked) as target, cutting_proxy(target.address) as cut:
        at_rest = target.descriptors()
        for address, largest in [(target.address, 1_000_000), (cut.address, 10_000)] * rounds:
            for name, client in CLIENTS.items():
                way = "through the proxy" if address == cut.address else "directly"
                try:
                    for found in client(address, exchanges(rnd, largest)):
                        counts[name] += 1
                        faults += [f"{way}: {line}" for line in found]
                except Exception as why:  # each library has its own
                    faults.append(f"{way}: {name}: after {counts[name]} answers: {type(why).__name__}: {why}")
        if not target.comes_to_rest(at_rest):
            faults.append(f"{target.descriptors()} descriptors, {at_rest} at rest")
    for fault in faults[:10]:
        print(fault)
    print(f"http clients: {', '.join(f'{n} answers to {name}' for name, n in counts.items())} (seed {asked.seed}), {len(faults)} wrong")
    return not faults and all(counts.values())


if __name__ == "__main__":
    end_with(main)
