#!/usr/bin/env python3
"""Sends each row of table/ to a server, whole and in pieces, and compares the answers, what was read, and how the connection ends."""

import concurrent.futures
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import table  # noqa: E402
from attack import arguments, end_with, server  # noqa: E402
from client import client, silent  # noqa: E402

PAUSE = 0.002           # between pieces, so that the server mostly sees each alone
PROBE = b"GET /probe HTTP/1.1\r\nHost: probe\r\n\r\n"


def pieces(sent, cuts):
    places = [0, *sorted(cuts), len(sent)]
    return [sent[a:b] for a, b in zip(places, places[1:]) if a < b]


def differs(peer, wanted, head_only):
    """Why the next answer is not the one that is wanted; None if it is."""
    got = peer.answer(not head_only)
    if got is None:
        return f"no answer where {wanted.status} is wanted"
    status, body = got
    if status != wanted.status:
        return f"{status} where {wanted.status} is wanted: {body[:80]!r}"
    if status != 200:
        return None
    line, _, read = body.partition(b"\n\n")
    if wanted.target is not None and line.split(b" ", 1)[-1] != wanted.target:
        return f"target {line!r} where {wanted.target!r} is wanted"
    if wanted.body is not None and read != wanted.body:
        return f"body {read[:80]!r} where {wanted.body!r} is wanted"
    return None


def compare(row, parts, address):
    head_only = row.sent.startswith(b"HEAD ")
    with client(address) as peer:
        for number, part in enumerate(parts):
            if number > 0:
                time.sleep(PAUSE)
            peer.send(part)
        for wanted in row.answers:
            if why := differs(peer, wanted, head_only):
                return why
        if row.late is not None:
            if not peer.is_quiet(0.02):
                return "an answer before the request is whole"
            peer.half_close()
            for wanted in row.late:
                if why := differs(peer, wanted, False):
                    return "at the end " + why
        if row.end == "close":
            return None if peer.ends() else f"the connection goes on: {peer.received[:80]!r}"
        peer.send(PROBE)
        why = differs(peer, table.answer(200, b"/probe", b""), False)
        return why and "then " + why


def outcome(row, parts, address):
    try:
        return compare(row, parts, address)
    except silent:
        return "nothing came"
    except (OSError, TypeError) as why:
        return f"{type(why).__name__}: {why}"


def ways(row, rnd, whole):
    """The cuts that a row is sent with: none, some, and at every byte where that is not too much."""
    size = len(row.sent)
    yield []
    if size < 2:
        return
    if whole and size <= 300:
        yield from ([at] for at in range(1, size))
    for _ in range(20 if whole else 2):
        yield rnd.sample(range(1, size), min(size - 1, rnd.choice((1, 2, 5))))
    if size <= 150 or whole:
        yield range(1, min(size, 600))


def main():
    asked = arguments(__doc__)
    rnd = random.Random(asked.seed)
    rows = table.read()
    tries = [(row, pieces(row.sent, cuts)) for row in rows for cuts in ways(row, rnd, asked.whole)]
    wrong = {}
    with server(asked) as target, concurrent.futures.ThreadPoolExecutor(16) as pool:
        for (row, parts), why in zip(tries, pool.map(lambda one: outcome(*one, target.address), tries)):
            if why:
                wrong.setdefault(row.name, (why, parts))
    for name, (why, parts) in wrong.items():
        print(f"{name}: {why}\n    sent as {str(parts)[:400]}")
    print(f"http table: {len(rows)} rows, {len(tries)} times sent (seed {asked.seed}), {len(wrong)} rows differ")
    return not wrong


if __name__ == "__main__":
    end_with(main)
