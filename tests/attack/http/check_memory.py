#!/usr/bin/env python3
"""Makes a server keep as much as it will: what a connection costs, what stays when all have gone, and whether a further round costs more.

Each round opens many connections, sends each a request that is cheap to send, leaves them waiting, and ends them. While they wait the server
may hold no more than the resting size of a connection and FACTOR times what was sent; three rounds behind the first may not raise what stays.
"""

import os
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from attack import arguments, end_with, failed, server  # noqa: E402

FACTOR = 4
SLACK_KIB = 6 * 1024    # of a round: pages that malloc and the kernel hold back, in threads that did not run before
HEAD = 16384            # server_options::max_header_bytes


def filled(first, unit, last):
    return first + unit * ((HEAD - len(first) - len(last)) // len(unit)) + last


BODY_AWAITED = b"Content-Length: 10\r\n\r\n"
SHAPES = {
    "a query of many parameters": filled(b"POST /?", b"a&", b" HTTP/1.1\r\nHost: a\r\n" + BODY_AWAITED),
    "parameters with names and values": filled(b"POST /?", b"a=b&", b" HTTP/1.1\r\nHost: a\r\n" + BODY_AWAITED),
    "many empty fields": filled(b"POST / HTTP/1.1\r\nHost: a\r\n", b"a:\r\n", BODY_AWAITED),
    "a long path": filled(b"POST /", b"a", b" HTTP/1.1\r\nHost: a\r\n" + BODY_AWAITED),
    "a path of many segments": filled(b"POST ", b"/a", b" HTTP/1.1\r\nHost: a\r\n" + BODY_AWAITED),
    "a head without end": filled(b"POST / HTTP/1.1\r\nHost: a\r\nX: ", b"a", b""),
    "half a body": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 20000\r\n\r\n" + b"a" * 16000,
    "many small chunks": b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\na\r\n" * 2600,
}


def settled(target):
    """What the server holds when it has stopped changing."""
    before = -1
    for _ in range(100):
        now = target.resident_kib()
        if abs(now - before) < 64:
            return now
        before = now
        time.sleep(0.1)
    return before


def open_all(target, request, number):
    peers = []
    for _ in range(number):
        peer = socket.create_connection(target.address, timeout=20)
        peer.sendall(request)
        peers.append(peer)
    return peers


def one_round(target, request, number):
    peers = open_all(target, request, number)
    time.sleep(0.2)
    held = settled(target)
    for peer in peers:
        peer.close()
    until = time.monotonic() + 30
    while target.descriptors() > target.descriptors_at_rest:
        if time.monotonic() > until:
            raise failed("connections are left 30 s after their clients have gone")
        time.sleep(0.05)
    return held, settled(target)


def resting_kib(target, number):
    """What a connection costs that has sent a byte."""
    before = settled(target)
    held, _ = one_round(target, b"G", number)
    return (held - before) / number


def main():
    asked = arguments(__doc__, connections=(int, None, "in each round (200; 2000 as a whole)"), only=(str, None, "the shapes with this in their names"))
    number = asked.connections or (2000 if asked.whole else 200)
    faults = []
    for shape, request in SHAPES.items():
        if asked.only and asked.only not in shape:
            continue
        with server(asked) as target:
            target.descriptors_at_rest = target.descriptors()
            resting = resting_kib(target, number)
            before = settled(target)
            rounds = [one_round(target, request, number) for _ in range(4)]
        allowed = before + number * (resting + FACTOR * len(request) / 1024) + SLACK_KIB
        held, rests = max(held for held, _ in rounds), [rest for _, rest in rounds]
        each = (held - before) / number
        print(f"    {shape}: {each:.0f} KiB each for {len(request) / 1024:.0f} sent, at rest {before} KiB before and {rests} after each round")
        if held > allowed:
            faults.append(f"{shape}: {held} KiB held, {allowed:.0f} allowed")
        if max(rests[1:]) > rests[0] + SLACK_KIB:
            faults.append(f"{shape}: a further round raises what stays: {rests}")
    for fault in faults:
        print(fault)
    print(f"http memory: {len(SHAPES)} shapes, {number} connections, 4 rounds each, {len(faults)} beyond the bound")
    return not faults


if __name__ == "__main__":
    end_with(main)
